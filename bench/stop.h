// SIGINT and SIGTERM end a benchmark as a failure does, so that what it made is removed.
#pragma once

#include <csignal>
#include <stdexcept>

namespace shmbloom::bench {

inline volatile std::sig_atomic_t stop_asked = 0;

inline void stop_on_signals() {
    for (const int number : {SIGINT, SIGTERM})
        std::signal(number, [](int) { stop_asked = 1; });
}

// To be called in every long loop.
inline void throw_if_stopped() {
    if (stop_asked != 0)
        throw std::runtime_error("stopped by a signal");
}

} // namespace shmbloom::bench
