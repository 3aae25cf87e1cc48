#include "sys/clock.h"

#include <atomic>

namespace shmbloom {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

std::atomic<std::int64_t> shifted_ns{0}; // by tests

std::int64_t since_boot_ns() {
    return static_cast<std::int64_t>(boottime_ns());
}

std::int64_t wall_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * kSecond_ns + now.tv_nsec + shifted_ns;
}

std::atomic<std::int64_t> boot_at_ns{wall_ns() - since_boot_ns()}; // unix time of this boot, as it was believed

} // namespace

std::uint64_t unix_seconds() {
    return static_cast<std::uint64_t>((boot_at_ns + since_boot_ns()) / kSecond_ns);
}

std::uint64_t unix_ns() {
    return static_cast<std::uint64_t>(wall_ns());
}

void read_wall_clock() {
    boot_at_ns = wall_ns() - since_boot_ns();
}

std::int64_t wall_clock_ahead_s() {
    return (wall_ns() - boot_at_ns - since_boot_ns()) / kSecond_ns;
}

void shift_wall_clock(std::int64_t seconds) {
    shifted_ns += seconds * kSecond_ns;
}

} // namespace shmbloom
