// The daemon's helper threads without threads: what they are given waits until the test lets one of them do it. So the
// input decides in which order things happen, and the same input sees the same order.
#pragma once

#include <cstddef>

namespace shmbloom {

std::size_t helpers_with_work();
// The nth of those does the next thing it was given.
void let_work(std::size_t nth);

} // namespace shmbloom
