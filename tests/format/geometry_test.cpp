#include "geometry/geometry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace shmbloom::geometry;

namespace {

Geometry planned(std::uint64_t n, double p, LayoutChoice choice) {
    const auto result = plan(n, p, choice);
    if (const auto *error = std::get_if<std::string>(&result)) {
        ADD_FAILURE() << *error;
        return {};
    }
    return std::get<Geometry>(result);
}

std::string refusal(std::uint64_t n, double p, LayoutChoice choice = LayoutChoice::automatic) {
    const auto result = plan(n, p, choice);
    const auto *error = std::get_if<std::string>(&result);
    return error ? *error : "";
}

TEST(Plan, ClassicHasTheKnownNumbersFor1000KeysAt1Percent) {
    const Geometry g = planned(1000, 0.01, LayoutChoice::classic);
    EXPECT_EQ(g.shape.layout, SHMBLOOM_LAYOUT_CLASSIC);
    EXPECT_EQ(g.shape.size, 9586u);
    EXPECT_EQ(g.shape.probes, 7u);
    EXPECT_EQ(g.bits_bytes, 1200u);
    EXPECT_EQ(g.bits_offset, 4096u);
    EXPECT_EQ(g.segment_bytes, 8192u);
}

TEST(Plan, ClassicNeedsTheKnownMemoryFor100MillionKeys) {
    struct {
        double p, mebibytes;
        std::uint32_t k;
    } const rows[] = {{0.1, 57.1, 3}, {1e-2, 114.3, 7}, {1e-3, 171.4, 10}, {1e-4, 228.5, 13}};
    for (const auto &row : rows) {
        const Geometry g = planned(100'000'000, row.p, LayoutChoice::classic);
        EXPECT_NEAR(static_cast<double>(g.bits_bytes) / (1 << 20), row.mebibytes, 0.05) << row.p;
        EXPECT_EQ(g.shape.probes, row.k) << row.p;
    }
}

TEST(Plan, ClassicIsPaddedTo4096BitsWithTheProbesOfTheUnpaddedSize) {
    const Geometry g = planned(1, 0.01, LayoutChoice::classic);
    EXPECT_EQ(g.shape.size, 4096u);
    EXPECT_EQ(g.shape.probes, 7u);
    EXPECT_EQ(planned(1, 0.5, LayoutChoice::classic).shape.probes, 1u);
    EXPECT_EQ(planned(1000, 1e-9, LayoutChoice::classic).shape.probes, 30u);
}

TEST(Plan, BlockedUsesThreeBitsAWordBelow5e4) {
    EXPECT_EQ(planned(20'000, 5e-4, LayoutChoice::blocked).shape.probes, 2u);
    EXPECT_EQ(planned(20'000, 4.99e-4, LayoutChoice::blocked).shape.probes, 3u);
}

TEST(Plan, BlockedHasWholeBlocks) {
    const Geometry g = planned(100'000'000, 0.01, LayoutChoice::blocked);
    const double exact = 1e8 * blocked_bits_per_key(0.01, 2) / 512;
    EXPECT_EQ(g.shape.size, static_cast<std::uint64_t>(std::ceil(exact)));
    EXPECT_EQ(g.bits_bytes, g.shape.size * 64);
    EXPECT_EQ(planned(1, 0.5, LayoutChoice::blocked).shape.size, 1u);
}

// The exact mixture, computed elsewhere; also rows W4q2 and W4q3 of the published comparison, to 0.01 bit.
TEST(BlockedBitsPerKey, AgreesWithTheVectors) {
    struct {
        double p, two_bits, three_bits;
    } const rows[] = {
        {1e-2, 10.11, 11.15}, {1e-3, 15.82, 16.14}, {1e-4, 23.90, 22.56}, {1e-5, 35.71, 31.06}, {1e-6, 53.54, 42.60}};
    for (const auto &row : rows) {
        EXPECT_NEAR(blocked_bits_per_key(row.p, 2), row.two_bits, 0.01) << row.p;
        EXPECT_NEAR(blocked_bits_per_key(row.p, 3), row.three_bits, 0.01) << row.p;
    }
}

TEST(BlockedBitsPerKey, IsRoundedUpTo1024thsAndHoldsTheRate) {
    for (double p = 0.5; p >= 1e-6; p *= 0.7) {
        for (const std::uint32_t q : {2u, 3u}) {
            const double bits = blocked_bits_per_key(p, q);
            EXPECT_EQ(bits * 1024, std::floor(bits * 1024)) << p;
            const shmbloom_shape million_blocks{SHMBLOOM_LAYOUT_BLOCKED, q, 1'000'000};
            EXPECT_LE(expected_fpr(million_blocks, 512e6 / bits), p) << p;
            EXPECT_GT(expected_fpr(million_blocks, 512e6 / (bits - 2.0 / 1024)), p) << p;
        }
    }
}

TEST(Plan, AutoIsClassicBelow10000Keys) {
    EXPECT_EQ(planned(9'999, 0.01, LayoutChoice::automatic).shape.layout, SHMBLOOM_LAYOUT_CLASSIC);
    EXPECT_EQ(planned(10'000, 0.01, LayoutChoice::automatic).shape.layout, SHMBLOOM_LAYOUT_BLOCKED);
}

TEST(Plan, AutoIsBlockedExactlyWhereItCostsAtMostAFifthMore) {
    int blocked_rates = 0;
    int classic_rates = 0;
    for (double p = 0.5; p > 1e-6; p *= 0.9) {
        const auto classic = static_cast<double>(planned(1'000'000, p, LayoutChoice::classic).shape.size);
        const auto blocked = static_cast<double>(planned(1'000'000, p, LayoutChoice::blocked).shape.size) * 512;
        const bool chosen = planned(1'000'000, p, LayoutChoice::automatic).shape.layout == SHMBLOOM_LAYOUT_BLOCKED;
        EXPECT_EQ(chosen, blocked <= 1.20 * classic) << p << ": " << blocked / classic;
        ++(chosen ? blocked_rates : classic_rates);
    }
    EXPECT_GT(blocked_rates, 10);
    EXPECT_GT(classic_rates, 10);
}

TEST(Plan, AutoChoosesAsTheDocumentationSays) {
    const auto layout = [](double p) { return planned(1'000'000, p, LayoutChoice::automatic).shape.layout; };
    EXPECT_EQ(layout(0.1), SHMBLOOM_LAYOUT_CLASSIC);
    EXPECT_EQ(layout(0.05), SHMBLOOM_LAYOUT_BLOCKED);
    EXPECT_EQ(layout(1e-2), SHMBLOOM_LAYOUT_BLOCKED);
    EXPECT_EQ(layout(1e-3), SHMBLOOM_LAYOUT_BLOCKED);
    EXPECT_EQ(layout(1e-4), SHMBLOOM_LAYOUT_BLOCKED);
    EXPECT_EQ(layout(5e-5), SHMBLOOM_LAYOUT_CLASSIC);
    EXPECT_EQ(layout(1e-6), SHMBLOOM_LAYOUT_CLASSIC);
    EXPECT_EQ(layout(1e-9), SHMBLOOM_LAYOUT_CLASSIC);
}

TEST(Plan, IsExactToTheEndsOfItsRanges) {
    EXPECT_EQ(refusal(1, 0.5), "");
    EXPECT_EQ(refusal(1, 1e-9), "");
    EXPECT_EQ(refusal(1, 1e-6, LayoutChoice::blocked), "");
    const Geometry largest = planned(kCapacityMax, 1e-6, LayoutChoice::blocked);
    EXPECT_EQ(largest.shape.size, static_cast<std::uint64_t>(std::ceil(blocked_bits_per_key(1e-6, 3) * 0x1p40 / 512)));
    EXPECT_EQ(largest.bits_bytes, largest.shape.size * 64);
    EXPECT_EQ(planned(kCapacityMax, 6e-7, LayoutChoice::classic).shape.probes, 21u);
}

TEST(Plan, SaysWhatIsOutOfRangeAndWhatIsAllowed) {
    EXPECT_EQ(refusal(0, 0.01), "capacity 0 is out of range: allowed is 1 to 1099511627776 (2^40)");
    EXPECT_EQ(refusal(kCapacityMax + 1, 0.01),
              "capacity 1099511627777 is out of range: allowed is 1 to 1099511627776 (2^40)");
    EXPECT_EQ(refusal(10, 0.51), "false-positive rate 0.51 is out of range: allowed is 1e-09 to 0.5");
    EXPECT_EQ(refusal(10, 9e-10), "false-positive rate 9e-10 is out of range: allowed is 1e-09 to 0.5");
    EXPECT_EQ(refusal(10, 1e-7, LayoutChoice::blocked),
              "false-positive rate 1e-07 is too low for layout blocked: allowed is 1e-06 or more, or layout classic");
    EXPECT_EQ(refusal(kCapacityMax, 5e-7),
              "false-positive rate 5e-07 is too low for capacity 1099511627776: allowed is "
              "5.96046e-07 or more, for hashes have 64 bits");
}

TEST(Plan, RefusesRatesThatAreNoNumbers) {
    for (const double p : {0.0, -0.01, std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
        EXPECT_NE(refusal(10, p), "") << p;
}

TEST(Place, PutsBitsAt2MebibytesFrom8MebibytesOn) {
    const Geometry below = place({SHMBLOOM_LAYOUT_CLASSIC, 7, (8u << 23) - 64});
    EXPECT_EQ(below.bits_bytes, (8u << 20) - 8);
    EXPECT_EQ(below.bits_offset, 4096u);
    EXPECT_EQ(below.segment_bytes, (8u << 20) + 4096);

    const Geometry from = place({SHMBLOOM_LAYOUT_BLOCKED, 2, (8u << 20) / 64});
    EXPECT_EQ(from.bits_bytes, 8u << 20);
    EXPECT_EQ(from.bits_offset, 2u << 20);
    EXPECT_EQ(from.segment_bytes, 10u << 20);
}

TEST(Place, CountsWholeWordsAndWholePages) {
    EXPECT_EQ(place({SHMBLOOM_LAYOUT_CLASSIC, 7, 4096}).bits_bytes, 512u);
    EXPECT_EQ(place({SHMBLOOM_LAYOUT_CLASSIC, 7, 4097}).bits_bytes, 520u);
    EXPECT_EQ(place({SHMBLOOM_LAYOUT_BLOCKED, 2, 64}).segment_bytes, 8192u);
    EXPECT_EQ(place({SHMBLOOM_LAYOUT_BLOCKED, 2, 65}).segment_bytes, 12288u);
}

TEST(ParseLayout, KnowsThreeWords) {
    EXPECT_EQ(parse_layout("auto"), LayoutChoice::automatic);
    EXPECT_EQ(parse_layout("classic"), LayoutChoice::classic);
    EXPECT_EQ(parse_layout("blocked"), LayoutChoice::blocked);
    for (const std::string_view text : {"", "Auto", "auto ", "sbbf"})
        EXPECT_EQ(parse_layout(text), std::nullopt) << text;
}

} // namespace
