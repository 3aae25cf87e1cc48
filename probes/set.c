/* Bits of many hashes, set in one call: for who brings keys that are mostly new. Lines are fetched ahead, no branch is
 * as often guessed wrong as right when the filter fills, and the locked instruction has no result, which would make it
 * a loop. Two threads that set one bit at the same moment may both count it. */
#include "probes.h"

#define INLINE static inline __attribute__((always_inline))

/* Lines on their way before it is their turn. */
#define AHEAD 32u

/* How a word is set, and how few bits are counted: constants where these are called. */
struct way {
    bool alone; /* nobody else sets bits: no locked instruction. Readers see whole words all the same */
    bool counts_by_instruction;
};

INLINE uint64_t set_word(uint64_t *word, uint64_t mask, bool alone) {
    const uint64_t before = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (alone)
        __atomic_store_n(word, before | mask, __ATOMIC_RELAXED);
    else
        __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
    return mask & ~before;
}

INLINE uint32_t count(uint64_t bits, uint32_t most, bool by_instruction) {
    return by_instruction ? (uint32_t)__builtin_popcountll(bits) : shmbloom_count_few(bits, most);
}

INLINE uint32_t set_group(uint64_t *block, uint64_t hash, uint32_t g, uint32_t q, struct way way) {
    const uint64_t field = shmbloom_block_field(hash, g, q);
    return count(set_word(&block[shmbloom_field_word(field, g, q)], shmbloom_field_mask(field, q), way.alone), q,
                 way.counts_by_instruction);
}

INLINE uint32_t set_hash(uint64_t *words, struct shmbloom_shape shape, uint64_t hash, struct way way) {
    if (shape.layout == SHMBLOOM_LAYOUT_BLOCKED) {
        uint64_t *const block = words + shmbloom_multiply_high(hash, shape.size) * 8;
        return set_group(block, hash, 0, shape.probes, way) + set_group(block, hash, 1, shape.probes, way) +
               set_group(block, hash, 2, shape.probes, way) + set_group(block, hash, 3, shape.probes, way);
    }
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < shape.probes; i++, hash = shmbloom_next_probe(hash)) {
        const uint64_t bit = shmbloom_multiply_high(hash, shape.size);
        fresh += set_word(&words[bit / 64], UINT64_C(1) << bit % 64, way.alone) != 0;
    }
    return fresh;
}

/* Every line of it, to be written. */
INLINE void fetch_hash(const uint64_t *words, struct shmbloom_shape shape, uint64_t hash) {
    if (shape.layout == SHMBLOOM_LAYOUT_BLOCKED) {
        __builtin_prefetch(words + shmbloom_multiply_high(hash, shape.size) * 8, 1);
        return;
    }
    for (uint32_t i = 0; i < shape.probes; i++, hash = shmbloom_next_probe(hash))
        __builtin_prefetch(words + shmbloom_multiply_high(hash, shape.size) / 64, 1);
}

INLINE uint64_t set_all(uint64_t *words, struct shmbloom_shape shape, struct shmbloom__hashes hashes, struct way way) {
    uint64_t fresh = 0;
    for (size_t i = 0; i < hashes.count && i < AHEAD; i++)
        fetch_hash(words, shape, hashes.hashes[i]);
    for (size_t i = 0; i < hashes.count; i++) {
        if (i + AHEAD < hashes.count)
            fetch_hash(words, shape, hashes.hashes[i + AHEAD]);
        fresh += set_hash(words, shape, hashes.hashes[i], way);
    }
    return fresh;
}

/* What is known of the shape makes a loop of its own. */
INLINE uint64_t set_shaped(uint64_t *words, const struct shmbloom_shape *shape, struct shmbloom__hashes hashes,
                           struct way way) {
    if (shape->layout != SHMBLOOM_LAYOUT_BLOCKED)
        return set_all(words, (struct shmbloom_shape){SHMBLOOM_LAYOUT_CLASSIC, shape->probes, shape->size}, hashes,
                       way);
    return shape->probes == 2
               ? set_all(words, (struct shmbloom_shape){SHMBLOOM_LAYOUT_BLOCKED, 2, shape->size}, hashes, way)
               : set_all(words, (struct shmbloom_shape){SHMBLOOM_LAYOUT_BLOCKED, 3, shape->size}, hashes, way);
}

uint64_t shmbloom__set_scalar(uint64_t *words, const struct shmbloom_shape *shape, struct shmbloom__hashes hashes,
                              bool alone) {
    return alone ? set_shaped(words, shape, hashes, (struct way){true, false})
                 : set_shaped(words, shape, hashes, (struct way){false, false});
}

#if defined(__x86_64__)
/* The same with shifts by any register, and an instruction that counts bits. */
__attribute__((target("bmi2,popcnt"))) uint64_t shmbloom__set_bmi2(uint64_t *words, const struct shmbloom_shape *shape,
                                                                   struct shmbloom__hashes hashes, bool alone) {
    return alone ? set_shaped(words, shape, hashes, (struct way){true, true})
                 : set_shaped(words, shape, hashes, (struct way){false, true});
}
#endif

shmbloom__set_hashes *shmbloom__choose_set(enum shmbloom__instructions instructions) {
#if defined(__x86_64__)
    if (instructions == SHMBLOOM__AVX2) /* who has that has these */
        return shmbloom__set_bmi2;
#endif
    (void)instructions;
    return shmbloom__set_scalar;
}
