// What is looked up: keys of 16 bytes, as many different ones as one likes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmbloom::bench {

constexpr std::size_t kKeyBytes = 16;

struct Key {
    std::uint64_t words[kKeyBytes / 8];
    bool operator==(const Key &) const = default;
};

// Two outputs of SplitMix64 (Steele, Lea, Flood 2014): different i, different keys.
inline Key make_key(std::uint64_t i) {
    Key key;
    for (std::uint64_t part = 0; part < 2; part++) {
        std::uint64_t x = (2 * i + part + 1) * 0x9E3779B97F4A7C15;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
        x = (x ^ x >> 27) * 0x94D049BB133111EB;
        key.words[part] = x ^ x >> 31;
    }
    return key;
}

} // namespace shmbloom::bench
