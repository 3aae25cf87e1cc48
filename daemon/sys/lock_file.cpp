#include "sys/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>

#include "sys/os_error.h"

namespace shmbloom {

LockFile::LockFile(const std::string &path, const std::string &owner) : path_{path} {
    // Somebody may remove the file between open and flock: then a lock on it keeps nobody out.
    for (;;) {
        fd_ = UniqueFd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
        if (!fd_)
            throw_errno("open the lock", path);
        if (::flock(fd_.get(), LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK)
                throw_errno("lock", path);
            std::string holder = read_file(path).value_or("");
            if (const auto end = holder.find('\n'); end != std::string::npos)
                holder.resize(end);
            throw Refusal{"another shmbloomd holds '" + path + "'" + (holder.empty() ? "" : ": " + holder) +
                          "; stop it first, or give this one folders and an --instance of its own"};
        }
        id_ = file_id(fd_.get());
        if (is_in_place())
            break;
    }
    if (::fchmod(fd_.get(), 0600) != 0)
        throw_errno("set the mode of", path);
    const std::string text = "pid " + std::to_string(::getpid()) + ", " + owner + "\n";
    if (::ftruncate(fd_.get(), 0) != 0 || ::pwrite(fd_.get(), text.data(), text.size(), 0) < 0)
        throw_errno("write", path);
}

bool LockFile::is_in_place() const {
    try {
        return file_id_at(path_) == id_;
    } catch (const std::system_error &) {
        return false;
    }
}

} // namespace shmbloom
