// Waits for a condition that another process brings about, instead of sleeping.
#pragma once

#include <chrono>
#include <thread>

namespace shmbloom::test {

// True as soon as `condition()` is; false when it is not within `timeout`.
template <typename Condition>
bool eventually(Condition condition, std::chrono::seconds timeout = std::chrono::seconds{30}) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
    return true;
}

} // namespace shmbloom::test
