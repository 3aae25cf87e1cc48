// One load from its source to its end, and many of them.
#pragma once

#include "json.h"
#include "options.h"
#include "result.h"

namespace shmbloom::ctl {

struct Loaded {
    Json fields; // of --json
    Outcome failure;
};

Loaded load_one(const Where &where, const LoadOptions &options); // load.cpp

// Every filter, or every one with a doubt that a load ends, one after the other. Prints, and returns the exit code.
int load_all(const Where &where, const LoadOptions &options); // load_all.cpp

} // namespace shmbloom::ctl
