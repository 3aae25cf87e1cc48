#include "store/doubt.h"

#include <gtest/gtest.h>

namespace shmbloom {
namespace {

TEST(DoubtNames, StandInTheOrderOfTheirBits) {
    EXPECT_EQ(join_names(kDoubtNames, 0), "");
    EXPECT_EQ(join_names(kDoubtNames, SHMBLOOM_DOUBT_PARTIAL), "partial");
    EXPECT_EQ(join_names(kDoubtNames, SHMBLOOM_DOUBT_WARMING), "warming");
    EXPECT_EQ(join_names(kDoubtNames, SHMBLOOM_DOUBT_PAUSED), "paused");
    EXPECT_EQ(join_names(kDoubtNames, SHMBLOOM_DOUBT_LOSSY), "lossy");
    EXPECT_EQ(join_names(kDoubtNames, SHMBLOOM_DOUBT_DAMAGED), "damaged");
    EXPECT_EQ(join_names(kDoubtNames, 0x1f), "partial,warming,paused,lossy,damaged");
}

TEST(WarningNames, StandInTheOrderOfTheirBits) {
    EXPECT_EQ(join_names(kWarningNames, SHMBLOOM_WARNING_DEGRADED), "degraded");
    EXPECT_EQ(join_names(kWarningNames, SHMBLOOM_WARNING_FULL), "full");
    EXPECT_EQ(join_names(kWarningNames, SHMBLOOM_WARNING_ADDS_REFUSED | SHMBLOOM_WARNING_NAME_LOST),
              "adds_refused,name_lost");
}

} // namespace
} // namespace shmbloom
