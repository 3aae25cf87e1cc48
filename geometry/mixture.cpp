#include "geometry/mixture.h"

#include <array>
#include <cassert>
#include <cmath>

#include "geometry/geometry.h"

namespace shmbloom::geometry {

namespace {

constexpr std::uint32_t kMaxQ = 3;
// A key uses one word of each pair: this word with probability 1/2.
constexpr double kWordShare = 0.5;

// share[d]: probability that q throws into the 64 bits of a word hit d different ones.
using DistinctBits = std::array<double, kMaxQ + 1>;

DistinctBits distinct_bits(std::uint32_t q) {
    DistinctBits share{1.0};
    for (std::uint32_t thrown = 0; thrown < q; thrown++) {
        for (std::uint32_t d = thrown + 1; d > 0; d--)
            share[d] = share[d] * (d / 64.0) + share[d - 1] * ((65.0 - d) / 64.0);
        share[0] = 0;
    }
    return share;
}

// Probability that one group of a probe is all set in a block of `keys` keys: inclusion and exclusion over the d bits
// asked for. A key leaves j given bits clear with probability 1 - share + share (1 - j/64)^q.
double group_rate(double keys, std::uint32_t q, const DistinctBits &distinct) {
    double rate = 0;
    for (std::uint32_t d = 1; d <= q; d++) {
        double all_set = 0;
        double choose = 1;
        for (std::uint32_t j = 0; j <= d; j++) {
            const double clear = 1 - kWordShare + kWordShare * std::pow(1 - j / 64.0, q);
            all_set += (j % 2 ? -choose : choose) * std::pow(clear, keys);
            choose = choose * (d - j) / (j + 1);
        }
        rate += distinct[d] * all_set;
    }
    return rate;
}

} // namespace

double blocked_rate(double keys_per_block, std::uint32_t q) {
    assert(q >= 1 && q <= kMaxQ);
    if (!(keys_per_block > 0))
        return 0;
    // A block of 512 bits is full long before; the sum below would only take longer.
    if (keys_per_block > 1e5)
        return 1;

    // Poisson weights from the most likely count outwards, divided by their sum at the end: no factorials, no
    // underflow. Below 1e-24 of the greatest a term changes no digit of any rate from 1e-9 up.
    constexpr double kNegligible = 1e-24;
    const DistinctBits distinct = distinct_bits(q);
    const double mode = std::floor(keys_per_block);
    double weights = 0;
    double rate = 0;
    const auto count = [&](double keys, double weight) {
        weights += weight;
        rate += weight * std::pow(group_rate(keys, q, distinct), 4);
    };
    double weight = 1;
    for (double keys = mode; weight > kNegligible; weight *= keys_per_block / ++keys)
        count(keys, weight);
    weight = mode / keys_per_block;
    for (double keys = mode - 1; keys >= 0 && weight > kNegligible; weight *= keys-- / keys_per_block)
        count(keys, weight);
    return rate / weights;
}

double blocked_bits_per_key(double p, std::uint32_t q) {
    // More bits a key, lower rate: bisection. 512 bits a key put one key on a block, far below 1e-9.
    double low = 0.01;
    double high = 512;
    while (high - low > 1e-9 * high) {
        const double middle = (low + high) / 2;
        (blocked_rate(512 / middle, q) > p ? low : high) = middle;
    }
    return std::ceil(high * 1024) / 1024;
}

} // namespace shmbloom::geometry
