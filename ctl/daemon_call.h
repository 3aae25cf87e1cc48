// One command for the daemon of a place; when it is dead, shmbloomd --once in its stead.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"
#include "place.h"

namespace shmbloom::ctl {

struct Told {
    enum class By { daemon, once, nobody } by = By::nobody;
    bool hung = false; // the daemon is there and does not answer, or does not come up
    Outcome failure;   // refused, or why nobody could be told
};

struct Timeouts {
    std::chrono::milliseconds hello{2000}; // until it is hung
    std::chrono::milliseconds reply{60000};
    std::chrono::milliseconds start{10000}; // for one that is just starting
};

// `command` as on the wire, `once` as shmbloomd --once takes it.
Told tell(const Place &place, const std::vector<std::string> &command, const std::vector<std::string> &once,
          Timeouts timeouts = {});

} // namespace shmbloom::ctl
