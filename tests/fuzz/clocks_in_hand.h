// The clocks of a fuzz target: they stand, but for a step at each look, so that the same input sees the same times and
// nothing waits long. Linked in by --wrap, in place of clock_gettime, clock_nanosleep and time.
#pragma once

namespace shmbloom::clocks_in_hand {

void begin_anew();
void let_pass(long seconds);

} // namespace shmbloom::clocks_in_hand
