// A worker that does nothing but look keys up: worker_lookups RUNTIME_DIR FILTER BATCH SECONDS START KEYS. BATCH 1 is
// shmbloom_contains, any other shmbloom_contains_many. START: when all workers begin, seconds of CLOCK_MONOTONIC. Keys
// are numbers below twice KEYS: half are there. Prints nanoseconds a key, by the clock and of CPU time. Used by
// process_bench.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "number_keys.h"
#include "shmbloom/shmbloom.h"

namespace {

constexpr std::size_t kKeys = std::size_t{1} << 19;

double now(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

} // namespace

int main(int argc, char **argv) {
    shmbloom_options options{};
    options.struct_size = sizeof options;
    shmbloom_filter *filter = nullptr;
    if (argc != 7 || (options.runtime_dir = argv[1], shmbloom_open(&filter, argv[2], &options)) < 0) {
        std::fputs("worker_lookups RUNTIME_DIR FILTER BATCH SECONDS START KEYS, of a filter that is there\n", stderr);
        return 3;
    }
    const std::size_t batch = std::strtoull(argv[3], nullptr, 10);
    const double start = std::strtod(argv[5], nullptr), end = start + std::strtod(argv[4], nullptr);
    const shmbloom::bench::NumberKeys numbers{kKeys, 2 * std::strtoull(argv[6], nullptr, 10),
                                              static_cast<std::uint64_t>(now(CLOCK_MONOTONIC) * 1e9)};
    std::vector<shmbloom_key> keys;
    for (const std::string_view text : numbers.keys())
        keys.push_back({text.data(), text.size()});
    std::vector<std::uint8_t> answers(batch);

    std::uint64_t asked = 0, unverified = 0;
    while (now(CLOCK_MONOTONIC) < start) {
    }
    const double began = now(CLOCK_MONOTONIC), cpu_began = now(CLOCK_PROCESS_CPUTIME_ID);
    double ended = began;
    for (std::size_t at = 0; ended < end; ended = now(CLOCK_MONOTONIC)) {
        for (std::size_t i = 0; i < 4096; i += batch, at += batch) { // rarely looks at the clock
            if (at + batch > kKeys)
                at = 0;
            if (batch == 1)
                answers[0] = static_cast<std::uint8_t>(shmbloom_contains(filter, keys[at].data, keys[at].size));
            else
                shmbloom_contains_many(filter, &keys[at], batch, answers.data());
            for (const std::uint8_t answer : answers)
                unverified += answer == SHMBLOOM_UNVERIFIED;
            asked += batch;
        }
    }
    const double cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
    std::printf("ns %.3f cpu_ns %.3f keys %llu\n", (ended - began) * 1e9 / static_cast<double>(asked),
                cpu * 1e9 / static_cast<double>(asked), static_cast<unsigned long long>(asked));
    shmbloom_close(filter);
    return unverified == 0 ? 0 : 1;
}
