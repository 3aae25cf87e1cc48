/* Many hashes tested, or set, in one call, as fast as this processor can. The arithmetic is probe.h's and the answers
 * are equal to its bit for bit, whatever is chosen here. For library and daemon.
 *
 *   scalar.c   right everywhere; `classic` key by key
 *   classic.c  `classic` in stages, for two probes or more and filters that the cache does not hold
 *   avx2.h .c  `blocked`, four words at a time
 *   neon.c     the same on arm64
 *   choose.c   what this processor has
 *   set.c      sets the bits of many hashes; for the daemon only
 */
#ifndef SHMBLOOM_PROBES_H
#define SHMBLOOM_PROBES_H

#include <stdbool.h>
#include <stddef.h>

#include "shmbloom/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Twice as many lines are under way at most: more than that a core does not keep. */
#define SHMBLOOM__HASHES_AT_ONCE 64u

/* At most SHMBLOOM__HASHES_AT_ONCE. */
struct shmbloom__hashes {
    const uint64_t *hashes;
    size_t count;
};

/* Tests hashes; answers[i] becomes 0 or 1. Returns how many are 1. Meanwhile, as evenly as it can, it fetches the first
 * lines of those of `next`: of as many as it tests. Those that it tests should be on their way already. */
typedef size_t shmbloom__test_hashes(const uint64_t *words, const struct shmbloom_shape *shape,
                                     struct shmbloom__hashes tested, uint8_t *answers, struct shmbloom__hashes next);

enum shmbloom__instructions { SHMBLOOM__SCALAR, SHMBLOOM__AVX2, SHMBLOOM__NEON };

/* The best that this processor has. Not under thread sanitizer, which cannot know that a vector is loaded word by word:
 * there it is SCALAR. */
enum shmbloom__instructions shmbloom__best_instructions(void);

/* Bits that a core's own cache holds are not worth fetching ahead: the half of the smallest second level that servers
 * have. */
#define SHMBLOOM__NEAR_BYTES (1u << 20)
static inline bool shmbloom__is_near(const struct shmbloom_shape *shape) {
    return shmbloom_shape_bytes(shape) <= SHMBLOOM__NEAR_BYTES;
}

/* What tests hashes of this shape with these instructions, of which the processor must be capable. */
shmbloom__test_hashes *shmbloom__choose_test(const struct shmbloom_shape *shape,
                                             enum shmbloom__instructions instructions);

shmbloom__test_hashes shmbloom__test_scalar, shmbloom__test_staged; /* staged: k at least 2 */
#if defined(__x86_64__)
shmbloom__test_hashes shmbloom__test_avx2_2, shmbloom__test_avx2_3; /* by q */
#elif defined(__aarch64__)
shmbloom__test_hashes shmbloom__test_neon_2, shmbloom__test_neon_3;
#endif

/* Sets the bits of hashes; returns how many were missing. `alone`: nobody else sets bits there meanwhile. */
typedef uint64_t shmbloom__set_hashes(uint64_t *words, const struct shmbloom_shape *shape,
                                      struct shmbloom__hashes hashes, bool alone);
shmbloom__set_hashes *shmbloom__choose_set(enum shmbloom__instructions instructions);
shmbloom__set_hashes shmbloom__set_scalar;
#if defined(__x86_64__)
shmbloom__set_hashes shmbloom__set_bmi2;
#endif

static inline size_t shmbloom__fetched_count(struct shmbloom__hashes tested, struct shmbloom__hashes next) {
    return next.count < tested.count ? next.count : tested.count;
}

/* gcc takes a function that does nothing but prefetch for one that does nothing, and leaves out the calls that it has
 * not made part of the caller by then: functions that prefetch are always inlined. */
#define SHMBLOOM__FETCHING static inline __attribute__((always_inline))

/* The lines that a test of this hash reads first: the only one of a blocked filter, and the two of a classic one that
 * are enough for three of four absent keys. */
SHMBLOOM__FETCHING void shmbloom__fetch_first(const uint64_t *words, const struct shmbloom_shape *shape,
                                              uint64_t hash) {
    const uint64_t at = shmbloom_multiply_high(hash, shape->size);
    if (shape->layout == SHMBLOOM_LAYOUT_BLOCKED) {
        __builtin_prefetch(words + at * 8);
        return;
    }
    __builtin_prefetch(words + at / 64);
    __builtin_prefetch(words + shmbloom_multiply_high(shmbloom_next_probe(hash), shape->size) / 64);
}

SHMBLOOM__FETCHING void shmbloom__fetch_all(const uint64_t *words, const struct shmbloom_shape *shape,
                                            struct shmbloom__hashes next) {
    for (size_t i = 0; i < next.count; i++)
        shmbloom__fetch_first(words, shape, next.hashes[i]);
}

#ifdef __cplusplus
}
#endif

#endif
