// Named steps at which a test can have the daemon kill itself, as if by `kill -9`: SHMBLOOM_CRASH_AT=<step>, or
// <step>:<n> for the n-th time that the step is reached. SHMBLOOM_STOP_AT, of the same form, stops it there (SIGSTOP), so that
// something else can happen before SIGCONT. Without the variables a step costs a comparison or two.
#pragma once

namespace shmbloom {

void crash_point(const char *step);

} // namespace shmbloom
