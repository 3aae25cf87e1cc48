/* Any layout, any processor: one word after the other, by relaxed atomic loads. */
#include "probes.h"

/* `shape` is known in part where this is called. */
static inline size_t test(const uint64_t *words, const struct shmbloom_shape shape, struct shmbloom__hashes tested,
                          uint8_t *answers, struct shmbloom__hashes next) {
    const size_t fetched = shmbloom__fetched_count(tested, next);
    size_t found_count = 0;
    for (size_t i = 0; i < tested.count; i++) {
        if (i < fetched)
            shmbloom__fetch_first(words, &shape, next.hashes[i]);
        const int found = shmbloom_test_bits(words, &shape, tested.hashes[i]);
        answers[i] = (uint8_t)found;
        found_count += (unsigned)found;
    }
    return found_count;
}

size_t shmbloom__test_scalar(const uint64_t *words, const struct shmbloom_shape *shape, struct shmbloom__hashes tested,
                             uint8_t *answers, struct shmbloom__hashes next) {
    struct shmbloom_shape known = *shape;
    if (shape->layout != SHMBLOOM_LAYOUT_BLOCKED) {
        known.layout = SHMBLOOM_LAYOUT_CLASSIC;
        return test(words, known, tested, answers, next);
    }
    known.layout = SHMBLOOM_LAYOUT_BLOCKED;
    known.probes = shape->probes == 2 ? 2 : 3;
    return test(words, known, tested, answers, next);
}
