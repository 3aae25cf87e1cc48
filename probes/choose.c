/* What this processor has, asked once by whoever opens; no ifunc, so that any loader and any language will do. */
#include "probes.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__SANITIZE_THREAD__)
#define UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#endif
#endif

#if defined(__x86_64__) && !defined(UNDER_THREAD_SANITIZER)
/* Whether the system keeps the upper halves of vectors when it switches threads. */
static bool are_vectors_kept(void) {
    uint32_t low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
}

/* __builtin_cpu_supports brings 5 KiB of names of processors along. */
static bool has_avx2(void) {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0 || (c & bit_AVX) == 0 || !are_vectors_kept())
        return false;
    return (c & bit_POPCNT) != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) != 0 &&
           (b & bit_BMI2) != 0;
}

/* Asked once: in a virtual machine each cpuid is a call of the host. */
static enum shmbloom__instructions ask_once(void) {
    static int known; /* 0: not asked, 1: SCALAR, 2: AVX2 */
    int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (answer == 0) {
        answer = has_avx2() ? 2 : 1;
        __atomic_store_n(&known, answer, __ATOMIC_RELAXED);
    }
    return answer == 2 ? SHMBLOOM__AVX2 : SHMBLOOM__SCALAR;
}
#endif

enum shmbloom__instructions shmbloom__best_instructions(void) {
#if defined(UNDER_THREAD_SANITIZER)
    return SHMBLOOM__SCALAR;
#elif defined(__x86_64__)
    return ask_once();
#elif defined(__aarch64__)
    return SHMBLOOM__NEON; /* every arm64 has it */
#else
    return SHMBLOOM__SCALAR;
#endif
}

shmbloom__test_hashes *shmbloom__choose_test(const struct shmbloom_shape *shape,
                                             enum shmbloom__instructions instructions) {
    if (shape->layout != SHMBLOOM_LAYOUT_BLOCKED)
        return shmbloom__is_near(shape) || shape->probes < 2 ? shmbloom__test_scalar : shmbloom__test_staged;
#if defined(__x86_64__)
    if (instructions == SHMBLOOM__AVX2)
        return shape->probes == 2 ? shmbloom__test_avx2_2 : shmbloom__test_avx2_3;
#elif defined(__aarch64__)
    if (instructions == SHMBLOOM__NEON)
        return shape->probes == 2 ? shmbloom__test_neon_2 : shmbloom__test_neon_3;
#endif
    (void)instructions;
    return shmbloom__test_scalar;
}
