/* Which bits belong to a key's hash, and how they are read and set. One source for library, daemon, tests.
 *
 * classic: k bits anywhere. x = h; each probe: bit = high 64 of x * m, then one step of a 64-bit linear congruential
 *   generator. (Double hashing with multiply-shift cancels out and misses small rates by up to 50 times.)
 * blocked: one aligned 64-byte block a key, in it q bits in each of four words. A lookup touches one cache line.
 *
 * Bits are read and set relaxed. That is enough: a bit carries no pointer to other data, cache coherence makes a set
 * bit visible to every load that happens after it, and the order between add and lookup that the promise speaks of is
 * made by the gate (acquire) and by the socket on which the add was acknowledged. Racing adds only repeat an OR.
 */
#ifndef SHMBLOOM_PROBE_H
#define SHMBLOOM_PROBE_H

#include "layout.h"

/* The numbers of a filter, copied out of shared memory once and checked; never read there again. */
struct shmbloom_shape {
    uint32_t layout; /* SHMBLOOM_LAYOUT_* */
    uint32_t probes; /* classic: k, 1 to 64; blocked: q, 2 or 3 */
    uint64_t size;   /* classic: m, bits, at least 64; blocked: blocks, at least 1 */
};

#define SHMBLOOM_PROBES_MAX 64u

static inline uint64_t shmbloom_multiply_high(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)a * b) >> 64);
}

/* One step of the generator; multiplier from L'Ecuyer's tables by way of PCG. */
static inline uint64_t shmbloom_next_probe(uint64_t x) {
    return x * 0xD1342543DE82EF95ull + 0x9E3779B97F4A7C15ull;
}

/* Bytes that the bits of this shape take: whole 64-bit words. */
static inline uint64_t shmbloom_shape_bytes(const struct shmbloom_shape *shape) {
    return shape->layout == SHMBLOOM_LAYOUT_BLOCKED ? shape->size * 64
                                                    : shape->size / 64 * 8 + (shape->size % 64 ? 8 : 0);
}

/* Four words of a block and the bits that the hash has in each. */
struct shmbloom_block_probe {
    uint64_t block;
    uint32_t word[4];
    uint64_t mask[4];
};

static inline struct shmbloom_block_probe shmbloom_probe_block(uint64_t hash, uint64_t blocks, uint32_t q) {
    struct shmbloom_block_probe p;
    const uint32_t width = 6 * q + 1;
    const uint64_t a = hash * 0x9E3779B97F4A7C15ull;
    const uint64_t b = hash * 0xD6E8FEB86659FD93ull;
    p.block = shmbloom_multiply_high(hash, blocks);
    for (uint32_t g = 0; g < 4; g++) {
        const uint64_t field = q == 2 ? a >> (64 - width * (g + 1)) : (g < 2 ? a : b) >> (64 - width * (g % 2 + 1));
        p.word[g] = g + 4 * (uint32_t)(field >> (6 * q) & 1);
        p.mask[g] = 1ull << (field & 63) | 1ull << (field >> 6 & 63);
        if (q == 3)
            p.mask[g] |= 1ull << (field >> 12 & 63);
    }
    return p;
}

/* What the hash says of group g, 0 to 3, in its lowest bits. `q` and `g` are constants where it is called. */
static inline uint64_t shmbloom_block_field(uint64_t hash, uint32_t g, uint32_t q) {
    const uint64_t a = hash * 0x9E3779B97F4A7C15ull;
    const uint64_t b = hash * 0xD6E8FEB86659FD93ull;
    return q == 2 ? a >> (51 - 13 * g) : (g < 2 ? a : b) >> (45 - 19 * (g % 2));
}

/* The word of group g and the bits in it that a field asks for. Constants here too. */
static inline uint32_t shmbloom_field_word(uint64_t field, uint32_t g, uint32_t q) {
    return g + 4 * (uint32_t)(field >> (6 * q) & 1);
}

static inline uint64_t shmbloom_field_mask(uint64_t field, uint32_t q) {
    const uint64_t mask = 1ull << (field & 63) | 1ull << (field >> 6 & 63);
    return q == 3 ? mask | 1ull << (field >> 12 & 63) : mask;
}

/* Which bits that a field of group g asks for are clear. */
static inline uint64_t shmbloom_missing_bits(const uint64_t *block, uint64_t field, uint32_t g, uint32_t q) {
    return shmbloom_field_mask(field, q) & ~__atomic_load_n(&block[shmbloom_field_word(field, g, q)], __ATOMIC_RELAXED);
}

