// Setting many keys with Boost.Bloom, beside bulk_floor's.
#pragma once

#include <cstdint>

namespace shmbloom::bench {

// Seconds of inserting so many random hashes, block by block as bulk_floor makes them, into a filter of its own at rate
// `fpr`, which one thread alone has: its bits are set by plain writes, not by atomic ones. Throws std::runtime_error
// when this was built without Boost.Bloom: see README.md.
double insert_with_boost(std::uint64_t keys, double fpr);

} // namespace shmbloom::bench
