#include "probes.h"

#if defined(__x86_64__)
#include "avx2.h"

SHMBLOOM__TARGET_AVX2 static inline size_t test(const uint64_t *words, uint64_t blocks, uint32_t q,
                                                const uint64_t *hashes, size_t count, uint8_t *answers) {
    size_t found_count = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t hash = hashes[i];
        const int found = shmbloom__test_block_avx2(words + shmbloom_multiply_high(hash, blocks) * 8, q, hash);
        answers[i] = (uint8_t)found;
        found_count += (unsigned)found;
    }
    return found_count;
}

SHMBLOOM__TARGET_AVX2 size_t shmbloom__test_avx2_2(const uint64_t *words, const struct shmbloom_shape *shape,
                                                   const uint64_t *hashes, size_t count, uint8_t *answers) {
    return test(words, shape->size, 2, hashes, count, answers);
}

SHMBLOOM__TARGET_AVX2 size_t shmbloom__test_avx2_3(const uint64_t *words, const struct shmbloom_shape *shape,
                                                   const uint64_t *hashes, size_t count, uint8_t *answers) {
    return test(words, shape->size, 3, hashes, count, answers);
}
#else
typedef int shmbloom__no_avx2; /* a file is never empty */
#endif
