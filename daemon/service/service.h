// The daemon's life: locks, start, serving, stop.
#pragma once

#include "service/options.h"

namespace shmbloom {

// Serves until SIGTERM or SIGINT. Returns the exit status: 0 after a clean stop. Throws Refusal or std::system_error
// when it cannot begin.
int serve(const Options &options);

} // namespace shmbloom
