// Whole files copied so that they are either there, on the disk, or not there.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "result.h"

namespace shmbloom::ctl {

struct FileOwner {
    uid_t user;
    gid_t group;
};

// Copies the regular file `from` to `to`, mode 0600, synced with its folder; `to` must not exist. `owner` when it shall
// belong to somebody else. After a failure `to` is not there, unless it was before.
Outcome copy_file(const std::string &from, const std::string &to, std::optional<FileOwner> owner = {});

// A failure of the system's, with the code that fits errno.
Failure failure_of_errno(int error, const std::string &what, const std::string &path);

} // namespace shmbloom::ctl
