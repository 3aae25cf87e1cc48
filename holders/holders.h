// Which processes have generations of a filter mapped: memory that stays until they let go of it, whatever was
// unlinked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace shmbloom::holders {

struct Holder {
    pid_t pid;
    std::uint64_t generation;
    std::uint64_t bytes; // of the segment, from its beginning to the end of what is mapped

    friend bool operator==(const Holder &, const Holder &) = default;
};

struct Found {
    std::vector<Holder> holders; // by pid, then by generation; one for each pair
    std::size_t unreadable = 0;  // processes that this user may not look at, so whether they hold any is not known
};

// Looks through /proc/PID/maps of every process that can be seen, the caller's too. A process that ends meanwhile holds
// nothing. Never fails: without /proc nothing is found. Costs 0.1 to 1 ms a process: nothing for a loop.
// `state_prefix`: the first 16 hex digits of the state uuid, as in the names of segments.
Found find(std::string_view state_prefix, std::string_view filter_uuid_text);

// One line of a maps file. The generation and the end of this part in its segment; false when it is none of `name`,
// "/dev/shm/shmbloom.<state>.<filter>.".
bool read_maps_line(std::string_view line, std::string_view name, Holder *holder);

} // namespace shmbloom::holders
