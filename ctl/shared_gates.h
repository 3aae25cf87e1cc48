// `paused` set in a filter's two gates without the daemon: the off switch, which needs no lock, no process and no disk.
// docs/memory-format.md: anybody who may write a gate may set this one bit in it, at any moment.
#pragma once

#include <string>
#include <vector>

#include "registry_view.h"
#include "result.h"

namespace shmbloom::ctl {

struct PausedGates {
    std::string name;
    bool control = false, segment = false; // where the bit stands now
    std::string why_not;                   // of what it does not stand in

    bool any() const { return control || segment; } // enough: a reader needs both gates clear
};

// In the gates of `name`, "" for every filter, through the control in this folder; maps it for writing. Fails when
// there is no control, it may not be written (Exit::no_permission), or it has no such filter.
Result<std::vector<PausedGates>> pause_by_control(const std::string &runtime_dir, const std::string &name);

// The same in the segments' gates alone, by what the registry says: for when control is gone.
Result<std::vector<PausedGates>> pause_by_registry(const RegistryView &registry, const std::string &name);

// 36 characters; "" when control cannot be read.
std::string state_uuid_of_control(const std::string &runtime_dir);

} // namespace shmbloom::ctl
