// What a dead daemon would have done: `shmbloomd --once VERB ...`, run as the daemon's user.
#pragma once

#include <string>
#include <vector>

#include "place.h"

namespace shmbloom::ctl {

struct Once {
    bool held = false; // another shmbloomd has the locks: it is not dead, perhaps it is just starting
    Outcome failure;   // nothing: it was done
};

// Needs the registry: without it shmbloomd would begin another state, which ends every filter of this one.
Once run_once(const Place &place, const std::vector<std::string> &words);

// Beside this program, else in ../sbin, else as PATH finds it; "" when nowhere.
std::string find_shmbloomd();

} // namespace shmbloom::ctl
