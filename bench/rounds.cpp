#include "rounds.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include "stop.h"

namespace shmbloom::bench {

namespace {

constexpr long kSwitchesAllowed = 2;

struct Counters {
    long switches = 0;
    unsigned long long steal = 0; // ticks in which the host ran somebody else
};

Counters read_counters() {
    Counters counters;
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    counters.switches = usage.ru_nivcsw;
    if (std::FILE *file = std::fopen("/proc/stat", "re")) {
        if (std::fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &counters.steal) != 1)
            counters.steal = 0;
        std::fclose(file);
    }
    return counters;
}

void stay_on_this_core() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ::sched_setaffinity(0, sizeof one, &one); // refused: the spread will show it
}

// Time of this thread only: while the kernel runs another one, it stands still.
double cpu_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double measure(const Contestant &contestant) {
    const double begin = cpu_ns();
    contestant.run();
    return (cpu_ns() - begin) / static_cast<double>(contestant.operations);
}

std::vector<double> quiet_ones(const std::vector<double> &values, const std::vector<bool> &disturbed) {
    std::vector<double> quiet;
    for (std::size_t round = 0; round < values.size(); round++)
        if (!disturbed[round])
            quiet.push_back(values[round]);
    return quiet;
}

double percentile(const std::vector<double> &sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

} // namespace

Spread spread_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {percentile(values, 0.1), percentile(values, 0.5), percentile(values, 0.9)};
}

Spread ratio_of(const Contestant &a, const Contestant &b) {
    std::vector<double> ratios;
    for (std::size_t round = 0; round < a.ns.size(); round++)
        ratios.push_back(a.ns[round] / b.ns[round]);
    return spread_of(std::move(ratios));
}

Disturbance run_rounds(std::vector<Contestant> &contestants, unsigned rounds, std::uint64_t seed,
                       const std::function<void(unsigned round)> &prepare) {
    stay_on_this_core();
    std::mt19937_64 random{seed};
    std::vector<std::size_t> order(contestants.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<bool> disturbed;
    unsigned quiet = 0;
    for (unsigned round = 0; quiet < rounds && round < 2 * rounds; round++) {
        prepare(round);
        std::shuffle(order.begin(), order.end(), random);
        const Counters before = read_counters();
        for (const std::size_t i : order) {
            throw_if_stopped();
            contestants[i].ns.push_back(measure(contestants[i]));
        }
        const Counters after = read_counters();
        disturbed.push_back(after.steal != before.steal || after.switches - before.switches > kSwitchesAllowed);
        quiet += !disturbed.back();
    }
    Disturbance result{static_cast<unsigned>(disturbed.size()) - quiet, quiet < rounds};
    if (!result.kept)
        for (Contestant &contestant : contestants)
            contestant.ns = quiet_ones(contestant.ns, disturbed);
    return result;
}

} // namespace shmbloom::bench
