#include "service/state.h"

#include <algorithm>
#include <cmath>

#include "sys/clock.h"

namespace shmbloom {
namespace {

// Measured, see docs/durability.md; meant as an order of magnitude.
constexpr double kReadBytesPerSecond = 1024.0 * 1024 * 1024;
constexpr double kReplayedPerSecond = 20e6;

// Of a start that finds no memory of before.
double expected_recovery_seconds(const Instance &instance) {
    double seconds = 0;
    for (const auto &[name, filter] : instance.filters())
        if (const FilterRecord &record = filter->record; record.is_journalled()) {
            const std::uint64_t bytes = record.snapshots.empty() ? 0 : record.snapshots.back().bytes;
            seconds += static_cast<double>(bytes) / kReadBytesPerSecond +
                       static_cast<double>(filter->hashes_since_snapshot) / kReplayedPerSecond;
        }
    return seconds;
}

std::string milliseconds_exact(double seconds) {
    const auto ms = static_cast<std::uint64_t>(std::llround(seconds * 1000));
    const std::string fraction = std::to_string(ms % 1000);
    return std::to_string(ms / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

} // namespace

Fields instance_state(const Instance &instance, const Options &options) {
    const Journal &journal = instance.journal();
    const auto &files = journal.files().all();
    const DoubtRecord &degraded = instance.registry().degraded;
    const auto number = [](std::uint64_t value) { return std::to_string(value); };
    const auto known = [](bool is_known, std::string text) {
        return is_known ? std::optional{std::move(text)} : std::nullopt;
    };
    const std::uint64_t now = unix_seconds();
    const Instance::MemoryUse memory = instance.memory_use();
    return {{"next_lsn", number(journal.next())},
            {"durable_lsn", number(journal.durable())},
            {"journal_files", number(files.size())},
            {"journal_bytes", number(journal.files().bytes())},
            {"journal_limit_bytes", number(options.journal_retention.limit_bytes)},
            {"journal_retention_s", number(options.journal_retention.seconds)},
            {"journal_oldest_s",
             known(!files.empty(), files.empty() ? "" : number(now - std::min(now, files.front().last_used)))},
            {"degraded", known(degraded.since != 0, degraded.text)},
            {"journal_error", known(journal.failing().has_value(), journal.failing() ? journal.failing()->text : "")},
            {"snapshots_running", number(instance.snapshotter().running())},
            {"expected_recovery_seconds", milliseconds_exact(expected_recovery_seconds(instance))},
            {"last_start", instance.last_start().text},
            {"last_start_ms", number(instance.last_start().ms)},
            {"memory_bytes", number(memory.used)},
            {"max_memory_bytes", number(memory.limit)}};
}

} // namespace shmbloom
