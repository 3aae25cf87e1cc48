#include "geometry/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace shmbloom::geometry {

namespace {

constexpr std::uint64_t kBlockBits = 512;
constexpr std::uint64_t kPageBytes = 4096;
// Two bits a word need fewer bits a key above this rate, three below (1e-3: 15.82 against 16.14; 1e-4: 23.90
// against 22.56).
constexpr double kThreeBitsBelow = 5e-4;
// Below this many keys the rates of single `blocked` filters scatter by more than a tenth, and they fit the cache
// anyway.
constexpr std::uint64_t kBlockedFromKeys = 10'000;
// What one cache line a lookup instead of k is worth in memory.
constexpr double kBlockedMaxCost = 1.20;
// Two keys with the same 64-bit hash cannot be told apart: n 2^-64 of the rate is out of reach, so p stays well above.
constexpr double kHashCollisionMargin = 10.0;

// m = -n ln p / (ln 2)^2 and k = m/n ln 2 (Bloom 1970). k is of the m that p needs; the padding of tiny filters only
// lowers their rate.
shmbloom_shape classic_shape(std::uint64_t n, double p) {
    const double keys = static_cast<double>(n);
    const double needed = std::ceil(-keys * std::log(p) / (std::numbers::ln2 * std::numbers::ln2));
    const double probes = std::round(needed / keys * std::numbers::ln2);
    return {SHMBLOOM_LAYOUT_CLASSIC,
            static_cast<std::uint32_t>(std::clamp(probes, 1.0, static_cast<double>(SHMBLOOM_PROBES_MAX))),
            std::max(kClassicBitsMin, static_cast<std::uint64_t>(needed))};
}

shmbloom_shape blocked_shape(std::uint64_t n, double p) {
    const std::uint32_t q = p >= kThreeBitsBelow ? 2 : 3;
    const double bits = blocked_bits_per_key(p, q) * static_cast<double>(n);
    return {SHMBLOOM_LAYOUT_BLOCKED, q, static_cast<std::uint64_t>(std::ceil(bits / kBlockBits))};
}

// What is out of range, as one line; empty when nothing is.
std::string range_error(std::uint64_t n, double p, LayoutChoice choice) {
    char line[160] = "";
    const double collisions = kHashCollisionMargin * std::ldexp(static_cast<double>(n), -64);
    if (n < 1 || n > kCapacityMax)
        std::snprintf(line, sizeof line, "capacity %llu is out of range: allowed is 1 to %llu (2^40)",
                      static_cast<unsigned long long>(n), static_cast<unsigned long long>(kCapacityMax));
    else if (!(p >= kFprMin && p <= kFprMax))
        std::snprintf(line, sizeof line, "false-positive rate %g is out of range: allowed is %g to %g", p, kFprMin,
                      kFprMax);
    else if (p < collisions)
        std::snprintf(
            line, sizeof line,
            "false-positive rate %g is too low for capacity %llu: allowed is %g or more, for hashes have 64 bits", p,
            static_cast<unsigned long long>(n), collisions);
    else if (choice == LayoutChoice::blocked && p < kBlockedFprMin)
        std::snprintf(line, sizeof line,
                      "false-positive rate %g is too low for layout blocked: allowed is %g or more, or layout classic",
                      p, kBlockedFprMin);
    return line;
}

shmbloom_shape choose(std::uint64_t n, double p, LayoutChoice choice) {
    const shmbloom_shape classic = classic_shape(n, p);
    if (choice == LayoutChoice::classic)
        return classic;
    if (choice == LayoutChoice::automatic && (n < kBlockedFromKeys || p < kBlockedFprMin))
        return classic;
    const shmbloom_shape blocked = blocked_shape(n, p);
    const bool cheap =
        static_cast<double>(blocked.size * kBlockBits) <= kBlockedMaxCost * static_cast<double>(classic.size);
    return choice == LayoutChoice::blocked || cheap ? blocked : classic;
}

} // namespace

std::optional<LayoutChoice> parse_layout(std::string_view text) {
    if (text == "auto")
        return LayoutChoice::automatic;
    if (text == "classic")
        return LayoutChoice::classic;
    if (text == "blocked")
        return LayoutChoice::blocked;
    return std::nullopt;
}

std::variant<Geometry, std::string> plan(std::uint64_t n, double p, LayoutChoice choice) {
    if (std::string error = range_error(n, p, choice); !error.empty())
        return error;
    return place(choose(n, p, choice));
}

Geometry place(const shmbloom_shape &shape) {
    const std::uint64_t bits_bytes = shmbloom_shape_bytes(&shape);
    const std::uint64_t bits_offset =
        bits_bytes >= SHMBLOOM_HUGE_FROM_BYTES ? SHMBLOOM_HUGE_PAGE_BYTES : SHMBLOOM_SEGMENT_HEADER_BYTES;
    const std::uint64_t pages = (bits_offset + bits_bytes + kPageBytes - 1) / kPageBytes;
    return {shape, bits_offset, bits_bytes, pages * kPageBytes};
}

} // namespace shmbloom::geometry
