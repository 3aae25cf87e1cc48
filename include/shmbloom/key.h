/* From a key to its hash: normalization, key types, XXH3. One source for library, daemon, tool, tests. */
#ifndef SHMBLOOM_KEY_H
#define SHMBLOOM_KEY_H

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "layout.h"

#define SHMBLOOM_KEY_MAX_BYTES (1u << 20)

/* ASCII white space: space, \t \n \v \f \r. */
static inline int shmbloom_is_blank(unsigned char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline unsigned char shmbloom_lower(unsigned char c) {
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + ('a' - 'A')) : c;
}

/* Moves both ends inward over white space; touches no byte. */
static inline void shmbloom_trim(const unsigned char **key, size_t *size) {
    while (*size > 0 && shmbloom_is_blank((*key)[0])) {
        ++*key;
        --*size;
    }
    while (*size > 0 && shmbloom_is_blank((*key)[*size - 1]))
        --*size;
}

#define SHMBLOOM_PIECE_BYTES 512u

static inline void shmbloom_lower_bytes(const unsigned char *bytes, size_t size, unsigned char *lower) {
    for (size_t i = 0; i < size; i++)
        lower[i] = shmbloom_lower(bytes[i]);
}

/* Rare, and large where it is made to be fast. */
static __attribute__((cold, noinline, unused)) uint64_t shmbloom_hash_lower_pieces(const unsigned char *key,
                                                                                   size_t size, uint64_t seed) {
    unsigned char piece[SHMBLOOM_PIECE_BYTES];
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    for (size_t at = 0; at < size; at += sizeof piece) {
        const size_t n = size - at < sizeof piece ? size - at : sizeof piece;
        shmbloom_lower_bytes(key + at, n, piece);
        XXH3_64bits_update(&state, piece, n);
    }
    return XXH3_64bits_digest(&state);
}

/* XXH3 of the key in lower case, by pieces on the stack: a lookup allocates nothing. Equals the hash of the whole. */
static inline uint64_t shmbloom_hash_lower(const unsigned char *key, size_t size, uint64_t seed) {
    unsigned char piece[SHMBLOOM_PIECE_BYTES];
    if (size > sizeof piece)
        return shmbloom_hash_lower_pieces(key, size, seed);
    shmbloom_lower_bytes(key, size, piece);
    return XXH3_64bits_withSeed(piece, size, seed);
}

/* XXH3 of 1 to 16 bytes, nothing but the few instructions that these need. What XXH3_64bits_withSeed begins with, in
 * every xxHash since 0.8. */
#define SHMBLOOM_KEY_SHORT_BYTES 16u
static inline __attribute__((always_inline)) uint64_t shmbloom_hash_short(const void *key, size_t size, uint64_t seed) {
    if (size < 1 || size > SHMBLOOM_KEY_SHORT_BYTES)
        __builtin_unreachable();
    return XXH3_64bits_internal(key, size, seed, XXH3_kSecret, sizeof XXH3_kSecret, NULL);
}

/* What XXH3 of 9 to 16 bytes makes of the seed before it sees a key: made once, not in every lookup. */
static inline void shmbloom_make_flips(uint64_t seed, uint64_t flips[2]) {
    flips[0] = (XXH_readLE64(XXH3_kSecret + 24) ^ XXH_readLE64(XXH3_kSecret + 32)) + seed;
    flips[1] = (XXH_readLE64(XXH3_kSecret + 40) ^ XXH_readLE64(XXH3_kSecret + 48)) - seed;
}

/* XXH3 of 9 to 16 bytes, with what shmbloom_make_flips made; as xxHash's XXH3_len_9to16_64b. */
static inline __attribute__((always_inline)) uint64_t shmbloom_hash_9_to_16(const void *key, size_t size,
                                                                            const uint64_t flips[2]) {
    const uint64_t low = XXH_readLE64(key) ^ flips[0];
    const uint64_t high = XXH_readLE64((const unsigned char *)key + size - 8) ^ flips[1];
    return XXH3_avalanche(size + XXH_swap64(low) + high + XXH3_mul128_fold64(low, high));
}

/* The hash of a `bytes` key of at most SHMBLOOM_KEY_MAX_BYTES bytes; `key` may be NULL when size is 0. */
static inline uint64_t shmbloom_hash_bytes(const void *key, size_t size, uint32_t normalization, uint64_t seed) {
    const unsigned char *bytes = (const unsigned char *)key;
    if (normalization & SHMBLOOM_NORMALIZE_TRIM)
        shmbloom_trim(&bytes, &size);
    if (normalization & SHMBLOOM_NORMALIZE_LOWER)
        return shmbloom_hash_lower(bytes, size, seed);
    return XXH3_64bits_withSeed(bytes, size, seed);
}

/* The hash of a `u64` key: of its 8 bytes, little-endian. */
static inline uint64_t shmbloom_hash_number(uint64_t key, uint64_t seed) {
    return XXH3_64bits_withSeed(&key, sizeof key, seed);
}

/* Text of a u64 key: 1 to 20 digits with a value below 2^64 and nothing else, after `trim` if the filter has it.
 * Returns 1 and sets *number, or 0 and leaves it. */
static inline int shmbloom_parse_number(const void *text, size_t size, uint32_t normalization, uint64_t *number) {
    const unsigned char *digits = (const unsigned char *)text;
    uint64_t value = 0;
    if (normalization & SHMBLOOM_NORMALIZE_TRIM)
        shmbloom_trim(&digits, &size);
    if (size < 1 || size > 20)
        return 0;
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return 0;
        if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (uint64_t)(digits[i] - '0'), &value))
            return 0;
    }
    *number = value;
    return 1;
}

/* The checksum in a segment's header. */
static inline uint64_t shmbloom_header_checksum(const struct shmbloom_segment_header *header) {
    return XXH3_64bits(header, offsetof(struct shmbloom_segment_header, checksum));
}

#endif
