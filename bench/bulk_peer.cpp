#include "bulk_peer.h"

#include <chrono>
#include <stdexcept>
#include <vector>

#if SHMBLOOM_BENCH_BOOST_BLOOM
#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/filter.hpp>

#include "shmbloom/probe.h"
#endif

namespace shmbloom::bench {

#if SHMBLOOM_BENCH_BOOST_BLOOM

namespace {

struct AlreadyHashed {
    using is_avalanching = void;
    std::size_t operator()(std::uint64_t hash) const { return hash; }
};

using Filter = boost::bloom::filter<std::uint64_t, 1, boost::bloom::fast_multiblock32<8>, 0, AlreadyHashed>;

} // namespace

double insert_with_boost(std::uint64_t keys, double fpr) {
    Filter filter{keys, fpr}; // fills its array with zeros, so that it is mapped in
    std::vector<std::uint64_t> hashes(16384);
    std::uint64_t seed = 1;
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t done = 0; done < keys; done += hashes.size()) {
        for (std::uint64_t &hash : hashes)
            hash = seed = shmbloom_next_probe(seed);
        filter.insert(hashes.begin(), hashes.end());
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

#else

double insert_with_boost(std::uint64_t, double) {
    throw std::runtime_error("built without Boost.Bloom; bench/README.md says how to build with it");
}

#endif

} // namespace shmbloom::bench
