// From what was asked for, capacity n and rate p, to the shape of a filter, and back from bits set to estimates.
// Pure functions of their arguments; thread-safe. Used by the daemon, the tool and the tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "shmbloom/probe.h"

namespace shmbloom::geometry {

inline constexpr std::uint64_t kCapacityMax = std::uint64_t{1} << 40;
inline constexpr double kFprMin = 1e-9;
inline constexpr double kFprMax = 0.5;
inline constexpr double kBlockedFprMin = 1e-6;
inline constexpr std::uint64_t kClassicBitsMin = 4096;

enum class LayoutChoice { automatic, classic, blocked };

// "auto", "classic", "blocked"; nullopt for anything else.
std::optional<LayoutChoice> parse_layout(std::string_view text);

struct Geometry {
    shmbloom_shape shape;
    std::uint64_t bits_offset;   // 4096, or 2 MiB from SHMBLOOM_HUGE_FROM_BYTES of bits on
    std::uint64_t bits_bytes;    // whole 64-bit words
    std::uint64_t segment_bytes; // header, bits, rounded up to 4096
};

// The shape for n keys at rate p, or one line that says what is out of range and what is allowed.
// n: 1 to 2^40. p: 1e-9 to 0.5 and at least 10 n 2^-64 (blocked: at least 1e-6).
std::variant<Geometry, std::string> plan(std::uint64_t n, double p, LayoutChoice choice);

// Offsets and sizes for a shape. The one place that knows where bits begin.
Geometry place(const shmbloom_shape &shape);

// Bits a key that `blocked` needs to hold p with q bits in each of four words: exact Poisson mixture, rounded up to 1/1024.
double blocked_bits_per_key(double p, std::uint32_t q);

// Rate of false positives of `shape` holding `keys` keys: classic (fill)^k at expected fill, blocked the exact mixture.
double expected_fpr(const shmbloom_shape &shape, double keys);

// Distinct keys that explain `bits_set` bits of `shape`; at a full filter the largest finite estimate.
double estimated_keys(const shmbloom_shape &shape, std::uint64_t bits_set);

// Rate now, from the bits that are set.
double estimated_fpr(const shmbloom_shape &shape, std::uint64_t bits_set);

} // namespace shmbloom::geometry
