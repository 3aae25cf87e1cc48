#include "service/lsn_clock.h"

#include <gtest/gtest.h>

namespace shmbloom {
namespace {

TEST(LsnClock, NamesAnLsnThatWasNextBeforeThatTime) {
    LsnClock clock;
    EXPECT_FALSE(clock.at(1000));
    clock.note(100, 7);
    clock.note(105, 8); // too soon for a note of its own
    clock.note(110, 9);
    clock.note(120, 9); // nothing came
    clock.note(130, 20);
    EXPECT_FALSE(clock.at(99));
    EXPECT_FALSE(clock.at(100)); // the note may be from late in that second
    EXPECT_EQ(clock.at(101), 7u);
    EXPECT_EQ(clock.at(110), 7u);
    EXPECT_EQ(clock.at(130), 9u);
    EXPECT_EQ(clock.at(131), 20u);
}

TEST(LsnClock, NamesATimeAtWhichThatLsnHadBeenReached) {
    LsnClock clock;
    EXPECT_FALSE(clock.time_of(5));
    clock.note(100, 7);
    clock.note(110, 9);
    EXPECT_FALSE(clock.time_of(6));
    EXPECT_EQ(clock.time_of(8), 100u);
    EXPECT_EQ(clock.time_of(50), 110u);
}

TEST(LsnClock, ForgetsWhatIsOlderThanADay) {
    LsnClock clock;
    for (std::uint64_t second = 0; second < 3 * 86400; second += 10)
        clock.note(second, second + 1);
    EXPECT_FALSE(clock.at(86400));
    EXPECT_TRUE(clock.at(2 * 86400));
}

} // namespace
} // namespace shmbloom
