/* The frozen vectors without any framework, so that the same source can be built as C11 and as C++20, by gcc and by
 * clang (see compile_alone.sh). Prints the first difference and ends with 1, else prints how many it checked. */
#include <stdio.h>
#include <stdlib.h>

#include "golden_header.h"
#include "hash_vectors.h"
#include "probe_vectors.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static unsigned long checked;

static void check(int holds, const char *what, size_t row) {
    if (!holds) {
        printf("%s, row %zu: differs\n", what, row);
        exit(1);
    }
    checked++;
}

static void check_hashes(void) {
    static unsigned char key[8192];
    for (size_t row = 0; row < COUNT(hash_vectors); row++) {
        const struct hash_vector *v = &hash_vectors[row];
        for (size_t i = 0; i < v->size; i++)
            key[i] = (unsigned char)v->text[i % v->unit];
        check(shmbloom_hash_bytes(key, v->size, v->normalization, v->seed) == v->hash, "hash", row);
    }
    for (size_t row = 0; row < COUNT(number_vectors); row++)
        check(shmbloom_hash_number(number_vectors[row].number, number_vectors[row].seed) == number_vectors[row].hash,
              "number", row);
    for (size_t row = 0; row < COUNT(domain_vectors); row++) {
        const struct domain_vector *v = &domain_vectors[row];
        check(shmbloom_hash_domain(v->domain, v->hash_id, v->normalization, v->key_type) == v->hash_domain, "domain",
              row);
    }
}

/* The shorter ways for short keys, against xxHash's own. */
static void check_short_hashes(void) {
    unsigned char key[SHMBLOOM_KEY_SHORT_BYTES];
    uint64_t state = 1, flips[2];
    for (size_t row = 0; row < 10000; row++) {
        const size_t size = 1 + row % sizeof key;
        const uint64_t seed = row < 100 ? row % 3 - 1 : state;
        for (size_t i = 0; i < size; i++)
            key[i] = (unsigned char)((state = state * 0xD1342543DE82EF95u + 1) >> 56);
        const uint64_t hash = XXH3_64bits_withSeed(key, size, seed);
        check(shmbloom_hash_short(key, size, seed) == hash, "short hash", row);
        shmbloom_make_flips(seed, flips);
        check(size < 9 || shmbloom_hash_9_to_16(key, size, flips) == hash, "hash of 9 to 16 bytes", row);
    }
}

/* Setting the hash's bits must set these and no others, and each of them must be asked for. */
static void check_set_and_test(const struct shmbloom_shape *shape, uint64_t hash, const uint64_t *expected,
                               size_t row) {
    const size_t bytes = (size_t)shmbloom_shape_bytes(shape);
    uint64_t *words = (uint64_t *)calloc(1, bytes);
    check(words != NULL, "memory", row);
    check(!shmbloom_test_bits(words, shape, hash), "test of an empty filter", row);
    shmbloom_set_bits(words, shape, hash);
    check(memcmp(words, expected, bytes) == 0, "bits set", row);
    check(shmbloom_test_bits(words, shape, hash), "test of what was set", row);
    check(shmbloom_set_bits(words, shape, hash) == 0, "second set", row);
    for (size_t bit = 0; bit < bytes * 8; bit++)
        if (expected[bit / 64] >> (bit % 64) & 1) {
            words[bit / 64] &= ~(1ull << (bit % 64));
            check(!shmbloom_test_bits(words, shape, hash), "test with one bit missing", row);
            words[bit / 64] |= 1ull << (bit % 64);
        }
    free(words);
}

/* Larger filters are checked by their numbers only. */
#define SMALL_BYTES 65536u

static void check_classic(void) {
    static uint64_t expected[SMALL_BYTES / 8];
    for (size_t row = 0; row < COUNT(classic_vectors); row++) {
        const struct classic_vector *v = &classic_vectors[row];
        uint64_t x = v->hash;
        for (uint32_t i = 0; i < v->shape.probes; i++, x = shmbloom_next_probe(x))
            check(shmbloom_multiply_high(x, v->shape.size) == v->bits[i], "classic", row);
        if (shmbloom_shape_bytes(&v->shape) > SMALL_BYTES)
            continue;
        memset(expected, 0, sizeof expected);
        for (uint32_t i = 0; i < v->shape.probes; i++)
            expected[v->bits[i] / 64] |= 1ull << (v->bits[i] % 64);
        check_set_and_test(&v->shape, v->hash, expected, row);
    }
}

static void check_blocked(void) {
    static uint64_t expected[SMALL_BYTES / 8];
    for (size_t row = 0; row < COUNT(blocked_vectors); row++) {
        const struct blocked_vector *v = &blocked_vectors[row];
        const struct shmbloom_block_probe p = shmbloom_probe_block(v->hash, v->shape.size, v->shape.probes);
        check(p.block == v->block, "block", row);
        check(memcmp(p.word, v->word, sizeof p.word) == 0, "words", row);
        check(memcmp(p.mask, v->mask, sizeof p.mask) == 0, "masks", row);
        if (shmbloom_shape_bytes(&v->shape) > SMALL_BYTES)
            continue;
        memset(expected, 0, sizeof expected);
        for (unsigned g = 0; g < 4; g++)
            expected[v->block * 8 + v->word[g]] |= v->mask[g];
        check_set_and_test(&v->shape, v->hash, expected, row);
    }
}

static void check_header(void) {
    const struct shmbloom_segment_header fields = golden_fields();
    struct shmbloom_segment_header read;
    check(memcmp(&fields, golden_header, sizeof golden_header) == 0, "header", 0);
    memcpy(&read, golden_header, sizeof read);
    check(shmbloom_header_checksum(&read) == read.checksum, "header checksum", 0);
    check(read.checksum == GOLDEN_CHECKSUM, "header checksum", 1);
}

int main(void) {
    check_hashes();
    check_short_hashes();
    check_classic();
    check_blocked();
    check_header();
    printf("%lu checks\n", checked);
    return 0;
}
