/* A block's four words at once. A vector is loaded as its words are, each whole: bits are only ever set, so that a word
 * which is set meanwhile is seen as before or after, as by a relaxed load.
 *
 * Only for functions that are compiled with SHMBLOOM__TARGET_AVX2 and called where the processor has it. */
#ifndef SHMBLOOM_PROBES_AVX2_H
#define SHMBLOOM_PROBES_AVX2_H

#include <immintrin.h>

#include "shmbloom/probe.h"

#define SHMBLOOM__TARGET_AVX2 __attribute__((target("avx2,bmi2")))

/* As shmbloom_test_block; q is a constant where this is called. */
SHMBLOOM__TARGET_AVX2 static inline int shmbloom__test_block_avx2(const uint64_t *block, uint32_t q, uint64_t hash) {
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i low6 = _mm256_set1_epi64x(63);
    const __m256i a = _mm256_set1_epi64x((long long)(hash * 0x9E3779B97F4A7C15ull));
    __m256i field;
    if (q == 2)
        field = _mm256_srlv_epi64(a, _mm256_setr_epi64x(51, 38, 25, 12));
    else {
        const __m256i b = _mm256_set1_epi64x((long long)(hash * 0xD6E8FEB86659FD93ull));
        field = _mm256_srlv_epi64(_mm256_blend_epi32(a, b, 0xF0), _mm256_setr_epi64x(45, 26, 45, 26));
    }
    __m256i mask = _mm256_or_si256(_mm256_sllv_epi64(one, _mm256_and_si256(field, low6)),
                                   _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srli_epi64(field, 6), low6)));
    if (q == 3)
        mask = _mm256_or_si256(mask, _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srli_epi64(field, 12), low6)));
    const __m256d lower = _mm256_loadu_pd((const double *)(const void *)block);
    const __m256d upper = _mm256_loadu_pd((const double *)(const void *)(block + 4));
    /* Where bit 6q of the field, moved to the sign, is set: the upper four. */
    const __m256d choice = _mm256_castsi256_pd(_mm256_slli_epi64(field, 63 - 6 * (int)q));
    return _mm256_testc_si256(_mm256_castpd_si256(_mm256_blendv_pd(lower, upper, choice)), mask);
}

#endif
