// Places in the journal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>

namespace shmbloom {

// The number of one add, counted from 1 through the life of a state folder. An "end" is one past the last.
using Lsn = std::uint64_t;

// A set of LSNs.
class LsnRanges {
  public:
    void add(Lsn first, Lsn end) {
        if (first >= end)
            return;
        auto next = ranges_.upper_bound(first);
        if (next != ranges_.begin() && std::prev(next)->second >= first) {
            --next;
            first = next->first;
        }
        while (next != ranges_.end() && next->first <= end) {
            end = std::max(end, next->second);
            next = ranges_.erase(next);
        }
        ranges_.emplace(first, end);
    }

    // The least LSN at or above `from` that is not in the set.
    Lsn first_missing(Lsn from) const {
        const auto next = ranges_.upper_bound(from);
        if (next == ranges_.begin())
            return from;
        return std::max(from, std::prev(next)->second);
    }

    // The end of what is missing from there on; nullopt: nothing comes behind it.
    std::optional<Lsn> next_present(Lsn from) const {
        const auto next = ranges_.lower_bound(from);
        return next == ranges_.end() ? std::nullopt : std::optional{next->first};
    }

    // The least LSN at or above `from` that is in the set.
    std::optional<Lsn> next_in(Lsn from) const { return first_missing(from) > from ? from : next_present(from); }

    bool has_all(Lsn first, Lsn end) const { return first >= end || first_missing(first) >= end; }
    bool has_any(Lsn first, Lsn end) const {
        const auto next = ranges_.lower_bound(end);
        return first < end && next != ranges_.begin() && std::prev(next)->second > first;
    }

  private:
    std::map<Lsn, Lsn> ranges_; // first to end, apart from each other
};

} // namespace shmbloom
