// Where a daemon is, or was: what is needed to pause its filters, and to do something in its stead.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "filter.h"
#include "options.h"
#include "registry_view.h"

namespace shmbloom::ctl {

struct Place {
    std::string runtime_dir; // "": not known
    bool has_control = false;
    Failure no_control{Exit::unreachable, ""}; // why not
    std::optional<RegistryView> registry;      // of this daemon for certain, or none
    Failure no_registry{Exit::unreachable, ""};
    std::string instance;
    uid_t owner = 0; // of the runtime folder: the daemon's user
    gid_t group = 0;
};

// Looks for control as the library does, and for the registry as shmbloomd does; never fails, but may find little.
Place find_place(const Where &where);

} // namespace shmbloom::ctl
