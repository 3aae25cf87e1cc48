#include "service/growth_rate.h"

#include <gtest/gtest.h>

using shmbloom::GrowthRate;

TEST(GrowthRate, IsUnknownForTenMinutes) {
    GrowthRate rate;
    for (std::uint64_t second = 0; second < 600; second++)
        rate.observe(second, second * 1000);
    EXPECT_EQ(rate.keys_per_day(), 0);
    rate.observe(600, 600'000);
    EXPECT_DOUBLE_EQ(rate.keys_per_day(), 86'400'000);
}

TEST(GrowthRate, LooksBackADayAndNotFurther) {
    GrowthRate rate;
    std::uint64_t keys = 0;
    for (std::uint64_t hour = 0; hour < 24; hour++)
        rate.observe(hour * 3600, keys += 10'000);
    for (std::uint64_t hour = 24; hour < 72; hour++)
        rate.observe(hour * 3600, keys += 100);
    EXPECT_DOUBLE_EQ(rate.keys_per_day(), 2400);
}

TEST(GrowthRate, IsNothingWhenNothingComesOrItWasForgotten) {
    GrowthRate rate;
    rate.observe(0, 1000);
    rate.observe(3600, 1000);
    EXPECT_EQ(rate.keys_per_day(), 0);
    rate.forget();
    rate.observe(7200, 5'000'000);
    EXPECT_EQ(rate.keys_per_day(), 0);
}
