#include "service/info.h"

#include <charconv>

#include "service/names.h"
#include "store/doubt.h"
#include "store/durability.h"

namespace shmbloom {
namespace {

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

// The shortest text that reads back as the same number.
std::string real(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

} // namespace

Fields filter_info(const Filter &filter, Control &control, const Registry &registry) {
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
            {"fpr", real(record.fpr)},
            {"bits", number(filter.bits())},
            {"probes", number(record.shape.probes)},
            {"blocks", number(blocked ? record.shape.size : 0)},
            {"memory_bytes", number(has_bits ? filter.segment->memory_bytes() : 0)},
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
            {"fill", known(real(filter.fill()))},
            {"estimated_keys", known(number(keys))},
            {"estimated_fpr", known(real(filter.estimated_fpr()))},
            {"headroom_keys", known(number(record.capacity - std::min(record.capacity, keys)))},
            {"live_since", record.live_since == 0 ? std::nullopt : std::optional{number(record.live_since)}},
            {"adds_refused", number(filter.adds_refused)},
            {"keys_per_day", known(real(filter.keys_per_day()))},
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
                                   : std::nullopt}};
}

} // namespace shmbloom
