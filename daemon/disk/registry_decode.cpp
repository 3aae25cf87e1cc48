#include "disk/registry_json.h"

#include <algorithm>

#include "shmbloom/key.h"
#include "store/doubt.h"
#include "store/durability.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

// A field of a registry that was written here always has its type; anything else gets a refusal that names the field.
const Json &field_at(const Json &json, const char *key) {
    if (!json.is_object() || !json.contains(key))
        throw Refusal{std::string{"field '"} + key + "' is missing"};
    return json.at(key);
}

const Json &checked(const Json &value, const char *key, bool is_of_type, const char *type) {
    if (!is_of_type)
        throw Refusal{std::string{"field '"} + key + "' is not " + type};
    return value;
}

std::uint64_t number_at(const Json &json, const char *key) {
    const Json &value = field_at(json, key);
    return checked(value, key, value.is_number_unsigned(), "a whole number").get<std::uint64_t>();
}

std::uint32_t small_number_at(const Json &json, const char *key) {
    const std::uint64_t number = number_at(json, key);
    if (number > UINT32_MAX)
        throw Refusal{std::string{"field '"} + key + "' is out of range"};
    return static_cast<std::uint32_t>(number);
}

double real_at(const Json &json, const char *key) {
    const Json &value = field_at(json, key);
    return checked(value, key, value.is_number(), "a number").get<double>();
}

bool flag_at(const Json &json, const char *key) {
    const Json &value = field_at(json, key);
    return checked(value, key, value.is_boolean(), "true or false").get<bool>();
}

std::string text_at(const Json &json, const char *key) {
    const Json &value = field_at(json, key);
    return checked(value, key, value.is_string(), "a text").get<std::string>();
}

const Json &object_at(const Json &json, const char *key) {
    const Json &value = field_at(json, key);
    return checked(value, key, value.is_object(), "an object");
}

const Json &list_at(const Json &json, const char *key) {
    const Json &value = field_at(json, key);
    return checked(value, key, value.is_array(), "a list");
}

Uuid uuid_at(const Json &json, const char *key) {
    const auto uuid = Uuid::parse(text_at(json, key));
    if (!uuid)
        throw Refusal{std::string{"field '"} + key + "' is not a uuid"};
    return *uuid;
}

std::uint64_t hex_at(const Json &json, const char *key) {
    const auto value = parse_hex(text_at(json, key));
    if (!value)
        throw Refusal{std::string{"field '"} + key + "' is not 16 hexadecimal digits"};
    return *value;
}

FileId file_id_at(const Json &json, const char *key) {
    const Json &id = object_at(json, key);
    return {number_at(id, "dev"), number_at(id, "inode")};
}

std::uint32_t doubt_bit(const std::string &name) {
    for (std::size_t i = 0; i < kDoubtNames.size(); i++)
        if (kDoubtNames[i] == name)
            return 1u << i;
    throw Refusal{"'" + name + "' is not a doubt this version knows"};
}

shmbloom_shape shape_of(const Json &json) {
    return {.layout = small_number_at(json, "layout"),
            .probes = small_number_at(json, "probes"),
            .size = number_at(json, "size")};
}

std::map<std::uint32_t, DoubtRecord> doubts_of(const Json &json) {
    std::map<std::uint32_t, DoubtRecord> doubts;
    for (const auto &[name, doubt] : object_at(json, "doubts").items())
        doubts[doubt_bit(name)] = {number_at(doubt, "since"), text_at(doubt, "text")};
    return doubts;
}

std::vector<SnapshotRecord> snapshots_of(const Json &json) {
    std::vector<SnapshotRecord> snapshots;
    for (const Json &snapshot : list_at(json, "snapshots"))
        snapshots.push_back({number_at(snapshot, "number"), number_at(snapshot, "s_lsn"),
                             number_at(snapshot, "end_lsn"), number_at(snapshot, "begun"),
                             number_at(snapshot, "lineage"), number_at(snapshot, "bulk_acts"),
                             number_at(snapshot, "bytes")});
    return snapshots;
}

HashListRecord hash_list_of(const Json &json) {
    const Json &list = object_at(json, "hash_list");
    HashListRecord record{.complete = flag_at(list, "complete"), .through = number_at(list, "through_lsn"), .files = {}};
    for (const Json &file : list_at(list, "files"))
        record.files.push_back({number_at(file, "number"), number_at(file, "hashes")});
    return record;
}

PreviousGeneration decode_previous(const Json &json) {
    return {.replaced = number_at(json, "replaced"),
            .generation = number_at(json, "generation"),
            .lineage = number_at(json, "lineage"),
            .capacity = number_at(json, "capacity"),
            .fpr = real_at(json, "fpr"),
            .layout_asked = text_at(json, "layout_asked"),
            .shape = shape_of(json),
            .created = number_at(json, "created_lsn"),
            .bulk_acts = number_at(json, "bulk_acts"),
            .source_begun = number_at(json, "source_begun"),
            .keys = number_at(json, "keys"),
            .bulk_since = flag_at(json, "bulk_since"),
            .snapshots = snapshots_of(json),
            .hash_list = hash_list_of(json),
            .doubts = doubts_of(json)};
}

// What came with rebuilds and growth.
void decode_generations(const Json &json, FilterRecord &filter) {
    const std::string when_full = text_at(json, "when_full");
    if (when_full != "warn" && when_full != "refuse")
        throw Refusal{"field 'when_full' is not one this version knows"};
    filter.when_full = when_full == "refuse" ? WhenFull::refuse : WhenFull::warn;
    filter.source_begun = number_at(json, "source_begun");
    filter.bulk_at = number_at(json, "bulk_at");
    filter.bulk_lsn = number_at(json, "bulk_lsn");
    filter.bulk_unkept = flag_at(json, "bulk_unkept");
    filter.hash_list = hash_list_of(json);
    if (!field_at(json, "previous").is_null())
        filter.previous = decode_previous(object_at(json, "previous"));
}

