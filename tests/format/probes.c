/* Every way to test hashes against probe.h's arithmetic: the frozen vectors, then millions of random hashes over random
 * fills. Prints what it compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe_vectors.h"
#include "probes/probes.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static unsigned long long compared, found;
static uint64_t state = 0x0123456789ABCDEFull;

static uint64_t next_random(void) {
    uint64_t x = state += 0x9E3779B97F4A7C15ull; /* SplitMix64 */
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

static void fail(const char *what, uint64_t hash) {
    printf("%s: differs for hash %016llx\n", what, (unsigned long long)hash);
    exit(1);
}

static void compare(const char *what, shmbloom__test_hashes *test, const uint64_t *words,
                    const struct shmbloom_shape *shape, const uint64_t *hashes, size_t count) {
    uint8_t answers[SHMBLOOM__HASHES_AT_ONCE + 1];
    size_t expected_count = 0;
    memset(answers, 77, sizeof answers);
    /* What is fetched meanwhile must not matter: others, as many, more, fewer or none. */
    const uint64_t others[] = {next_random(), next_random(), next_random(), next_random()};
    const struct shmbloom__hashes tested = {hashes, count},
                                  next = {count % 2 ? others : hashes, count % 2 ? count % 4 : count};
    const size_t found_count = test(words, shape, tested, answers, next);
    for (size_t i = 0; i < count; i++) {
        const int expected = shmbloom_test_bits(words, shape, hashes[i]);
        expected_count += (unsigned)expected;
        if (answers[i] != expected)
            fail(what, hashes[i]);
    }
    if (found_count != expected_count || answers[count] != 77)
        fail(what, count);
    compared += count;
    found += found_count;
}

static void compare_all(const uint64_t *words, const struct shmbloom_shape *shape, const uint64_t *hashes,
                        size_t count) {
    compare("scalar", shmbloom__test_scalar, words, shape, hashes, count);
    if (shape->layout == SHMBLOOM_LAYOUT_CLASSIC) {
        if (shape->probes >= 2)
            compare("staged", shmbloom__test_staged, words, shape, hashes, count);
        return;
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        compare("AVX2", shape->probes == 2 ? shmbloom__test_avx2_2 : shmbloom__test_avx2_3, words, shape, hashes,
                count);
#elif defined(__aarch64__)
    compare("NEON", shape->probes == 2 ? shmbloom__test_neon_2 : shmbloom__test_neon_3, words, shape, hashes, count);
#endif
}

static uint64_t *make_words(const struct shmbloom_shape *shape) {
    const size_t bytes = ((size_t)shmbloom_shape_bytes(shape) + 63) / 64 * 64;
    uint64_t *words = (uint64_t *)aligned_alloc(64, bytes);
    if (words == NULL)
        exit(2);
    memset(words, 0, bytes);
    return words;
}

/* Each word has a share of its bits set: 0 none, 1 a quarter, 2 a half, 3 three quarters, 4 most, 5 all. */
static void fill(uint64_t *words, size_t count, int share) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t a = next_random(), b = next_random(), c = next_random(), d = next_random();
        const uint64_t by_share[] = {0, a & b, a, a | b, a | b | c | d, UINT64_MAX};
        words[i] = by_share[share];
    }
}

static void compare_random(const struct shmbloom_shape *shape, size_t batches) {
    uint64_t *words = make_words(shape);
    uint64_t hashes[SHMBLOOM__HASHES_AT_ONCE];
    for (int share = 0; share <= 5; share++) {
        fill(words, (size_t)shmbloom_shape_bytes(shape) / 8, share);
        for (size_t batch = 0; batch < batches; batch++) {
            const size_t count =
                batch % 4 == 0 ? 1 + next_random() % SHMBLOOM__HASHES_AT_ONCE : SHMBLOOM__HASHES_AT_ONCE;
            for (size_t i = 0; i < count; i++)
                hashes[i] = next_random();
            /* Some that are there, wherever they come. */
            for (size_t i = next_random() % 8; share < 5 && batch < batches / 2 && i < count; i += 8)
                shmbloom_set_bits(words, shape, hashes[i]);
            compare_all(words, shape, hashes, count);
        }
    }
    free(words);
}

/* A bit less than a hash has, wherever it is, must be missed. */
static void compare_vector(const struct shmbloom_shape *shape, uint64_t hash) {
    if (shmbloom_shape_bytes(shape) > 1u << 20)
        return;
    uint64_t *words = make_words(shape);
    shmbloom_set_bits(words, shape, hash);
    compare_all(words, shape, &hash, 1);
    for (uint64_t i = 0; i < shmbloom_shape_bytes(shape) / 8; i++)
        for (uint64_t left = words[i]; left != 0; left &= left - 1) {
            words[i] ^= left & -left;
            compare_all(words, shape, &hash, 1);
            words[i] ^= left & -left;
        }
    free(words);
}

