// The words of a segment that a lookup of one hash reads, with what they hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filter.h"

namespace shmbloom::ctl {

struct ProbedWord {
    std::uint64_t index = 0; // of the 64-bit word, from the first of the bits
    std::uint64_t mask = 0;  // the bits that the hash has in it
    std::uint64_t value = 0;

    std::uint64_t missing() const { return mask & ~value; }
};

struct Probed {
    shmbloom_shape shape{};
    std::uint64_t block = 0;         // blocked only
    std::vector<std::uint64_t> bits; // classic only: in the order of the probes
    std::vector<ProbedWord> words;
};

// Both gates, the shape and the words as this handle sees them now.
struct Seen {
    std::uint64_t control_gate = 0, segment_gate = 0; // 0: none
    bool has_segment = false;
    Probed probed; // when there is a segment
};
Seen look_at_bits(const shmbloom_filter *f, std::uint64_t hash);

} // namespace shmbloom::ctl
