// A filter in private memory, for tests of the arithmetic.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "geometry/geometry.h"
#include "shmbloom/key.h"
#include "shmbloom/probe.h"

namespace shmbloom {

class Filter {
  public:
    explicit Filter(const shmbloom_shape &shape) : shape_{shape}, words_(geometry::place(shape).bits_bytes / 8) {}

    void add(std::uint64_t hash) { shmbloom_set_bits(words_.data(), &shape_, hash); }
    bool contains(std::uint64_t hash) const { return shmbloom_test_bits(words_.data(), &shape_, hash) == 1; }

    std::uint64_t bits_set() const {
        std::uint64_t bits = 0;
        for (const std::uint64_t word : words_)
            bits += static_cast<std::uint64_t>(std::popcount(word));
        return bits;
    }

  private:
    shmbloom_shape shape_;
    std::vector<std::uint64_t> words_;
};

// Hash of the number `i` as a key; different numbers are different keys.
inline std::uint64_t hash_of(std::uint64_t i) {
    return shmbloom_hash_number(i, 0x0123456789ABCDEF);
}

inline shmbloom_shape planned(std::uint64_t n, double p, geometry::LayoutChoice choice) {
    return std::get<geometry::Geometry>(geometry::plan(n, p, choice)).shape;
}

} // namespace shmbloom
