#include "service/info.h"

#include "service/names.h"
#include "store/doubt.h"
#include "store/durability.h"

namespace shmbloom {
namespace {

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

} // namespace

Fields filter_info(const Filter &filter, const Instance &instance) {
    const Registry &registry = instance.registry();
    Control &control = instance.control();
    const FilterRecord &record = filter.record;
    const std::uint32_t doubts = record.doubt_bits() | filter.gates(control).doubts();
    const bool blocked = record.shape.layout == SHMBLOOM_LAYOUT_BLOCKED;
    const std::uint64_t keys = filter.estimated_keys();
    const bool has_bits = filter.segment != nullptr;
    const auto known = [has_bits](std::string text) {
        return has_bits ? std::optional{std::move(text)} : std::nullopt;
    };
    const auto of_last = [&record](std::uint64_t SnapshotRecord::*field) {
        return record.snapshots.empty() ? std::nullopt : std::optional{number(record.snapshots.back().*field)};
    };
    const std::uint32_t doubts_without_pause = doubts & ~std::uint32_t{SHMBLOOM_DOUBT_PAUSED};
    return {{"name", record.name},
            {"live", doubts == 0 ? "1" : "0"},
            {"doubts", join_names(kDoubtNames, doubts)},
            {"warnings", join_names(kWarningNames, filter.warnings)},
            {"layout", std::string{layout_text(record.shape.layout)}},
            {"capacity", number(record.capacity)},
            {"fpr", real_text(record.fpr)},
            {"bits", number(filter.bits())},
            {"probes", number(record.shape.probes)},
            {"blocks", number(blocked ? record.shape.size : 0)},
            {"memory_bytes", number(filter.recorded_segment() ? filter.recorded_segment()->memory_bytes() : 0)},
            {"huge_page_bytes", number(filter.huge_page_bytes)},
            {"generation", number(record.generation)},
            {"lineage", number(record.lineage)},
            {"uuid", to_string(record.uuid)},
            {"hash_domain", to_hex(filter.identity(registry, record.generation).hash_domain())},
            {"key_type", std::string{key_type_text(record.key_type)}},
            {"normalize", std::string{normalization_text(record.normalization)}},
            {"durability", std::string{durability_text(record.durability)}},
            {"adds_acknowledged", number(record.adds_acknowledged)},
            {"adds_new", number(record.adds_new)},
            {"bits_set", known(number(filter.bits_set))},
            {"fill", known(real_text(filter.fill()))},
            {"estimated_keys", known(number(keys))},
            {"estimated_fpr", known(real_text(filter.estimated_fpr()))},
            {"headroom_keys", known(number(record.capacity - std::min(record.capacity, keys)))},
            {"live_since", record.live_since == 0 ? std::nullopt : std::optional{number(record.live_since)}},
            {"adds_refused", number(filter.adds_refused)},
            {"keys_per_day", known(real_text(filter.keys_per_day()))},
            {"wrong_absent", number(filter.wrong_absents)},
            {"growable", record.growable ? "1" : "0"},
            {"expansion", number(record.expansion)},
            {"snapshots", number(record.snapshots.size())},
            {"last_snapshot", of_last(&SnapshotRecord::begun)},
            {"hashes_since_snapshot", number(filter.hashes_since_snapshot)},
            {"last_snapshot_number", of_last(&SnapshotRecord::number)},
            {"last_snapshot_bytes", of_last(&SnapshotRecord::bytes)},
            {"complete_until", filter.complete_until != 0 && doubts_without_pause == SHMBLOOM_DOUBT_LOSSY
                                   ? std::optional{number(filter.complete_until)}
                                   : std::nullopt},
            {"when_full", record.growable ? "grow" : record.when_full == WhenFull::refuse ? "refuse" : "warn"}};
}

Fields generations_info(const Filter &filter, const Instance &instance) {
    const FilterRecord &record = filter.record;
    const auto &previous = record.previous;
    const Build *const build = filter.build.get();
    std::uint64_t list_bytes = 0;
    for (const HashFileRecord &file : record.hash_list.files)
        list_bytes += 8 * file.hashes;
    const auto when = [](bool is_known, std::uint64_t value) {
        return is_known ? std::optional{number(value)} : std::nullopt;
    };
    const Instance::Growth growth = record.growable ? instance.next_growth(filter) : Instance::Growth{};
    return {{"previous_generation", when(previous.has_value(), previous ? previous->generation : 0)},
            {"previous_until", when(previous.has_value(), previous ? previous->replaced + kPreviousKept_s : 0)},
            {"previous_keys", when(previous.has_value(), previous ? previous->keys : 0)},
            {"building", build != nullptr ? build->kind_text() : ""},
            {"building_since", when(build != nullptr, build != nullptr ? build->since : 0)},
            {"building_by", build != nullptr ? std::optional{build->by} : std::nullopt},
            {"building_keys", when(build != nullptr, build != nullptr ? build->keys : 0)},
            {"hash_list", record.growable ? std::optional<std::string>{record.hash_list.complete ? "complete" : "incomplete"}
                                          : std::nullopt},
            {"hash_list_bytes", when(record.growable, list_bytes)},
            {"grows_at_keys", when(record.growable, growth.at_keys)},
            {"grows_to_capacity", when(record.growable, growth.to_capacity)},
            {"growth_bytes", when(record.growable, growth.bytes)},
            {"growth_missing_bytes", when(record.growable, growth.missing_bytes)},
            {"growth_blocked", filter.growth_blocked.empty() ? std::nullopt : std::optional{filter.growth_blocked}}};
}

} // namespace shmbloom
