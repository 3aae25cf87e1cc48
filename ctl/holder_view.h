// The processes that have a filter mapped, for `status NAME`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "holders/holders.h"
#include "json.h"

namespace shmbloom::ctl {

struct HeldGeneration {
    std::vector<pid_t> pids;
    std::uint64_t bytes = 0;
};

struct HolderView {
    std::map<std::uint64_t, HeldGeneration> by_generation;
    std::size_t unreadable = 0; // processes of others, which may hold some too

    std::uint64_t pinned_bytes(std::uint64_t present) const; // of other generations than this one
};

HolderView group_by_generation(const holders::Found &found);

// nullopt: control cannot be read, so how its segments are called is not known.
std::optional<HolderView> look_for_holders(const std::string &runtime_dir, const std::string &filter_uuid);

// A line each: who holds a generation that is over, and how many could not be looked at.
std::vector<std::string> holder_lines(const HolderView &view, std::uint64_t present);

void put_holders(Json &json, const std::optional<HolderView> &view, std::uint64_t present);

} // namespace shmbloom::ctl
