// The only file that includes nlohmann-json.
#include "status.h"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace shmbloom::ctl {

namespace {

using Json = nlohmann::ordered_json; // fields in the order of docs/protocol.md

Json number(std::uint64_t value) {
    return value == SHMBLOOM_UNKNOWN ? Json{} : Json(value);
}

Json real(double value) {
    return value < 0 ? Json{} : Json(value);
}

// 64-bit ids as text: above 2^53 many readers of JSON would round them.
Json id(std::uint64_t value) {
    return value == SHMBLOOM_UNKNOWN ? Json{} : Json(std::to_string(value));
}

Json hex_id(std::uint64_t value) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(value));
    return value == SHMBLOOM_UNKNOWN ? Json{} : Json(buffer);
}

Json word(const char *text) {
    return *text == '\0' ? Json{} : Json(text);
}

void put_known(Json &json, const shmbloom_info &info) {
    json["layout"] = word(info.layout);
    json["capacity"] = number(info.capacity);
    json["fpr"] = real(info.fpr);
    json["bits"] = number(info.bits);
    json["probes"] = info.probes == 0 ? Json{} : Json(info.probes);
    json["blocks"] = number(info.blocks);
    json["memory_bytes"] = number(info.memory_bytes);
    json["huge_page_bytes"] = number(info.huge_page_bytes);
    json["generation"] = id(info.generation);
    json["lineage"] = id(info.lineage);
    json["uuid"] = word(info.uuid);
    json["hash_domain"] = hex_id(info.hash_domain);
    json["key_type"] = word(info.key_type);
    json["normalize"] = info.normalize;
    json["durability"] = word(info.durability);
    json["adds_acknowledged"] = number(info.adds_acknowledged);
    json["adds_new"] = number(info.adds_new);
    json["bits_set"] = number(info.bits_set);
    json["fill"] = real(info.fill);
    json["estimated_keys"] = number(info.estimated_keys);
    json["estimated_fpr"] = real(info.estimated_fpr);
    json["headroom_keys"] = number(info.headroom_keys);
    json["live_since"] = info.live_since == 0 ? Json{} : number(info.live_since);
    json["adds_refused"] = number(info.adds_refused);
}

void put_unknown(Json &json) {
    for (const char *name :
         {"layout", "capacity", "fpr", "bits", "probes", "blocks", "memory_bytes", "huge_page_bytes", "generation",
          "lineage", "uuid", "hash_domain", "key_type", "normalize", "durability", "adds_acknowledged", "adds_new",
          "bits_set", "fill", "estimated_keys", "estimated_fpr", "headroom_keys", "live_since", "adds_refused"})
        json[name] = nullptr;
}

void put(Json &json, const FilterStatus &filter) {
    json["name"] = filter.info.name;
    json["live"] = filter.is_live();
    json["doubts"] = filter.doubts();
    json["warnings"] = filter.warnings();
    if (filter.is_known())
        put_known(json, filter.info);
    else
        put_unknown(json);
    json["handle_doubts"] = filter.handle_doubts();
    json["error"] = word(filter.error.c_str());
}

Json daemon_of(const Status &status) {
    Json daemon;
    daemon["running"] = status.place && status.place->is_daemon_running();
    daemon["heartbeat_age_ms"] = status.place ? number(status.place->heartbeat_age_ms) : Json{};
    daemon["pid"] = nullptr;
    for (const FilterStatus &filter : status.filters)
        if (filter.is_known() && filter.info.daemon_pid != 0)
            daemon["pid"] = number(filter.info.daemon_pid);
    daemon["runtime_dir"] = status.place ? Json(status.place->runtime_dir) : Json{};
    return daemon;
}

std::string printed(const Json &json) {
    // A runtime folder's name may be no UTF-8: replaced rather than an exception.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace

std::string status_json(const Status &status) {
    Json json;
    json["schema"] = 1;
    json["daemon"] = daemon_of(status);
    json["filters"] = Json::array();
    for (const FilterStatus &filter : status.filters)
        put(json["filters"].emplace_back(Json::object()), filter);
    return printed(json);
}

std::string status_json(const FilterStatus &filter) {
    Json json;
    json["schema"] = 1;
    put(json, filter);
    return printed(json);
}

} // namespace shmbloom::ctl
