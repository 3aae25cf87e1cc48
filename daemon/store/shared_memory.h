// A named POSIX shared memory object, mapped for writing as a whole. The only user of Boost.Interprocess.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "sys/files.h"

namespace shmbloom {

class SharedMemory {
  public:
    struct Create {};
    struct Attach {};

    // A new object of `size` bytes, every page allocated, mode 0640, mapped at a multiple of 2 MiB; from `huge_from` on in
    // huge pages, as far as the machine gives them and whole ones fit (0: none). Throws std::system_error (EEXIST, ENOSPC
    // ...); then no name is left. The name is not removed by the destructor.
    SharedMemory(Create, const std::string &name, std::size_t size, std::size_t huge_from = 0);
    // An object that exists, mapped in the size it has. Throws std::system_error.
    SharedMemory(Attach, const std::string &name);
    ~SharedMemory();

    SharedMemory(const SharedMemory &) = delete;
    SharedMemory &operator=(const SharedMemory &) = delete;

    std::byte *data() const { return data_; }
    std::size_t size() const { return size_; }
    FileId id() const { return id_; }
    // Pages were missing when it was attached: somebody punched them out, with whatever they held.
    bool has_holes() const { return has_holes_; }

    // Bytes of the mapping that huge pages hold now (ShmemPmdMapped).
    std::size_t huge_page_bytes() const;

  private:
    struct Region;
    void map(int fd);
    void make_huge(int fd, std::size_t from);
    void populate();

    std::unique_ptr<Region> region_;
    std::byte *data_ = nullptr;
    std::size_t size_ = 0;
    bool has_holes_ = false;
    FileId id_;
};

// What the name leads to; nullopt when there is nothing. Throws on other errors.
std::optional<FileId> shared_memory_id(const std::string &name);

// Removes the name if it still leads to `id`. True when it was removed.
bool remove_shared_memory(const std::string &name, FileId id);

// Removes the name of an object that was still being made: its inode was never recorded, but it must be ours.
bool remove_unfinished_shared_memory(const std::string &name);

} // namespace shmbloom
