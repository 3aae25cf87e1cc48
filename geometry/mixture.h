// The rate of a `blocked` filter, exactly. Private to this folder.
//
// A blocked filter is many tiny filters of 512 bits, and some get more keys than others. The usual formula takes every
// block to be average, and so promises too much: by 1.2 times at p = 1e-2, by 3 times at 1e-4. Averaging over the
// Poisson spread of keys a block repairs that (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom
// Filters", 2007).
#pragma once

#include <cstdint>

namespace shmbloom::geometry {

// Rate when `keys_per_block` keys fall on a block on average. q: bits that a key sets in each of its four words.
double blocked_rate(double keys_per_block, std::uint32_t q);

} // namespace shmbloom::geometry
