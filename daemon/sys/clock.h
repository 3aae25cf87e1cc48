// The clocks that the formats name.
#pragma once

#include <cstdint>
#include <ctime>

namespace shmbloom {

// Heartbeats: counts while the machine sleeps, never set.
inline std::uint64_t boottime_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

// Unix time as the wall clock told it at the start of this process, counted on from there by one that nobody sets: an
// overlap, a retention, a day are as long as they are, whatever is done to the wall clock meanwhile.
std::uint64_t unix_seconds();
void read_wall_clock();            // what it says now is believed from here on; a start does so
std::int64_t wall_clock_ahead_s(); // of unix_seconds(): it was set meanwhile

// What the wall clock says; for people.
std::uint64_t unix_ns();

// For tests, as if somebody had set the wall clock.
void shift_wall_clock(std::int64_t seconds);

} // namespace shmbloom
