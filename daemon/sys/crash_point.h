// Named steps at which a test can have the daemon kill itself, as if by `kill -9`: SHMBLOOM_CRASH_AT=<step>, or
// <step>:<n> for the n-th time that the step is reached. Without the variable a step costs one comparison.
#pragma once

namespace shmbloom {

void crash_point(const char *step);

} // namespace shmbloom
