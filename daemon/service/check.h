// `shmbloomd --once check`: reads a state folder and what it names, and changes nothing. Works beside a running daemon.
#pragma once

#include "service/options.h"

namespace shmbloom {

// Prints what it finds, a line each. Returns 0 when a start would adopt every filter as it is, else 1. Throws Refusal
// when there is no usable registry.
int check_state(const Options &options);

} // namespace shmbloom