static void compare_set(const char *what, shmbloom__set_hashes *set, bool alone, const struct shmbloom_shape *shape,
                        const uint64_t *words, const uint64_t *hashes, size_t count) {
    const size_t bytes = (size_t)shmbloom_shape_bytes(shape);
    uint64_t *expected = make_words(shape), *got = make_words(shape);
    memcpy(expected, words, bytes);
    memcpy(got, words, bytes);
    uint64_t expected_fresh = 0;
    for (size_t i = 0; i < count; i++)
        expected_fresh += shmbloom_set_bits(expected, shape, hashes[i]);
    if (set(got, shape, (struct shmbloom__hashes){hashes, count}, alone) != expected_fresh ||
        memcmp(got, expected, bytes) != 0)
        fail(what, count);
    compared += count;
    free(expected);
    free(got);
}

/* Every way to set them, too; as many as come in one call, and a few. */
static void compare_sets(const struct shmbloom_shape *shape) {
    enum { MOST = 3000 };
    static uint64_t hashes[MOST];
    uint64_t *words = make_words(shape);
    for (int share = 0; share <= 5; share++)
        for (size_t count = 0; count <= MOST; count = count * 5 + 1) {
            fill(words, (size_t)shmbloom_shape_bytes(shape) / 8, share);
            for (size_t i = 0; i < count; i++)
                hashes[i] = i % 7 == 3 ? hashes[i / 2] : next_random(); /* some twice */
            for (int alone = 0; alone <= 1; alone++) {
                compare_set("set", shmbloom__set_scalar, alone, shape, words, hashes, count);
#if defined(__x86_64__)
                if (shmbloom__best_instructions() == SHMBLOOM__AVX2)
                    compare_set("set with BMI2", shmbloom__set_bmi2, alone, shape, words, hashes, count);
#endif
            }
        }
    free(words);
}

static void check_choice(void) {
    const struct shmbloom_shape blocked = {SHMBLOOM_LAYOUT_BLOCKED, 2, 1u << 24},
                                classic = {SHMBLOOM_LAYOUT_CLASSIC, 7, 1u << 30},
                                one_probe = {SHMBLOOM_LAYOUT_CLASSIC, 1, 1u << 30},
                                small = {SHMBLOOM_LAYOUT_CLASSIC, 7, 4096};
    if (shmbloom__choose_test(&blocked, SHMBLOOM__SCALAR) != shmbloom__test_scalar ||
        shmbloom__choose_test(&classic, SHMBLOOM__SCALAR) != shmbloom__test_staged ||
        shmbloom__choose_test(&one_probe, SHMBLOOM__SCALAR) != shmbloom__test_scalar ||
        shmbloom__choose_test(&small, shmbloom__best_instructions()) != shmbloom__test_scalar ||
        (shmbloom__best_instructions() != SHMBLOOM__SCALAR) !=
            (shmbloom__choose_test(&blocked, shmbloom__best_instructions()) != shmbloom__test_scalar))
        fail("choice", 0);
}

int main(void) {
    check_choice();
    for (size_t row = 0; row < COUNT(classic_vectors); row++)
        compare_vector(&classic_vectors[row].shape, classic_vectors[row].hash);
    for (size_t row = 0; row < COUNT(blocked_vectors); row++)
        compare_vector(&blocked_vectors[row].shape, blocked_vectors[row].hash);
    for (uint32_t q = 2; q <= 3; q++)
        for (uint64_t blocks = 1; blocks <= 10000; blocks *= 100)
            compare_random(&(struct shmbloom_shape){SHMBLOOM_LAYOUT_BLOCKED, q, blocks}, 2000);
    for (uint32_t q = 2; q <= 3; q++)
        compare_sets(&(struct shmbloom_shape){SHMBLOOM_LAYOUT_BLOCKED, q, 500});
    for (uint32_t k = 1; k <= 20; k += 3)
        compare_sets(&(struct shmbloom_shape){SHMBLOOM_LAYOUT_CLASSIC, k, 30011});
    for (uint32_t k = 1; k <= 30; k++)
        compare_random(&(struct shmbloom_shape){SHMBLOOM_LAYOUT_CLASSIC, k, 9586 + 64 * (uint64_t)k}, 200);
    if (found == 0 || found == compared)
        fail("nothing to compare", 0);
    printf("%llu answers compared, %llu found; this processor: %d\n", compared, found,
           (int)shmbloom__best_instructions());
    return 0;
}