FilterRecord decode_filter(const Json &json, std::uint64_t format) {
    FilterRecord filter;
    filter.uuid = uuid_at(json, "uuid");
    filter.number = number_at(json, "number");
    filter.name = text_at(json, "name");
    filter.capacity = number_at(json, "capacity");
    filter.fpr = real_at(json, "fpr");
    filter.layout_asked = text_at(json, "layout_asked");
    filter.shape = shape_of(json);
    filter.normalization = small_number_at(json, "normalization");
    filter.key_type = small_number_at(json, "key_type");
    filter.growable = flag_at(json, "growable");
    filter.expansion = small_number_at(json, "expansion");
    const auto durability = parse_durability(text_at(json, "durability"));
    if (!durability)
        throw Refusal{"field 'durability' is not one this version knows"};
    filter.durability = *durability;
    filter.generation = number_at(json, "generation");
    filter.lineage = number_at(json, "lineage");
    filter.segment = file_id_at(json, "segment");
    filter.making = number_at(json, "making");
    filter.doubts = doubts_of(json);
    filter.live_since = number_at(json, "live_since");
    filter.adds_acknowledged = number_at(json, "adds_acknowledged");
    filter.adds_new = number_at(json, "adds_new");
    if (format == 1)
        return filter;
    filter.created = number_at(json, "created_lsn");
    filter.bulk_acts = number_at(json, "bulk_acts");
    filter.snapshots = snapshots_of(json);
    if (format >= 3)
        decode_generations(json, filter);
    return filter;
}

EndingSegment decode_ending(const Json &json) {
    return {uuid_at(json, "filter_uuid"), text_at(json, "filter_name"), number_at(json, "generation"),
            file_id_at(json, "segment"), flag_at(json, "gate_ended")};
}

void decode_journal(const Json &json, Registry &registry, std::uint64_t format) {
    const Json &journal = object_at(json, "journal");
    for (const Json &file : list_at(journal, "files"))
        registry.journal.files.push_back({number_at(file, "number"), hex_at(file, "id")});
    registry.journal.next_number = number_at(journal, "next_number");
    registry.journal.end = number_at(journal, "end_lsn");
    if (format >= 3)
        registry.journal.trimmed_until = number_at(journal, "trimmed_until");
    registry.next_snapshot_number = number_at(json, "next_snapshot_number");
    const Json &degraded = object_at(json, "degraded");
    registry.degraded = {number_at(degraded, "since"), text_at(degraded, "text")};
    for (const Json &dropped : list_at(json, "dropped"))
        registry.dropped.push_back({number_at(dropped, "since"), decode_filter(object_at(dropped, "filter"), format)});
}

Registry decode_content(const Json &json, std::uint64_t format) {
    Registry registry;
    registry.state_uuid = uuid_at(json, "state_uuid");
    for (const Json &earlier : list_at(json, "earlier_states"))
        registry.earlier_state_uuids.push_back(uuid_at(earlier, "state_uuid"));
    registry.folder = file_id_at(json, "folder");
    registry.seed = hex_at(json, "seed");
    registry.domain = hex_at(json, "domain");
    registry.boot = uuid_at(json, "boot_id");
    registry.clean_stop = flag_at(json, "clean_stop");
    const Json &control = object_at(json, "control");
    registry.control = {text_at(control, "path"), uuid_at(control, "uuid"), file_id_at(control, "file")};
    registry.control_lost = flag_at(json, "control_lost");
    registry.next_generation = number_at(json, "next_generation");
    registry.next_filter_number = number_at(json, "next_filter_number");
    for (const Json &filter : list_at(json, "filters"))
        registry.filters.push_back(decode_filter(filter, format));
    for (const Json &ending : list_at(json, "ending"))
        registry.ending.push_back(decode_ending(ending));
    for (const auto &[name, refused] : object_at(json, "adds_refused").items())
        registry.adds_refused[name] = {number_at(refused, "since"), text_at(refused, "text")};
    if (format >= 3) {
        registry.boot_at = number_at(json, "boot_at");
        registry.clock_set_at = number_at(json, "clock_set_at");
    }
    if (format != 1)
        decode_journal(json, registry, format);
    return registry;
}

} // namespace

// A damaged byte shall not go into a log as it is.
static std::string printable(std::string text) {
    std::ranges::replace_if(
        text, [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

std::string registry_checksum(const Json &content) {
    // Keys of an object are sorted by the library, so the same content always has the same text.
    const std::string text = content.dump();
    return to_hex(XXH3_64bits(text.data(), text.size()));
}

Registry decode_registry(std::string_view text, const std::string &path) {
    std::string newer;
    try {
        const Json file = Json::parse(text);
        const std::uint64_t format = number_at(file, "format");
        if (format >= 1 && format <= kRegistryFormat && number_at(file, "incompat") == 0) {
            const Json &content = object_at(file, "registry");
            if (text_at(file, "checksum") != registry_checksum(content))
                throw Refusal{"its checksum does not match: it was changed by hand or damaged"};
            return decode_content(content, format);
        }
        newer = text_at(file, "writer");
    } catch (const std::exception &error) { // Json's or a Refusal
        throw Refusal{"the registry '" + path + "' cannot be used: " + printable(error.what()) +
                      "; put a good copy of this very file "
                      "back, or start over with an empty state folder and load every filter again"};
    }
    throw Refusal{"the registry '" + path + "' cannot be used: it was written by a newer shmbloomd (" + newer +
                  "), which this one does not understand; start that one"};
}

} // namespace shmbloom
