// The promised rate, counted: filters filled to their capacity, asked for keys that were never added.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "filter.h"

using namespace shmbloom;
using namespace shmbloom::geometry;

namespace {

struct Rate {
    double mean, error; // standard error of the mean over the sets, so that it covers the scatter between filters
};

// `sets` filters with disjoint keys; each is asked for `absent` keys of its own. Every added key must be found.
Rate count_rate(const shmbloom_shape &shape, std::uint64_t n, std::uint64_t sets, std::uint64_t absent) {
    double sum = 0;
    double sum_of_squares = 0;
    std::uint64_t next_key = 0;
    for (std::uint64_t set = 0; set < sets; set++) {
        Filter filter{shape};
        const std::uint64_t first = next_key;
        for (std::uint64_t i = 0; i < n; i++)
            filter.add(hash_of(next_key++));
        for (std::uint64_t key = first; key < next_key; key++)
            EXPECT_TRUE(filter.contains(hash_of(key))) << "false negative: key " << key;
        std::uint64_t maybe = 0;
        for (std::uint64_t i = 0; i < absent; i++)
            maybe += filter.contains(hash_of(next_key++));
        const double rate = static_cast<double>(maybe) / static_cast<double>(absent);
        sum += rate;
        sum_of_squares += rate * rate;
    }
    const auto count = static_cast<double>(sets);
    const double mean = sum / count;
    const double variance = std::max(0.0, sum_of_squares / count - mean * mean) * count / (count - 1);
    return {mean, std::sqrt(variance / count)};
}

struct Cell {
    LayoutChoice layout;
    double p;
    std::uint64_t n, sets;
};

class RateTest : public testing::TestWithParam<Cell> {};

TEST_P(RateTest, IsKeptAtCapacity) {
    const Cell &cell = GetParam();
    const shmbloom_shape shape = planned(cell.n, cell.p, cell.layout);
    // 600 false positives expected at least: 4 % of counting error.
    const auto absent = static_cast<std::uint64_t>(std::max(600 / cell.p, 2e6)) / cell.sets;
    const Rate rate = count_rate(shape, cell.n, cell.sets, absent);
    std::printf("[ rate     ] asked %g, counted %.4g, that is %.3f +- %.3f of it\n", cell.p, rate.mean,
                rate.mean / cell.p, rate.error / cell.p);
    EXPECT_LE(rate.mean, 1.05 * cell.p + 3 * rate.error);
    // Far below p would be memory for nothing. Whole blocks, and a small filter's blocks being filled more evenly than
    // the sizing assumes, cost up to 15 % at 1,000 keys.
    EXPECT_GE(rate.mean, 0.8 * cell.p);
}

std::vector<Cell> cells() {
    std::vector<Cell> all;
    for (const LayoutChoice layout : {LayoutChoice::classic, LayoutChoice::blocked})
        for (const double p : {0.1, 1e-2, 1e-3, 1e-4})
            for (const auto &[n, sets] : {std::pair<std::uint64_t, std::uint64_t>{1000, 100}, {20'000, 20}})
                all.push_back({layout, p, n, sets});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Layouts, RateTest, testing::ValuesIn(cells()), [](const auto &row) {
    const Cell &cell = row.param;
    return std::string(cell.layout == LayoutChoice::classic ? "classic" : "blocked") + "_1e" +
           std::to_string(std::lround(-std::log10(cell.p))) + "_" + std::to_string(cell.n) + "_keys";
});

} // namespace