/* The same probe as shmbloom_probe_block makes, without a loop: a lookup in the cache takes half the time. */
static inline int shmbloom_test_block(const uint64_t *block, uint32_t q, uint64_t hash) {
    if (q == 2)
        return (shmbloom_missing_bits(block, shmbloom_block_field(hash, 0, 2), 0, 2) |
                shmbloom_missing_bits(block, shmbloom_block_field(hash, 1, 2), 1, 2) |
                shmbloom_missing_bits(block, shmbloom_block_field(hash, 2, 2), 2, 2) |
                shmbloom_missing_bits(block, shmbloom_block_field(hash, 3, 2), 3, 2)) == 0;
    return (shmbloom_missing_bits(block, shmbloom_block_field(hash, 0, 3), 0, 3) |
            shmbloom_missing_bits(block, shmbloom_block_field(hash, 1, 3), 1, 3) |
            shmbloom_missing_bits(block, shmbloom_block_field(hash, 2, 3), 2, 3) |
            shmbloom_missing_bits(block, shmbloom_block_field(hash, 3, 3), 3, 3)) == 0;
}

static inline uint64_t shmbloom_read_bit(const uint64_t *words, uint64_t bit) {
    return __atomic_load_n(&words[bit / 64], __ATOMIC_RELAXED) >> (bit % 64) & 1;
}

/* `classic`, three probes behind one branch: half of the absent keys end at each probe, so that a branch a probe would be
 * guessed wrong for most of them, and with each wrong guess go the lookups behind it that were on their way to memory
 * already. Behind three end seven of eight. */
static inline int shmbloom_test_anywhere(const uint64_t *words, uint32_t probes, uint64_t bits, uint64_t hash) {
    uint64_t x = hash;
    for (; probes >= 3; probes -= 3) {
        const uint64_t second = shmbloom_next_probe(x), third = shmbloom_next_probe(second);
        if (!(shmbloom_read_bit(words, shmbloom_multiply_high(x, bits)) &
              shmbloom_read_bit(words, shmbloom_multiply_high(second, bits)) &
              shmbloom_read_bit(words, shmbloom_multiply_high(third, bits))))
            return 0;
        x = shmbloom_next_probe(third);
    }
    for (; probes > 0; probes--, x = shmbloom_next_probe(x))
        if (!shmbloom_read_bit(words, shmbloom_multiply_high(x, bits)))
            return 0;
    return 1;
}

/* 1 when every bit of the hash is set, else 0. */
static inline __attribute__((always_inline)) int shmbloom_test_bits(const uint64_t *words, const struct shmbloom_shape *shape, uint64_t hash) {
    if (shape->layout == SHMBLOOM_LAYOUT_BLOCKED)
        return shmbloom_test_block(words + shmbloom_multiply_high(hash, shape->size) * 8, shape->probes, hash);
    return shmbloom_test_anywhere(words, shape->probes, shape->size, hash);
}

/* Sets what is missing of `mask`; returns the bits that this call turned from 0 to 1. A word that has them all is not
 * written, so that its cache line stays shared among readers. */
static inline uint64_t shmbloom_set_word(uint64_t *word, uint64_t mask) {
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == mask)
        return 0;
    return mask & ~__atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
}

/* How many bits are set, of which there are at most `most`, 2 or 3: without a call, which popcount is on processors of
 * all ages. */
static inline uint32_t shmbloom_count_few(uint64_t bits, uint32_t most) {
    const uint64_t rest = bits & (bits - 1);
    const uint32_t count = (uint32_t)(bits != 0) + (uint32_t)(rest != 0);
    return most == 2 ? count : count + (uint32_t)((rest & (rest - 1)) != 0);
}

static inline uint32_t shmbloom_set_group(uint64_t *block, uint64_t hash, uint32_t g, uint32_t q) {
    const uint64_t field = shmbloom_block_field(hash, g, q);
    return shmbloom_count_few(
        shmbloom_set_word(&block[shmbloom_field_word(field, g, q)], shmbloom_field_mask(field, q)), q);
}

/* As shmbloom_test_block: without a loop. */
static inline uint32_t shmbloom_set_block(uint64_t *block, uint32_t q, uint64_t hash) {
    if (q == 2)
        return shmbloom_set_group(block, hash, 0, 2) + shmbloom_set_group(block, hash, 1, 2) +
               shmbloom_set_group(block, hash, 2, 2) + shmbloom_set_group(block, hash, 3, 2);
    return shmbloom_set_group(block, hash, 0, 3) + shmbloom_set_group(block, hash, 1, 3) +
           shmbloom_set_group(block, hash, 2, 3) + shmbloom_set_group(block, hash, 3, 3);
}

/* Sets every bit of the hash; returns how many were missing, so 0 means "maybe there before". */
static inline uint32_t shmbloom_set_bits(uint64_t *words, const struct shmbloom_shape *shape, uint64_t hash) {
    if (shape->layout == SHMBLOOM_LAYOUT_BLOCKED)
        return shmbloom_set_block(words + shmbloom_multiply_high(hash, shape->size) * 8, shape->probes, hash);
    uint32_t fresh = 0;
    uint64_t x = hash;
    for (uint32_t i = 0; i < shape->probes; i++, x = shmbloom_next_probe(x)) {
        const uint64_t bit = shmbloom_multiply_high(x, shape->size);
        fresh += (uint32_t)(shmbloom_set_word(&words[bit / 64], 1ull << (bit % 64)) != 0);
    }
    return fresh;
}

#endif
