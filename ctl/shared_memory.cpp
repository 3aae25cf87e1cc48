#include "shared_memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <utility>

#include "unique_fd.h"

namespace shmbloom::ctl {

Result<Mapped> Mapped::open(const std::string &path, std::size_t bytes, Access access) {
    const auto failed = [&](const char *doing, int error) {
        const bool denied = error == EACCES || error == EPERM;
        return Failure{denied ? Exit::no_permission : Exit::unreachable,
                       "cannot " + std::string{doing} + " '" + path + "': " + std::strerror(error)};
    };
    const bool writes = access == Access::write;
    const UniqueFd fd{::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW)};
    struct stat status {};
    if (!fd || ::fstat(fd.get(), &status) < 0)
        return failed(writes ? "write to" : "read", errno);
    if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) < bytes)
        return Failure{Exit::unreachable, "'" + path + "' is not what it should be"};
    Mapped mapped;
    void *data = ::mmap(nullptr, bytes, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, fd.get(), 0);
    if (data == MAP_FAILED)
        return failed("map", errno);
    mapped.data_ = data;
    mapped.size_ = bytes;
    mapped.dev_ = status.st_dev;
    mapped.inode_ = status.st_ino;
    return mapped;
}

Mapped::Mapped(Mapped &&other) noexcept
    : data_{std::exchange(other.data_, nullptr)}, size_{other.size_}, dev_{other.dev_}, inode_{other.inode_} {}

Mapped::~Mapped() {
    if (data_ != nullptr)
        ::munmap(data_, size_);
}

} // namespace shmbloom::ctl
