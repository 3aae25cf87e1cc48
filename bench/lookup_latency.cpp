// How long lookups of one process take while something else goes on: lookup_latency RUNTIME_DIR SECONDS FILTER...
// prints for each filter the 50th, 99th and 99.9th percentile of 16 lookups that follow each other, in nanoseconds a
// lookup; of several filters in turn, so that what disturbs one disturbs the other. Used by durability_bench and
// rebuild_bench.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "shmbloom/shmbloom.h"

namespace {

constexpr unsigned kTogether = 16;

std::uint64_t now_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

double percentile(std::vector<std::uint32_t> &times, double share) {
    const auto nth = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
    std::nth_element(times.begin(), nth, times.end());
    return static_cast<double>(*nth) / kTogether;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 4) {
        std::fputs("lookup_latency RUNTIME_DIR SECONDS FILTER...\n", stderr);
        return 3;
    }
    shmbloom_options options{};
    options.struct_size = sizeof options;
    options.runtime_dir = argv[1];
    struct Measured {
        shmbloom_filter *filter = nullptr;
        std::vector<std::uint32_t> times{};
    };
    std::vector<Measured> all(static_cast<std::size_t>(argc - 3));
    for (std::size_t i = 0; i < all.size(); i++) {
        if (shmbloom_open(&all[i].filter, argv[i + 3], &options) < 0) {
            std::fprintf(stderr, "lookup_latency: filter '%s' is not there\n", argv[i + 3]);
            return 3;
        }
        all[i].times.reserve((std::size_t{1} << 26) / all.size());
    }
    const std::uint64_t end = now_ns() + std::strtoull(argv[2], nullptr, 10) * 1'000'000'000u;
    std::uint64_t key = 0x9E3779B97F4A7C15, unverified = 0;
    for (std::uint64_t before = now_ns(); before < end && all[0].times.size() < all[0].times.capacity();)
        for (Measured &one : all) {
            for (unsigned i = 0; i < kTogether; i++) {
                key = key * 0xD1342543DE82EF95 + 1;
                unverified += shmbloom_contains(one.filter, &key, sizeof key) == SHMBLOOM_UNVERIFIED;
            }
            const std::uint64_t after = now_ns();
            one.times.push_back(static_cast<std::uint32_t>(after - before));
            before = after;
        }
    for (Measured &one : all) {
        std::printf("p50 %.1f p99 %.1f p99.9 %.1f\n", percentile(one.times, 0.5), percentile(one.times, 0.99),
                    percentile(one.times, 0.999));
        shmbloom_close(one.filter);
    }
    return unverified == 0 ? 0 : 1;
}
