/* Keys that tests and workers make for themselves: the i-th key of a kind, the same in every process. */
#ifndef SHMBLOOM_TEST_KEYS_H
#define SHMBLOOM_TEST_KEYS_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEST_KEY_MAX_BYTES 64

/* A bijection of 64 bits (the finalizer of MurmurHash3): distinct indexes give distinct keys. */
static inline uint64_t test_mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDull;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ull;
    return x ^ x >> 33;
}

static inline size_t test_base62(char *out, uint64_t value, size_t digits) {
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (size_t i = digits; i-- > 0; value /= 62)
        out[i] = alphabet[value % 62];
    out[digits] = '\0';
    return digits;
}

/* Writes the key and a terminator, returns its length. Kinds: "number", "base62", "uuid", "u64" (decimal digits). */
static inline size_t test_key(char out[TEST_KEY_MAX_BYTES], const char *kind, uint64_t index) {
    const uint64_t mixed = test_mix(index + 1);
    if (strcmp(kind, "number") == 0)
        return (size_t)snprintf(out, TEST_KEY_MAX_BYTES, "%" PRIu64, index);
    if (strcmp(kind, "u64") == 0)
        return (size_t)snprintf(out, TEST_KEY_MAX_BYTES, "%" PRIu64, mixed);
    if (strcmp(kind, "uuid") == 0) {
        const uint64_t other = test_mix(mixed ^ 0x9E3779B97F4A7C15ull);
        return (size_t)snprintf(out, TEST_KEY_MAX_BYTES, "%08x-%04x-4%03x-a%03x-%012" PRIx64, (unsigned)(mixed >> 32),
                                (unsigned)(mixed >> 16 & 0xffff), (unsigned)(mixed & 0xfff), (unsigned)(other >> 52),
                                (uint64_t)(other & 0xffffffffffffull));
    }
    return test_base62(out, mixed, 11);
}

#endif
