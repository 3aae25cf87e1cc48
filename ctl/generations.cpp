#include "generations.h"

#include <algorithm>

#include "hints.h"
#include "numbers.h"

namespace shmbloom::ctl {

namespace {

// From here on it is worth a thought, for a person and in the log.
constexpr double kWorthAWord = 0.7;
constexpr std::uint64_t kDayMs = 86'400'000;

double share_of(const Filling &filling) {
    return filling.capacity == 0 ? 0 : static_cast<double>(filling.keys) / static_cast<double>(filling.capacity);
}

std::string days_text(const Filling &filling, std::uint64_t at_keys) {
    if (!(filling.keys_per_day > 0) || at_keys <= filling.keys)
        return "";
    const double days = std::min(static_cast<double>(at_keys - filling.keys) / filling.keys_per_day, 36500.0);
    return ", in about " + format_age(static_cast<std::uint64_t>(days * static_cast<double>(kDayMs))) + ",";
}

GenerationLine building_line(const Generations &generations, std::uint64_t now_s) {
    const std::uint64_t since = std::min(generations.building_since.value_or(now_s), now_s);
    return {generations.building + " under way for " + format_age((now_s - since) * 1000) +
                (generations.building_by.empty() ? "" : " (" + generations.building_by + ")") +
                (generations.building_keys ? ": " + format_count(*generations.building_keys) + " keys so far" : ""),
            "", ""};
}

GenerationLine previous_line(const Where &where, const std::string &name, const Generations &generations) {
    return {"generation " + std::to_string(*generations.previous) +
                (generations.previous_keys ? ", " + format_count(*generations.previous_keys) + " keys," : "") +
                " is kept" + (generations.previous_until ? " until " + format_time(*generations.previous_until) : ""),
            "back", command_line(where, "rollback " + name)};
}

// When, to what size, and whether it fits.
GenerationLine growth_line(const Generations &generations, const Filling &filling) {
    std::string text = "grows at " + format_count(*generations.grows_at_keys) + " keys" +
                       days_text(filling, *generations.grows_at_keys);
    if (generations.grows_to_capacity)
        text += " to " + format_count(*generations.grows_to_capacity) + " keys";
    if (generations.growth_bytes)
        text += ", which takes " + format_bytes(*generations.growth_bytes);
    const std::uint64_t missing = generations.growth_missing_bytes.value_or(0);
    if (missing == 0 && generations.growth_blocked.empty())
        return {text + ": that fits", "", ""};
    if (missing != 0)
        text += ": that does not fit, " + format_bytes(missing) + " are missing";
    if (!generations.growth_blocked.empty())
        text += "; refused: " + generations.growth_blocked;
    return {text, "ended by", "room in shared memory, or a larger --max-memory of shmbloomd"};
}

GenerationLine incomplete_line(const Where &where, const std::string &name) {
    return {
        "its hash list is incomplete, since keys came in without their hashes (import, rollback --union, a load that was cut off), or one of its files is lost: it cannot grow",
        "ended by", command_line(where, "rebuild " + name + " --exec -- CMD...")};
}

GenerationLine refusing_line(const Where &where, const std::string &name, const Filling &filling) {
    return {"at " + format_count(filling.capacity) + " keys it refuses adds (--when-full refuse)", "more room",
            command_line(where, "rebuild " + name + " --capacity N --exec -- CMD...")};
}

std::optional<std::uint64_t> number_of(const Reply &info, const char *name) {
    return parse_count(info.field(name));
}

Json number_json(const std::optional<std::uint64_t> &number) {
    return number ? Json(*number) : Json{};
}

} // namespace

Generations read_generations(const Reply &info) {
    return {.previous = number_of(info, "previous_generation"),
            .previous_until = number_of(info, "previous_until"),
            .previous_keys = number_of(info, "previous_keys"),
            .building = info.field("building"),
            .building_by = info.field("building_by"),
            .building_since = number_of(info, "building_since"),
            .building_keys = number_of(info, "building_keys"),
            .growable = info.field("growable") == "1",
            .expansion = number_of(info, "expansion"),
            .hash_list = info.field("hash_list"),
            .hash_list_bytes = number_of(info, "hash_list_bytes"),
            .grows_at_keys = number_of(info, "grows_at_keys"),
            .grows_to_capacity = number_of(info, "grows_to_capacity"),
            .growth_bytes = number_of(info, "growth_bytes"),
            .growth_missing_bytes = number_of(info, "growth_missing_bytes"),
            .growth_blocked = info.field("growth_blocked"),
            .when_full = info.field("when_full")};
}

std::vector<GenerationLine> generation_lines(const Where &where, const std::string &name,
                                             const Generations &generations, const Filling &filling,
                                             std::uint64_t now_s) {
    std::vector<GenerationLine> lines;
    const bool filled = share_of(filling) >= kWorthAWord;
    if (!generations.building.empty())
        lines.push_back(building_line(generations, now_s));
    if (generations.hash_list == "incomplete")
        lines.push_back(incomplete_line(where, name));
    else if (generations.grows_at_keys && (filled || !generations.growth_blocked.empty()))
        lines.push_back(growth_line(generations, filling));
    if (generations.when_full == "refuse" && filled)
        lines.push_back(refusing_line(where, name, filling));
    if (generations.previous)
        lines.push_back(previous_line(where, name, generations));
    return lines;
}

void put_generations(Json &json, const std::optional<Generations> &said) {
    const Generations g = said.value_or(Generations{});
    json["previous_generation"] = g.previous ? Json(std::to_string(*g.previous)) : Json{};
    json["previous_until"] = number_json(g.previous_until);
    json["previous_keys"] = number_json(g.previous_keys);
    json["building"] = json_word(g.building.c_str());
    json["building_since"] = number_json(g.building_since);
    json["building_by"] = json_word(g.building_by.c_str());
    json["building_keys"] = number_json(g.building_keys);
    json["growable"] = said ? Json(g.growable) : Json{};
    json["expansion"] = number_json(g.expansion);
    json["hash_list"] = json_word(g.hash_list.c_str());
    json["hash_list_bytes"] = number_json(g.hash_list_bytes);
    json["grows_at_keys"] = number_json(g.grows_at_keys);
    json["grows_to_capacity"] = number_json(g.grows_to_capacity);
    json["growth_bytes"] = number_json(g.growth_bytes);
    json["growth_missing_bytes"] = number_json(g.growth_missing_bytes);
    json["growth_blocked"] = json_word(g.growth_blocked.c_str());
    json["when_full"] = json_word(g.when_full.c_str());
}

} // namespace shmbloom::ctl
