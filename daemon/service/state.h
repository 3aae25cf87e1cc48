// What SB.STATE says of the instance as a whole: its journal, its snapshots, how its start went. Fields of
// docs/protocol.md, in its order, as text.
#pragma once

#include "service/info.h"
#include "service/instance.h"

namespace shmbloom {

Fields instance_state(const Instance &instance, const Options &options);

} // namespace shmbloom
