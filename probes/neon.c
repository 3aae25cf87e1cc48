/* Two pairs of words at once. What avx2.h says of vectors holds here too. */
#include "probes.h"

#if defined(__aarch64__)
#include <arm_neon.h>

/* Bits that the fields ask for, in the words they choose, and that are clear. */
static inline uint64x2_t missing(const uint64_t *block, uint32_t q, uint64x2_t field) {
    const uint64x2_t one = vdupq_n_u64(1);
    const uint64x2_t low6 = vdupq_n_u64(63);
    const uint64x2_t chosen = vtstq_u64(field, vdupq_n_u64(1ull << (6 * q)));
    const uint64x2_t word = vbslq_u64(chosen, vld1q_u64(block + 4), vld1q_u64(block));
    uint64x2_t mask = vshlq_u64(one, vreinterpretq_s64_u64(vandq_u64(field, low6)));
    mask = vorrq_u64(mask, vshlq_u64(one, vreinterpretq_s64_u64(vandq_u64(vshrq_n_u64(field, 6), low6))));
    if (q == 3)
        mask = vorrq_u64(mask, vshlq_u64(one, vreinterpretq_s64_u64(vandq_u64(vshrq_n_u64(field, 12), low6))));
    return vbicq_u64(mask, word);
}

static inline uint64x2_t fields(uint64_t of, int64_t first, int64_t second) {
    const int64x2_t right = vcombine_s64(vcreate_s64((uint64_t)-first), vcreate_s64((uint64_t)-second));
    return vshlq_u64(vdupq_n_u64(of), right);
}

static inline int test_block(const uint64_t *block, uint32_t q, uint64_t hash) {
    const uint64_t a = hash * 0x9E3779B97F4A7C15ull;
    const uint64_t b = q == 2 ? a : hash * 0xD6E8FEB86659FD93ull;
    const uint64x2_t low = q == 2 ? fields(a, 51, 38) : fields(a, 45, 26);
    const uint64x2_t high = q == 2 ? fields(b, 25, 12) : fields(b, 45, 26);
    const uint64x2_t all = vorrq_u64(missing(block, q, low), missing(block + 2, q, high));
    return (vgetq_lane_u64(all, 0) | vgetq_lane_u64(all, 1)) == 0;
}

static inline int test_one(const uint64_t *words, uint64_t blocks, uint32_t q, uint64_t hash) {
    return test_block(words + shmbloom_multiply_high(hash, blocks) * 8, q, hash);
}

static inline size_t test(const uint64_t *words, uint64_t blocks, uint32_t q, struct shmbloom__hashes tested,
                          uint8_t *answers, struct shmbloom__hashes next) {
    const size_t fetched = shmbloom__fetched_count(tested, next);
    size_t found_count = 0, i = 0;
    for (; i < fetched; i++) {
        __builtin_prefetch(words + shmbloom_multiply_high(next.hashes[i], blocks) * 8);
        found_count += answers[i] = (uint8_t)test_one(words, blocks, q, tested.hashes[i]);
    }
    for (; i < tested.count; i++)
        found_count += answers[i] = (uint8_t)test_one(words, blocks, q, tested.hashes[i]);
    return found_count;
}

size_t shmbloom__test_neon_2(const uint64_t *words, const struct shmbloom_shape *shape, struct shmbloom__hashes tested,
                             uint8_t *answers, struct shmbloom__hashes next) {
    return test(words, shape->size, 2, tested, answers, next);
}

size_t shmbloom__test_neon_3(const uint64_t *words, const struct shmbloom_shape *shape, struct shmbloom__hashes tested,
                             uint8_t *answers, struct shmbloom__hashes next) {
    return test(words, shape->size, 3, tested, answers, next);
}
#else
typedef int shmbloom__no_neon; /* a file is never empty */
#endif
