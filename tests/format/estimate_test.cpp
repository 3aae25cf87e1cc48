// Estimates against filters that were really filled.
#include <gtest/gtest.h>

#include <cmath>

#include "filter.h"

using namespace shmbloom;
using namespace shmbloom::geometry;

namespace {

struct Case {
    const char *name;
    shmbloom_shape shape;
    std::uint64_t capacity;
};

std::vector<Case> cases() {
    return {{"classic 1e-2", planned(50'000, 1e-2, LayoutChoice::classic), 50'000},
            {"classic 1e-4", planned(50'000, 1e-4, LayoutChoice::classic), 50'000},
            {"blocked q2", planned(50'000, 1e-2, LayoutChoice::blocked), 50'000},
            {"blocked q3", planned(50'000, 1e-4, LayoutChoice::blocked), 50'000}};
}

TEST(EstimatedKeys, FindTheKeysThatWereAdded) {
    for (const Case &c : cases()) {
        Filter filter{c.shape};
        std::uint64_t added = 0;
        for (const double share : {0.01, 0.1, 0.5, 1.0, 1.5}) {
            const auto target = static_cast<std::uint64_t>(share * static_cast<double>(c.capacity));
            while (added < target)
                filter.add(hash_of(added++));
            const auto keys = static_cast<double>(added);
            EXPECT_NEAR(estimated_keys(c.shape, filter.bits_set()), keys, 0.015 * keys) << c.name << " at " << share;
        }
    }
}

TEST(EstimatedFpr, IsTheRateOfAFilterThatIsHalfFullFullOrOverfull) {
    for (const Case &c : cases()) {
        for (const double share : {0.5, 1.0, 1.5}) {
            Filter filter{c.shape};
            const auto keys = static_cast<std::uint64_t>(share * static_cast<double>(c.capacity));
            for (std::uint64_t i = 0; i < keys; i++)
                filter.add(hash_of(i));
            const double estimated = estimated_fpr(c.shape, filter.bits_set());
            EXPECT_NEAR(estimated, expected_fpr(c.shape, static_cast<double>(keys)), 0.1 * estimated)
                << c.name << " at " << share;
            if (estimated < 1e-4)
                continue; // would need too many lookups
            std::uint64_t maybe = 0;
            const std::uint64_t asked = 1'000'000;
            for (std::uint64_t i = 0; i < asked; i++)
                maybe += filter.contains(hash_of((std::uint64_t{1} << 40) + i));
            const double counted = static_cast<double>(maybe) / static_cast<double>(asked);
            EXPECT_NEAR(estimated, counted, 0.1 * estimated + 3 * std::sqrt(estimated / 1e6))
                << c.name << " at " << share;
        }
    }
}

TEST(Estimates, AreZeroForAnEmptyFilter) {
    for (const Case &c : cases()) {
        EXPECT_EQ(estimated_keys(c.shape, 0), 0) << c.name;
        EXPECT_EQ(estimated_fpr(c.shape, 0), 0) << c.name;
        EXPECT_EQ(expected_fpr(c.shape, 0), 0) << c.name;
    }
}

TEST(Estimates, OfAFullFilterAreFiniteAndSayAlways) {
    for (const Case &c : cases()) {
        const std::uint64_t bits = c.shape.size * (c.shape.layout == SHMBLOOM_LAYOUT_BLOCKED ? 512 : 1);
        EXPECT_TRUE(std::isfinite(estimated_keys(c.shape, bits))) << c.name;
        EXPECT_EQ(estimated_keys(c.shape, bits), estimated_keys(c.shape, bits - 1)) << c.name;
        EXPECT_GT(estimated_keys(c.shape, bits), static_cast<double>(c.capacity)) << c.name;
        EXPECT_EQ(estimated_fpr(c.shape, bits), 1) << c.name;
        EXPECT_EQ(estimated_fpr(c.shape, UINT64_MAX), 1) << c.name;
    }
}

TEST(Estimates, GrowWithTheBitsThatAreSet) {
    for (const Case &c : cases()) {
        const std::uint64_t bits = c.shape.size * (c.shape.layout == SHMBLOOM_LAYOUT_BLOCKED ? 512 : 1);
        double keys = 0;
        double fpr = 0;
        for (std::uint64_t set = bits / 64; set <= bits; set += bits / 64) {
            EXPECT_GT(estimated_keys(c.shape, set), keys) << c.name;
            EXPECT_GE(estimated_fpr(c.shape, set), fpr) << c.name;
            keys = estimated_keys(c.shape, set);
            fpr = estimated_fpr(c.shape, set);
        }
    }
}

TEST(ExpectedFpr, AtCapacityIsWhatWasAskedFor) {
    for (const double p : {0.1, 1e-2, 1e-3, 1e-4, 1e-5}) {
        for (const LayoutChoice choice : {LayoutChoice::classic, LayoutChoice::blocked}) {
            const double expected = expected_fpr(planned(1'000'000, p, choice), 1e6);
            EXPECT_LE(expected, 1.02 * p); // classic: k is a whole number
            EXPECT_GE(expected, 0.97 * p);
        }
    }
}

} // namespace
