// What a command is told when the disk does not take what it must.
#pragma once

#include <cerrno>
#include <cstring>

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

// Of what a text tells: something else than the journal could not be written.
inline Failure not_kept(const std::string &what, const std::string &error) {
    const bool is_full = error.find(std::strerror(ENOSPC)) != std::string::npos;
    return {is_full ? "NOSPC" : "IO", what + ": " + error +
                                          (is_full ? "; make room on the disk of the state folder, then try again"
                                                   : "; see to the disk of the state folder, then try again")};
}

} // namespace shmbloom
