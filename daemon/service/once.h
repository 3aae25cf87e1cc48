// One thing done without serving.
#pragma once

#include "service/options.h"

namespace shmbloom {

// Does what options.once says, with no daemon running. Returns the exit status, as docs/protocol.md lists them. Throws
// Refusal or std::system_error when it cannot begin.
int do_once(const Options &options);

} // namespace shmbloom
