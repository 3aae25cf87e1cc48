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
            {"growable", filter.growable},
            {"expansion", filter.expansion},
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

FilterRecord decode_filter(const Json &json) {
    FilterRecord filter;
    filter.uuid = uuid_at(json, "uuid");
    filter.number = number_at(json, "number");
    filter.name = text_at(json, "name");
    filter.capacity = number_at(json, "capacity");
    filter.fpr = real_at(json, "fpr");
    filter.layout_asked = text_at(json, "layout_asked");
    filter.shape.layout = small_number_at(json, "layout");
    filter.shape.probes = small_number_at(json, "probes");
    filter.shape.size = number_at(json, "size");
    filter.normalization = small_number_at(json, "normalization");
    filter.key_type = small_number_at(json, "key_type");
    filter.growable = flag_at(json, "growable");
    filter.expansion = small_number_at(json, "expansion");
    if (text_at(json, "durability") != "memory")
        throw Refusal{"field 'durability' is not one this version knows"};
    filter.generation = number_at(json, "generation");
    filter.lineage = number_at(json, "lineage");
    filter.segment = file_id_at(json, "segment");
    filter.making = number_at(json, "making");
    for (const auto &[name, doubt] : object_at(json, "doubts").items())
        filter.doubts[doubt_bit(name)] = {number_at(doubt, "since"), text_at(doubt, "text")};
    filter.live_since = number_at(json, "live_since");
    filter.adds_acknowledged = number_at(json, "adds_acknowledged");
    filter.adds_new = number_at(json, "adds_new");
    return filter;
}

EndingSegment decode_ending(const Json &json) {
    return {uuid_at(json, "filter_uuid"), text_at(json, "filter_name"), number_at(json, "generation"),
            file_id_at(json, "segment"), flag_at(json, "gate_ended")};
}

Registry decode_content(const Json &json) {
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
        registry.filters.push_back(decode_filter(filter));
    for (const Json &ending : list_at(json, "ending"))
        registry.ending.push_back(decode_ending(ending));
    for (const auto &[name, refused] : object_at(json, "adds_refused").items())
        registry.adds_refused[name] = {number_at(refused, "since"), text_at(refused, "text")};
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
    Json earlier = Json::array();
    for (const Uuid &uuid : registry.earlier_state_uuids)
        earlier.push_back({{"state_uuid", to_string(uuid)}});
    const Json content{{"state_uuid", to_string(registry.state_uuid)},
                       {"earlier_states", std::move(earlier)},
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
    std::string newer;
    try {
        const Json file = Json::parse(text);
        if (number_at(file, "format") == kFormat && number_at(file, "incompat") == 0) {
            const Json &content = object_at(file, "registry");
            if (text_at(file, "checksum") != checksum_of(content))
                throw Refusal{"its checksum does not match: it was changed by hand or damaged"};
            return decode_content(content);
        }
        newer = text_at(file, "writer");
    } catch (const std::exception &error) { // Json's or a Refusal
        throw Refusal{"the registry '" + path + "' cannot be used: " + error.what() + "; put a good copy of this very file "
                      "back, or start over with an empty state folder and load every filter again"};
    }
    throw Refusal{"the registry '" + path + "' cannot be used: it was written by a newer shmbloomd (" + newer +
                  "), which this one does not understand; start that one"};
}

} // namespace shmbloom
