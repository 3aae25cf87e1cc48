/* Any layout, any processor: one word after the other, by relaxed atomic loads. */
#include "probes.h"

static inline size_t test_blocked(const uint64_t *words, uint64_t blocks, uint32_t q, const uint64_t *hashes,
                                  size_t count, uint8_t *answers) {
    size_t found_count = 0;
    for (size_t i = 0; i < count; i++) {
        const int found = shmbloom_test_block(words + shmbloom_multiply_high(hashes[i], blocks) * 8, q, hashes[i]);
        answers[i] = (uint8_t)found;
        found_count += (unsigned)found;
    }
    return found_count;
}

static inline size_t test_classic(const uint64_t *words, uint64_t bits, uint32_t k, const uint64_t *hashes,
                                  size_t count, uint8_t *answers) {
    const struct shmbloom_shape shape = {.layout = SHMBLOOM_LAYOUT_CLASSIC, .probes = k, .size = bits};
    size_t found_count = 0;
    for (size_t i = 0; i < count; i++) {
        const int found = shmbloom_test_bits(words, &shape, hashes[i]);
        answers[i] = (uint8_t)found;
        found_count += (unsigned)found;
    }
    return found_count;
}

size_t shmbloom__test_scalar(const uint64_t *words, const struct shmbloom_shape *shape, const uint64_t *hashes,
                             size_t count, uint8_t *answers) {
    if (shape->layout != SHMBLOOM_LAYOUT_BLOCKED)
        return test_classic(words, shape->size, shape->probes, hashes, count, answers);
    if (shape->probes == 2)
        return test_blocked(words, shape->size, 2, hashes, count, answers);
    return test_blocked(words, shape->size, 3, hashes, count, answers);
}
