#include "disk/registry.h"

#include <nlohmann/json.hpp>

#include "shmbloom/key.h"
#include "shmbloom/version.h"
#include "store/doubt.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

using Json = nlohmann::json;

constexpr int kFormat = 1;

std::string checksum_of(const Json &content) {
    // Keys of an object are sorted by the library, so the same content always has the same text.
    const std::string text = content.dump();
    return to_hex(XXH3_64bits(text.data(), text.size()));
}

Json encode(const FileId &id) {
    return {{"dev", id.dev}, {"inode", id.inode}};
}

Json encode(const FilterRecord &filter) {
    Json doubts = Json::object();
    for (const auto &[bit, doubt] : filter.doubts)
        doubts[join_names(kDoubtNames, bit)] = {{"since", doubt.since}, {"text", doubt.text}};
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
            {"durability", "memory"},
            {"generation", filter.generation},
            {"lineage", filter.lineage},
            {"segment", encode(filter.segment)},
            {"making", filter.making},
            {"doubts", std::move(doubts)},
            {"live_since", filter.live_since},
            {"adds_acknowledged", filter.adds_acknowledged},
            {"adds_new", filter.adds_new}};
}

Json encode(const EndingSegment &ending) {
    return {{"filter_uuid", to_string(ending.filter_uuid)}, {"filter_name", ending.filter_name},
            {"generation", ending.generation},              {"segment", encode(ending.segment)},
            {"gate_ended", ending.gate_ended}};
}

Uuid uuid_at(const Json &json, const char *key) {
    const auto uuid = Uuid::parse(json.at(key).get<std::string>());
    if (!uuid)
        throw Refusal{std::string{"field '"} + key + "' is not a uuid"};
    return *uuid;
}

std::uint64_t hex_at(const Json &json, const char *key) {
    const auto value = parse_hex(json.at(key).get<std::string>());
    if (!value)
        throw Refusal{std::string{"field '"} + key + "' is not 16 hexadecimal digits"};
    return *value;
}

FileId file_id_from(const Json &json) {
    return {json.at("dev").get<std::uint64_t>(), json.at("inode").get<std::uint64_t>()};
}

std::uint32_t doubt_bit(const std::string &name) {
    for (std::size_t i = 0; i < kDoubtNames.size(); i++)
        if (kDoubtNames[i] == name)
            return 1u << i;
    throw Refusal{"'" + name + "' is not a doubt this version knows"};
}

FilterRecord decode_filter(const Json &json) {
    FilterRecord filter;
    filter.uuid = uuid_at(json, "uuid");
    json.at("number").get_to(filter.number);
    json.at("name").get_to(filter.name);
    json.at("capacity").get_to(filter.capacity);
    json.at("fpr").get_to(filter.fpr);
    json.at("layout_asked").get_to(filter.layout_asked);
    json.at("layout").get_to(filter.shape.layout);
    json.at("probes").get_to(filter.shape.probes);
    json.at("size").get_to(filter.shape.size);
    json.at("normalization").get_to(filter.normalization);
    json.at("key_type").get_to(filter.key_type);
    json.at("generation").get_to(filter.generation);
    json.at("lineage").get_to(filter.lineage);
    filter.segment = file_id_from(json.at("segment"));
    json.at("making").get_to(filter.making);
    for (const auto &[name, doubt] : json.at("doubts").items())
        filter.doubts[doubt_bit(name)] = {doubt.at("since").get<std::uint64_t>(), doubt.at("text").get<std::string>()};
    json.at("live_since").get_to(filter.live_since);
    json.at("adds_acknowledged").get_to(filter.adds_acknowledged);
    json.at("adds_new").get_to(filter.adds_new);
    return filter;
}

EndingSegment decode_ending(const Json &json) {
    return {uuid_at(json, "filter_uuid"), json.at("filter_name").get<std::string>(),
            json.at("generation").get<std::uint64_t>(), file_id_from(json.at("segment")),
            json.at("gate_ended").get<bool>()};
}

Registry decode_content(const Json &json) {
    Registry registry;
    registry.state_uuid = uuid_at(json, "state_uuid");
    registry.folder = file_id_from(json.at("folder"));
    registry.seed = hex_at(json, "seed");
    registry.domain = hex_at(json, "domain");
    registry.boot = uuid_at(json, "boot_id");
    json.at("clean_stop").get_to(registry.clean_stop);
    const Json &control = json.at("control");
    control.at("path").get_to(registry.control.path);
    registry.control.uuid = uuid_at(control, "uuid");
    registry.control.file = file_id_from(control.at("file"));
    json.at("control_lost").get_to(registry.control_lost);
    json.at("next_generation").get_to(registry.next_generation);
    json.at("next_filter_number").get_to(registry.next_filter_number);
    for (const Json &filter : json.at("filters"))
        registry.filters.push_back(decode_filter(filter));
    for (const Json &ending : json.at("ending"))
        registry.ending.push_back(decode_ending(ending));
    for (const auto &[name, refused] : json.at("adds_refused").items())
        registry.adds_refused[name] = {refused.at("since").get<std::uint64_t>(), refused.at("text").get<std::string>()};
    return registry;
}

} // namespace

std::string encode_registry(const Registry &registry) {
    Json filters = Json::array();
    for (const FilterRecord &filter : registry.filters)
        filters.push_back(encode(filter));
    Json ending = Json::array();
    for (const EndingSegment &segment : registry.ending)
        ending.push_back(encode(segment));
    Json refused = Json::object();
    for (const auto &[name, record] : registry.adds_refused)
        refused[name] = {{"since", record.since}, {"text", record.text}};
    const Json content{{"state_uuid", to_string(registry.state_uuid)},
                       {"folder", encode(registry.folder)},
                       {"seed", to_hex(registry.seed)},
                       {"domain", to_hex(registry.domain)},
                       {"boot_id", to_string(registry.boot)},
                       {"clean_stop", registry.clean_stop},
                       {"control",
                        {{"path", registry.control.path},
                         {"uuid", to_string(registry.control.uuid)},
                         {"file", encode(registry.control.file)}}},
                       {"control_lost", registry.control_lost},
                       {"next_generation", registry.next_generation},
                       {"next_filter_number", registry.next_filter_number},
                       {"filters", std::move(filters)},
                       {"ending", std::move(ending)},
                       {"adds_refused", std::move(refused)}};
    const Json file{{"format", kFormat},
                    {"incompat", 0},
                    {"writer", SHMBLOOM_VERSION},
                    {"checksum", checksum_of(content)},
                    {"registry", content}};
    return file.dump(1) + "\n";
}

Registry decode_registry(std::string_view text, const std::string &path) {
    constexpr const char *way_out = "; put a good copy of this very file back, or start over with an empty state folder "
                                    "and load every filter again";
    try {
        const Json file = Json::parse(text);
        if (file.at("format").get<int>() != kFormat || file.at("incompat").get<std::uint64_t>() != 0)
            throw Refusal{"it was written by a newer shmbloomd (" + file.at("writer").get<std::string>() +
                          "), which this one does not understand; start that one"};
        const Json &content = file.at("registry");
        if (file.at("checksum").get<std::string>() != checksum_of(content))
            throw Refusal{std::string{"its checksum does not match: it was changed by hand or damaged"} + way_out};
        return decode_content(content);
    } catch (const Json::exception &error) {
        throw Refusal{"the registry '" + path + "' cannot be read: " + error.what() + way_out};
    } catch (const Refusal &refusal) {
        throw Refusal{"the registry '" + path + "' cannot be used: " + refusal.what()};
    }
}

} // namespace shmbloom
