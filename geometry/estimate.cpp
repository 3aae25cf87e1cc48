// From bits set back to keys and rates. With n keys a bit stays clear with probability e^(-n s), where s is the share
// of all bits that a key sets; so n = -ln(1 - fill) / s (Swamidass and Baldi 2007, for the classic filter).
#include <algorithm>
#include <cmath>

#include "geometry/geometry.h"
#include "geometry/mixture.h"

namespace shmbloom::geometry {

namespace {

double bit_count(const shmbloom_shape &shape) {
    return static_cast<double>(shape.size) * (shape.layout == SHMBLOOM_LAYOUT_BLOCKED ? 512 : 1);
}

// Classic: k of m. Blocked: the block, one in `size`; in it the word, one of two; in that the bit, by one of q throws.
double share_a_key(const shmbloom_shape &shape) {
    if (shape.layout == SHMBLOOM_LAYOUT_CLASSIC)
        return shape.probes / bit_count(shape);
    return (1 - std::pow(63.0 / 64, shape.probes)) / 2 / static_cast<double>(shape.size);
}

} // namespace

double expected_fpr(const shmbloom_shape &shape, double keys) {
    if (!(keys > 0))
        return 0;
    if (shape.layout == SHMBLOOM_LAYOUT_BLOCKED)
        return blocked_rate(keys / static_cast<double>(shape.size), shape.probes);
    const double fill = -std::expm1(-keys * share_a_key(shape));
    return std::pow(fill, shape.probes);
}

double estimated_keys(const shmbloom_shape &shape, std::uint64_t bits_set) {
    const double bits = bit_count(shape);
    // A full filter would say infinity: one bit is taken for clear.
    const double fill = std::min(static_cast<double>(bits_set), bits - 1) / bits;
    return -std::log1p(-fill) / share_a_key(shape);
}

double estimated_fpr(const shmbloom_shape &shape, std::uint64_t bits_set) {
    const double fill = std::min(1.0, static_cast<double>(bits_set) / bit_count(shape));
    if (fill >= 1)
        return 1;
    if (shape.layout == SHMBLOOM_LAYOUT_CLASSIC)
        return std::pow(fill, shape.probes);
    return expected_fpr(shape, estimated_keys(shape, bits_set));
}

} // namespace shmbloom::geometry
