// What a command is told when the disk does not take what it must.
#pragma once

#include <cerrno>

#include "disk/journal.h"
#include "service/failure.h"

namespace shmbloom {

inline Failure not_on_disk(const DiskError &error) {
    const bool is_full = error.error == ENOSPC || error.error == EDQUOT;
    return {is_full ? "NOSPC" : "IO",
            "not acknowledged, the journal cannot be written: " + error.text +
                (is_full ? "; make room on the disk of the state folder, it goes on by itself"
                         : "; see to the disk of the state folder, it is tried again every second")};
}

} // namespace shmbloom
