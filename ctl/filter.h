// What the tool asks the library: which filters there are, and handles on them. Needs no daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "internal.h"
#include "options.h"
#include "result.h"

namespace shmbloom::ctl {

// The code that ends the tool for a negative errno of the library.
Exit exit_of(int negative_errno);

struct CloseFilter {
    void operator()(shmbloom_filter *f) const { shmbloom_close(f); }
};
using Filter = std::unique_ptr<shmbloom_filter, CloseFilter>;

Result<Filter> open_filter(const Where &where, const std::string &name);

shmbloom_info get_info(shmbloom_filter *f);

// Absents that workers reported as wrong; SHMBLOOM_UNKNOWN when the slot cannot be read just now.
std::uint64_t wrong_absents_of(const shmbloom_filter *f);

// Seed, hash domain, normalisation and key type of the filter as it is now.
Result<shmbloom__hashing> get_hashing(shmbloom_filter *f, const std::string &name);

struct Listing {
    std::vector<std::string> names;
    std::string runtime_dir;
    std::uint64_t heartbeat_age_ms = 0;
    bool hangs = false;   // no heartbeat, but its process is there
    bool stopped = false; // control names no daemon: it ended cleanly, or none has been here

    // The daemon gives a sign of life each second.
    bool is_daemon_running() const { return !stopped && heartbeat_age_ms <= 3000; }
};

// Fails when no daemon of this boot has been here (Exit::unreachable), or its folder is not to be read.
Result<Listing> list_filters(const Where &where);

} // namespace shmbloom::ctl
