#include "disk/registry_json.h"
#include "shmbloom/version.h"
#include "store/doubt.h"
#include "store/durability.h"

namespace shmbloom {
namespace {

Json encode(const FileId &id) {
    return {{"dev", id.dev}, {"inode", id.inode}};
}

template <class Records>
Json encode_list(const Records &records);

Json encode(const JournalFileRecord &file) {
    return {{"number", file.number}, {"id", to_hex(file.id)}};
}

Json encode(const SnapshotRecord &snapshot) {
    return {{"number", snapshot.number},   {"s_lsn", snapshot.s},         {"end_lsn", snapshot.end},
            {"begun", snapshot.begun},     {"lineage", snapshot.lineage}, {"bulk_acts", snapshot.bulk_acts},
            {"bytes", snapshot.bytes}};
}

Json encode(const HashFileRecord &file) {
    return {{"number", file.number}, {"hashes", file.hashes}};
}

Json encode(const HashListRecord &list) {
    return {{"complete", list.complete}, {"through_lsn", list.through}, {"files", encode_list(list.files)}};
}

Json encode_doubts(const std::map<std::uint32_t, DoubtRecord> &doubts) {
    Json json = Json::object();
    for (const auto &[bit, doubt] : doubts)
        json[join_names(kDoubtNames, bit)] = {{"since", doubt.since}, {"text", doubt.text}};
    return json;
}

Json encode(const PreviousGeneration &previous) {
    return {{"replaced", previous.replaced},
            {"generation", previous.generation},
            {"lineage", previous.lineage},
            {"capacity", previous.capacity},
            {"fpr", previous.fpr},
            {"layout_asked", previous.layout_asked},
            {"layout", previous.shape.layout},
            {"probes", previous.shape.probes},
            {"size", previous.shape.size},
            {"created_lsn", previous.created},
            {"bulk_acts", previous.bulk_acts},
            {"source_begun", previous.source_begun},
            {"keys", previous.keys},
            {"bulk_since", previous.bulk_since},
            {"snapshots", encode_list(previous.snapshots)},
            {"hash_list", encode(previous.hash_list)},
            {"doubts", encode_doubts(previous.doubts)}};
}

Json encode(const FilterRecord &filter) {
    return {{"uuid", to_string(filter.uuid)},
            {"number", filter.number},
            {"name", filter.name},
            {"capacity", filter.capacity},
            {"fpr", filter.fpr},
            {"layout_asked", filter.layout_asked},
            {"layout", filter.shape.layout},
            {"probes", filter.shape.probes},
            {"size", filter.shape.size},
            {"normalization", filter.normalization},
            {"key_type", filter.key_type},
            {"growable", filter.growable},
            {"expansion", filter.expansion},
            {"durability", std::string{durability_text(filter.durability)}},
            {"generation", filter.generation},
            {"lineage", filter.lineage},
            {"segment", encode(filter.segment)},
            {"making", filter.making},
            {"doubts", encode_doubts(filter.doubts)},
            {"live_since", filter.live_since},
            {"adds_acknowledged", filter.adds_acknowledged},
            {"adds_new", filter.adds_new},
            {"created_lsn", filter.created},
            {"bulk_acts", filter.bulk_acts},
            {"bulk_at", filter.bulk_at},
            {"bulk_lsn", filter.bulk_lsn},
            {"bulk_unkept", filter.bulk_unkept},
            {"snapshots", encode_list(filter.snapshots)},
            {"when_full", filter.when_full == WhenFull::refuse ? "refuse" : "warn"},
            {"source_begun", filter.source_begun},
            {"hash_list", encode(filter.hash_list)},
            {"previous", filter.previous ? encode(*filter.previous) : Json{}}};
}

Json encode(const EndingSegment &ending) {
    return {{"filter_uuid", to_string(ending.filter_uuid)}, {"filter_name", ending.filter_name},
            {"generation", ending.generation},              {"segment", encode(ending.segment)},
            {"gate_ended", ending.gate_ended}};
}

Json encode(const DroppedFilter &dropped) {
    return {{"since", dropped.since}, {"filter", encode(dropped.record)}};
}

template <class Records>
Json encode_list(const Records &records) {
    Json list = Json::array();
    for (const auto &record : records)
        list.push_back(encode(record));
    return list;
}

} // namespace

std::string encode_registry(const Registry &registry) {
    Json refused = Json::object();
    for (const auto &[name, record] : registry.adds_refused)
        refused[name] = {{"since", record.since}, {"text", record.text}};
    Json earlier = Json::array();
    for (const Uuid &uuid : registry.earlier_state_uuids)
        earlier.push_back({{"state_uuid", to_string(uuid)}});
    const Json content{{"state_uuid", to_string(registry.state_uuid)},
                       {"earlier_states", std::move(earlier)},
                       {"folder", encode(registry.folder)},
                       {"seed", to_hex(registry.seed)},
                       {"domain", to_hex(registry.domain)},
                       {"boot_id", to_string(registry.boot)},
                       {"boot_at", registry.boot_at},
                       {"clock_set_at", registry.clock_set_at},
                       {"clean_stop", registry.clean_stop},
                       {"control",
                        {{"path", registry.control.path},
                         {"uuid", to_string(registry.control.uuid)},
                         {"file", encode(registry.control.file)}}},
                       {"control_lost", registry.control_lost},
                       {"next_generation", registry.next_generation},
                       {"next_filter_number", registry.next_filter_number},
                       {"filters", encode_list(registry.filters)},
                       {"ending", encode_list(registry.ending)},
                       {"adds_refused", std::move(refused)},
                       {"journal",
                        {{"files", encode_list(registry.journal.files)},
                         {"next_number", registry.journal.next_number},
                         {"end_lsn", registry.journal.end},
                         {"trimmed_until", registry.journal.trimmed_until}}},
                       {"next_snapshot_number", registry.next_snapshot_number},
                       {"degraded", {{"since", registry.degraded.since}, {"text", registry.degraded.text}}},
                       {"dropped", encode_list(registry.dropped)}};
    const Json file{{"format", kRegistryFormat},
                    {"incompat", 0},
                    {"writer", SHMBLOOM_VERSION},
                    {"checksum", registry_checksum(content)},
                    {"registry", content}};
    return file.dump(1) + "\n";
}

} // namespace shmbloom
