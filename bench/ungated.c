#include "ungated.h"

#include "handle.h"

/* From here on, so that short.h is compiled without its look at the gates. */
#define shmbloom__is_live(f) true
#include "short.h"

#if defined(__x86_64__)
#include "probes/avx2.h"

SHMBLOOM__TARGET_AVX2 static inline int test(const shmbloom_filter *f, uint64_t hash) {
    const uint64_t *block = f->words + shmbloom_multiply_high(hash, f->shape.size) * 8;
    return f->shape.probes == 2 ? shmbloom__test_block_avx2(block, 2, hash) : shmbloom__test_block_avx2(block, 3, hash);
}

SHMBLOOM__TARGET_AVX2 static int look_up(shmbloom_filter *f, const void *key, size_t len) {
    return shmbloom__look_up_short(f, key, len, test, shmbloom__look_up);
}

bool shmbloom_bench_leave_out_gates(shmbloom_filter *f) {
    if (f->look_up != shmbloom__look_up_avx2)
        return false;
    f->look_up = look_up;
    return true;
}
#else
bool shmbloom_bench_leave_out_gates(shmbloom_filter *f) {
    (void)f;
    return false;
}
#endif
