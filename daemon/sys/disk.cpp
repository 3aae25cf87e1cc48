#include "sys/disk.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/disk_fault.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

Disk *other_disk = nullptr;

} // namespace

int Disk::open(int folder, const char *name, int flags, mode_t mode) {
    if (disk_fault("open", folder, name))
        return -1;
    return ::openat(folder, name, flags | O_CLOEXEC | O_NOFOLLOW, mode);
}

ssize_t Disk::write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) {
    // A disk that fills up takes a part first.
    if (disk_fault("write", fd))
        return size > 1 && errno == ENOSPC ? ::pwrite(fd, bytes, size / 2, static_cast<off_t>(offset)) : -1;
    return ::pwrite(fd, bytes, size, static_cast<off_t>(offset));
}

int Disk::allocate(int fd, std::uint64_t bytes) {
    if (disk_fault("allocate", fd))
        return -1;
    errno = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    return errno == 0 ? 0 : -1;
}

int Disk::truncate(int fd, std::uint64_t bytes) {
    return disk_fault("truncate", fd) ? -1 : ::ftruncate(fd, static_cast<off_t>(bytes));
}

int Disk::sync(int fd) {
    if (disk_fault("sync", fd))
        return -1;
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        return -1;
    return S_ISDIR(status.st_mode) ? ::fsync(fd) : ::fdatasync(fd);
}

int Disk::rename(int folder, const char *from, const char *to) {
    return disk_fault("rename", folder, to) ? -1 : ::renameat(folder, from, folder, to);
}

int Disk::unlink(int folder, const char *name) {
    return disk_fault("unlink", folder, name) ? -1 : ::unlinkat(folder, name, 0);
}

int Disk::make_folder(int folder, const char *name, mode_t mode) {
    return disk_fault("mkdir", folder, name) ? -1 : ::mkdirat(folder, name, mode);
}

Disk &disk() {
    static Disk real;
    return other_disk != nullptr ? *other_disk : real;
}

void set_disk(Disk *other) {
    other_disk = other;
}

UniqueFd open_on_disk(int folder, const std::string &name, int flags, mode_t mode, std::string_view path) {
    UniqueFd fd{disk().open(folder, name.c_str(), flags, mode)};
    if (!fd)
        throw_errno("open", path);
    return fd;
}

void write_at(int fd, Bytes bytes, std::uint64_t offset, std::string_view path) {
    while (!bytes.empty()) {
        const ssize_t n = disk().write(fd, bytes.data(), bytes.size(), offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            throw_errno("write", path);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
        offset += static_cast<std::size_t>(n);
    }
}

void allocate_on_disk(int fd, std::uint64_t bytes, std::string_view path) {
    if (disk().allocate(fd, bytes) != 0)
        throw_errno("allocate " + std::to_string(bytes) + " bytes of", path);
}

void sync_to_disk(int fd, std::string_view path) {
    if (disk().sync(fd) != 0)
        throw_errno("sync", path);
}

} // namespace shmbloom
