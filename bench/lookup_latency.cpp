// How long lookups of one process take while something else goes on: lookup_latency RUNTIME_DIR FILTER SECONDS prints the
// 50th, 99th and 99.9th percentile of 16 lookups that follow each other, in nanoseconds a lookup. Used by durability_bench.
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
    shmbloom_options options{};
    options.struct_size = sizeof options;
    shmbloom_filter *filter = nullptr;
    if (argc != 4 || (options.runtime_dir = argv[1], shmbloom_open(&filter, argv[2], &options)) < 0) {
        std::fputs("lookup_latency RUNTIME_DIR FILTER SECONDS, of a filter that is there\n", stderr);
        return 3;
    }
    std::vector<std::uint32_t> times;
    times.reserve(std::size_t{1} << 26);
    const std::uint64_t end = now_ns() + std::strtoull(argv[3], nullptr, 10) * 1'000'000'000u;
    std::uint64_t key = 0x9E3779B97F4A7C15, unverified = 0;
    for (std::uint64_t before = now_ns(); before < end && times.size() < times.capacity();) {
        for (unsigned i = 0; i < kTogether; i++) {
            key = key * 0xD1342543DE82EF95 + 1;
            unverified += shmbloom_contains(filter, &key, sizeof key) == SHMBLOOM_UNVERIFIED;
        }
        const std::uint64_t after = now_ns();
        times.push_back(static_cast<std::uint32_t>(after - before));
        before = after;
    }
    std::printf("p50 %.1f p99 %.1f p99.9 %.1f lookups %zu unverified %llu\n", percentile(times, 0.5),
                percentile(times, 0.99), percentile(times, 0.999), times.size() * kTogether,
                static_cast<unsigned long long>(unverified));
    shmbloom_close(filter);
    return unverified == 0 ? 0 : 1;
}
