// Every system call that changes what a disk holds: one seam, so that tests can fail each of them and lose power between
// any two. Above it the same with the error in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "sys/unique_fd.h"

namespace shmbloom {

// Like the system calls: -1 and errno. Any thread.
class Disk {
  public:
    virtual ~Disk() = default;
    virtual int open(int folder, const char *name, int flags, mode_t mode);
    virtual ssize_t write(int fd, const void *bytes, std::size_t size, std::uint64_t offset); // may be short
    virtual int allocate(int fd, std::uint64_t bytes); // blocks for the first `bytes`, so that writing there needs no room
    virtual int truncate(int fd, std::uint64_t bytes);
    virtual int sync(int fd); // a file's content and size, or a folder's names
    virtual int rename(int folder, const char *from, const char *to);
    virtual int unlink(int folder, const char *name);
    virtual int make_folder(int folder, const char *name, mode_t mode);
};

Disk &disk();
// For tests; null: the real one again. While no other thread uses it.
void set_disk(Disk *other);

using Bytes = std::span<const std::byte>;

inline Bytes bytes_of(std::string_view text) {
    return std::as_bytes(std::span{text});
}

// These throw std::system_error; `path` is for its words.
UniqueFd open_on_disk(int folder, const std::string &name, int flags, mode_t mode, std::string_view path);
void write_at(int fd, Bytes bytes, std::uint64_t offset, std::string_view path); // all of it
void allocate_on_disk(int fd, std::uint64_t bytes, std::string_view path);
void sync_to_disk(int fd, std::string_view path);

} // namespace shmbloom
