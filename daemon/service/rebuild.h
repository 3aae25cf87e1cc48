// What a rebuild is asked for, and what it came to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "disk/lsn.h"

namespace shmbloom {

// How long the generation before a rebuild can be rolled back to.
inline constexpr std::uint64_t kPreviousKept_s = 7 * 86400;

struct RebuildRequest {
    std::string name;
    std::optional<std::uint64_t> capacity; // else as it is
    std::optional<double> fpr;
    std::optional<std::string> layout;
    // Where the source began; neither: now.
    std::optional<Lsn> since_lsn;
    std::optional<std::uint64_t> since_s; // so many seconds ago
    std::uint64_t overlap_s = 3600;       // the longest time from an add to its commit in the source
    std::string snapshot;                 // the source: a file in the state folder's import/; "": it comes by `bulk`
};

// When a rebuild may end well.
struct RebuildGuards {
    std::optional<std::uint64_t> expected; // keys, at least
    std::uint64_t shrink_percent = 10;     // so many fewer than the filter is estimated to have now
    bool dry_run = false;
};

struct SwitchResult {
    bool switched = false;
    std::uint64_t keys = 0;
    std::uint64_t replayed = 0;
    std::uint64_t estimated_before = 0, estimated_after = 0;
};

} // namespace shmbloom
