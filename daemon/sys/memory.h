// How much memory a new segment may take: checked before anything is mapped, since a cgroup or a tmpfs as large as the
// machine's memory kills rather than refuses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shmbloom {

struct MemoryRoom {
    std::uint64_t bytes;
    std::string where; // what limits: "/dev/shm", "MemAvailable", "the memory limit of the control group ..."
};

// The least of: free space of /dev/shm, MemAvailable, and what is left below each memory.max of this process's cgroup.
MemoryRoom memory_room();

struct FilesystemRoom {
    std::uint64_t total, free; // bytes
};
FilesystemRoom shared_memory_room(); // of /dev/shm

// One line with need, have and where, when `bytes` and the reserve do not fit; else nullopt.
std::optional<std::string> memory_refusal(std::uint64_t bytes, std::uint64_t reserve_bytes);

} // namespace shmbloom
