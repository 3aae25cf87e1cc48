#include "probes.h"

#if defined(__x86_64__)
#include "avx2.h"

SHMBLOOM__TARGET_AVX2 static inline int test_one(const uint64_t *words, uint64_t blocks, uint32_t q, uint64_t hash) {
    return shmbloom__test_block_avx2(words + shmbloom_multiply_high(hash, blocks) * 8, q, hash);
}

SHMBLOOM__TARGET_AVX2 static inline size_t test(const uint64_t *words, uint64_t blocks, uint32_t q,
                                                struct shmbloom__hashes tested, uint8_t *answers,
                                                struct shmbloom__hashes next) {
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

SHMBLOOM__TARGET_AVX2 size_t shmbloom__test_avx2_2(const uint64_t *words, const struct shmbloom_shape *shape,
                                                   struct shmbloom__hashes tested, uint8_t *answers,
                                                   struct shmbloom__hashes next) {
    return test(words, shape->size, 2, tested, answers, next);
}

SHMBLOOM__TARGET_AVX2 size_t shmbloom__test_avx2_3(const uint64_t *words, const struct shmbloom_shape *shape,
                                                   struct shmbloom__hashes tested, uint8_t *answers,
                                                   struct shmbloom__hashes next) {
    return test(words, shape->size, 3, tested, answers, next);
}
#else
typedef int shmbloom__no_avx2; /* a file is never empty */
#endif
