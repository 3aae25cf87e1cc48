/* `classic` in stages: two probes of all hashes, of which those stay whose bits are set, then one probe a stage, for
 * which the lines of all that are left are fetched together. One hash after the other would wait for each of its lines,
 * and guess wrong once where it ends. */
#include <string.h>

#include "probes.h"

/* So few are worth all their lines at once: they are likely to be there. */
#define FEW 8u

struct survivors {
    size_t count;
    uint64_t x[SHMBLOOM__HASHES_AT_ONCE];
    uint8_t index[SHMBLOOM__HASHES_AT_ONCE];
};

/* Tests the first two probes, whose lines are there, of all; keeps those of which both bits are set. */
static inline void test_first(const uint64_t *words, uint64_t bits, struct shmbloom__hashes tested,
                              struct survivors *s) {
    size_t kept = 0;
    for (size_t i = 0; i < tested.count; i++) {
        const uint64_t second = shmbloom_next_probe(tested.hashes[i]);
        s->x[kept] = shmbloom_next_probe(second);
        s->index[kept] = (uint8_t)i;
        kept += shmbloom_read_bit(words, shmbloom_multiply_high(tested.hashes[i], bits)) &
                shmbloom_read_bit(words, shmbloom_multiply_high(second, bits));
    }
    s->count = kept;
}

/* Tests the probe at which all of `s` are, keeps those whose bit is set, and brings them to their next. */
static inline void test_stage(const uint64_t *words, uint64_t bits, struct survivors *s, bool fetches) {
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        const uint64_t x = s->x[i];
        const uint64_t set = shmbloom_read_bit(words, shmbloom_multiply_high(x, bits));
        const uint64_t next = shmbloom_next_probe(x);
        s->x[kept] = next;
        s->index[kept] = s->index[i];
        kept += set;
        /* Also of those that go: half of the lines for nothing, but no branch that half of them would guess wrong. */
        if (fetches)
            __builtin_prefetch(&words[shmbloom_multiply_high(set ? next : x, bits) / 64]);
    }
    s->count = kept;
}

/* The lines of their next `probes`. */
SHMBLOOM__FETCHING void fetch_rest(const uint64_t *words, uint64_t bits, const struct survivors *s, uint32_t probes) {
    for (size_t i = 0; i < s->count; i++) {
        uint64_t x = s->x[i];
        for (uint32_t probe = 0; probe < probes; probe++, x = shmbloom_next_probe(x))
            __builtin_prefetch(&words[shmbloom_multiply_high(x, bits) / 64]);
    }
}

size_t shmbloom__test_staged(const uint64_t *words, const struct shmbloom_shape *shape, struct shmbloom__hashes tested,
                             uint8_t *answers, struct shmbloom__hashes next) {
    const size_t count = tested.count;
    const uint64_t bits = shape->size;
    uint32_t left = shape->probes - 2;
    struct survivors s;
    if (next.count > count)
        next.count = count;
    test_first(words, bits, tested, &s);
    fetch_rest(words, bits, &s, left > 0);
    shmbloom__fetch_all(words, shape, next);
    for (; left > 0 && s.count > FEW; left--)
        test_stage(words, bits, &s, left > 1);
    fetch_rest(words, bits, &s, left);
    for (; left > 0 && s.count > 0; left--)
        test_stage(words, bits, &s, false);
    memset(answers, 0, count);
    for (size_t i = 0; i < s.count; i++)
        answers[s.index[i]] = 1;
    return s.count;
}
