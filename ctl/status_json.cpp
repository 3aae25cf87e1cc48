// `status` for machines.
#include "status.h"

#include "json.h"

namespace shmbloom::ctl {

namespace {

void put_known(Json &json, const shmbloom_info &info) {
    json["layout"] = json_word(info.layout);
    json["capacity"] = json_number(info.capacity);
    json["fpr"] = json_real(info.fpr);
    json["bits"] = json_number(info.bits);
    json["probes"] = info.probes == 0 ? Json{} : Json(info.probes);
    json["blocks"] = json_number(info.blocks);
    json["memory_bytes"] = json_number(info.memory_bytes);
    json["huge_page_bytes"] = json_number(info.huge_page_bytes);
    json["generation"] = json_id(info.generation);
    json["lineage"] = json_id(info.lineage);
    json["uuid"] = json_word(info.uuid);
    json["hash_domain"] = json_hex(info.hash_domain);
    json["key_type"] = json_word(info.key_type);
    json["normalize"] = info.normalize;
    json["durability"] = json_word(info.durability);
    json["adds_acknowledged"] = json_number(info.adds_acknowledged);
    json["adds_new"] = json_number(info.adds_new);
    json["bits_set"] = json_number(info.bits_set);
    json["fill"] = json_real(info.fill);
    json["estimated_keys"] = json_number(info.estimated_keys);
    json["estimated_fpr"] = json_real(info.estimated_fpr);
    json["headroom_keys"] = json_number(info.headroom_keys);
    json["live_since"] = info.live_since == 0 ? Json{} : json_number(info.live_since);
    json["adds_refused"] = json_number(info.adds_refused);
    json["keys_per_day"] = json_real(info.keys_per_day);
    json["full_in_days"] = json_real(days_until_full(info).value_or(-1));
}

void put_unknown(Json &json) {
    for (const char *name : {"layout",        "capacity",      "fpr",          "bits",
                             "probes",        "blocks",        "memory_bytes", "huge_page_bytes",
                             "generation",    "lineage",       "uuid",         "hash_domain",
                             "key_type",      "normalize",     "durability",   "adds_acknowledged",
                             "adds_new",      "bits_set",      "fill",         "estimated_keys",
                             "estimated_fpr", "headroom_keys", "live_since",   "adds_refused",
                             "keys_per_day",  "full_in_days"})
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
    json["wrong_absent"] = json_number(filter.wrong_absents);
    json["would_be_absent"] = nullptr; // each worker counts its own
    json["handle_doubts"] = filter.handle_doubts();
    json["error"] = json_word(filter.error.c_str());
    const bool told = filter.details.has_value();
    const FilterSnapshots snapshots = told ? filter.details->snapshots : FilterSnapshots{};
    json["snapshots"] = told ? Json(snapshots.count) : Json{};
    json["last_snapshot"] = snapshots.last ? Json(*snapshots.last) : Json{};
    json["hashes_since_snapshot"] = told ? Json(snapshots.hashes_since) : Json{};
    put_generations(json, told ? std::optional{filter.details->generations} : std::nullopt);
    put_holders(json, filter.holders, filter.info.generation);
}

Json daemon_of(const Status &status) {
    Json daemon;
    daemon["running"] = status.place && status.place->is_daemon_running();
    daemon["heartbeat_age_ms"] = status.place ? json_number(status.place->heartbeat_age_ms) : Json{};
    daemon["pid"] = nullptr;
    for (const FilterStatus &filter : status.filters)
        if (filter.is_known() && filter.info.daemon_pid != 0)
            daemon["pid"] = json_number(filter.info.daemon_pid);
    daemon["runtime_dir"] = status.place ? Json(status.place->runtime_dir) : Json{};
    daemon["journal"] = status.state ? state_object(*status.state) : Json{};
    return daemon;
}

} // namespace

std::string status_json(const Status &status) {
    Json json;
    json["daemon"] = daemon_of(status);
    json["filters"] = Json::array();
    for (const FilterStatus &filter : status.filters)
        put(json["filters"].emplace_back(Json::object()), filter);
    json["error"] = json_word(status.error.c_str());
    return json_text(json);
}

std::string status_json(const FilterStatus &filter) {
    Json json;
    put(json, filter);
    return json_text(json);
}

} // namespace shmbloom::ctl
