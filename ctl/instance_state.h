// What a running daemon says of itself: its journal, its snapshots, its last start. For `status`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "client.h"
#include "generations.h"
#include "json.h"

namespace shmbloom::ctl {

struct FilterSnapshots {
    std::uint64_t count = 0, hashes_since = 0;
    std::optional<std::uint64_t> last, last_number, last_bytes; // nullopt: there is none
};

// What only the daemon knows of a filter.
struct FilterDetails {
    FilterSnapshots snapshots;
    Generations generations;
};

struct InstanceState {
    std::uint64_t next_lsn = 0, durable_lsn = 0;
    std::uint64_t journal_files = 0, journal_bytes = 0, journal_limit_bytes = 0, journal_retention_s = 0;
    std::optional<std::uint64_t> journal_oldest_s;
    std::string degraded, journal_error; // "": no
    std::uint64_t snapshots_running = 0;
    double expected_recovery_seconds = 0;
    std::string last_start;
    std::uint64_t last_start_ms = 0;
    std::optional<std::uint64_t> max_memory_bytes, segments_bytes;
    std::map<std::string, FilterDetails> filters; // by uuid
};

FilterSnapshots read_snapshots(const Reply &info); // of one filter's SB.INFO

// nullopt: it does not run, does not answer at once, or is an older one. Only worth asking while it has a heartbeat.
std::optional<InstanceState> ask_state(const std::string &runtime_dir);

std::string state_line(const InstanceState &state); // for people, with its end
Json state_object(const InstanceState &state);

} // namespace shmbloom::ctl
