#include "service/core.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "sys/log.h"
#include "sys/os_error.h"

namespace shmbloom {

std::string trusted_runtime_folder(const std::string &path) {
    make_folder(path, 0750);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw_errno("look at", path);
    if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0)
        throw Refusal{"the runtime folder '" + path + "' must belong to user " + std::to_string(::geteuid()) +
                      " and be writable by nobody else; chown and chmod 0750 it, or give another --runtime-dir"};
    struct statfs fs {};
    if (::statfs(path.c_str(), &fs) == 0 && fs.f_type != TMPFS_MAGIC)
        log::warning("the runtime folder '" + path +
                     "' is not on a tmpfs: a lookup may wait for the disk; for development only");
    return path;
}

} // namespace shmbloom
