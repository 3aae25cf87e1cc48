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

// For people, and for the times of doubts.
inline std::uint64_t unix_seconds() {
    return static_cast<std::uint64_t>(::time(nullptr));
}

inline std::uint64_t unix_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace shmbloom
