#include "clocks_in_hand.h"

#include <algorithm>
#include <cstdint>
#include <ctime>

namespace shmbloom::clocks_in_hand {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kBegin = 1'800'000'000 * kSecond;
constexpr std::int64_t kStep = 3'000'000; // what is kept for a tenth of a second is so for some looks

std::int64_t now = kBegin;

} // namespace

void begin_anew() {
    now = kBegin;
}

void let_pass(long seconds) {
    now += seconds * kSecond;
}

extern "C" {

int __wrap_clock_gettime(clockid_t, timespec *ret) {
    now += kStep;
    *ret = {.tv_sec = now / kSecond, .tv_nsec = now % kSecond};
    return 0;
}

// Until a moment; nothing here sleeps for a while.
int __wrap_clock_nanosleep(clockid_t, int, const timespec *until, timespec *) {
    now = std::max(now, until->tv_sec * kSecond + until->tv_nsec);
    return 0;
}

time_t __wrap_time(time_t *) {
    return now / kSecond;
}
}

} // namespace shmbloom::clocks_in_hand
