/* Lookups with AVX2: gates, hash and test in one function, since each instruction less lets a core have more lookups
 * wait for memory at a time. */
#include "short.h"

#if defined(__x86_64__)
#include "probes/avx2.h"

SHMBLOOM__TARGET_AVX2 static inline int test(const shmbloom_filter *f, uint64_t hash) {
    const uint64_t *block = f->words + shmbloom_multiply_high(hash, f->shape.size) * 8;
    return f->shape.probes == 2 ? shmbloom__test_block_avx2(block, 2, hash) : shmbloom__test_block_avx2(block, 3, hash);
}

SHMBLOOM__TARGET_AVX2 static __attribute__((noinline)) int look_up_longer(shmbloom_filter *f, const void *key,
                                                                          size_t len) {
    return shmbloom__count(f, test(f, shmbloom__hash_plain(key, len, f->hashing.seed)));
}

SHMBLOOM__TARGET_AVX2 int shmbloom__look_up_avx2(shmbloom_filter *f, const void *key, size_t len) {
    return shmbloom__look_up_short(f, key, len, test, look_up_longer);
}

SHMBLOOM__TARGET_AVX2 int shmbloom__look_up_number_avx2(shmbloom_filter *f, uint64_t key) {
    return shmbloom__look_up_short_number(f, key, test);
}
#else
typedef int shmbloom__no_lookup_avx2; /* a file is never empty */
#endif
