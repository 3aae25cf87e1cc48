// Runs contestants in turns, so that what disturbs the machine disturbs all of them alike. A round runs each once, in a
// new random order. What is compared are medians over rounds, with the range from the 10th to the 90th percentile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace shmbloom::bench {

struct Contestant {
    std::string name;
    std::function<void()> run; // one measurement; also checks what it got
    std::uint64_t operations;  // in one measurement
    std::vector<double> ns{};  // nanoseconds of CPU time an operation, one a round
};

struct Spread {
    double low, median, high; // 10th, 50th, 90th percentile
};

Spread spread_of(std::vector<double> values);

// Of the two contestants' ratios, round by round: what both suffered alike cancels out.
Spread ratio_of(const Contestant &a, const Contestant &b);

struct Disturbance {
    unsigned rounds = 0; // during which the host took the core away, or the kernel more than twice
    bool kept = false;   // they were too many to leave out
};

// Calls `prepare` before each round. Rounds that were disturbed are left out and run again, up to as many again as were
// asked for; if still too few are undisturbed all are kept. Stays on the core it runs on.
Disturbance run_rounds(std::vector<Contestant> &contestants, unsigned rounds, std::uint64_t seed,
                       const std::function<void(unsigned round)> &prepare);

} // namespace shmbloom::bench
