#include "progress.h"

#include <gtest/gtest.h>

using namespace shmbloom::ctl;
using namespace std::chrono_literals;

TEST(Progress, ShowsShareRateAndTimeLeft) {
    EXPECT_EQ(progress_line(0.25, 500'000, 10s),
              "[#######.......................] 25 %  500.0 k keys  50.0 k/s  30 s left");
}

TEST(Progress, WithoutATotalThereIsNoBar) {
    EXPECT_EQ(progress_line(std::nullopt, 500'000, 10s), "500.0 k keys  50.0 k/s");
}

TEST(Progress, FitsALineFromBeginningToEnd) {
    for (const double share : {0.0, 0.0005, 0.333, 1.0})
        EXPECT_LE(progress_line(share, 1'099'511'627'776, 1ms).size(), 79u);
}
