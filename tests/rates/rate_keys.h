/* The i-th key of a kind, the same in every process. Made cheaply: the test asks for billions of them. */
#ifndef SHMBLOOM_TEST_RATE_KEYS_H
#define SHMBLOOM_TEST_RATE_KEYS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rate_kind { RATE_NUMBER, RATE_BASE62, RATE_UUID, RATE_WORDS, RATE_U64, RATE_KINDS };

#define RATE_KEY_MAX_BYTES 128

static const char *const rate_kind_names[RATE_KINDS] = {"numbers", "base62", "uuids", "words", "u64"};

/* The lines of /usr/share/dict/words. */
struct rate_words {
    char *text;
    const char **word;
    uint8_t *size;
    uint64_t count, pairs;
};

/* 0, or -1 when there is no such list. Words longer than half a key are left out. */
static inline int rate_load_words(struct rate_words *words) {
    FILE *file = fopen("/usr/share/dict/words", "r");
    if (file == NULL)
        return -1;
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    words->text = (char *)malloc(bytes + 1);
    words->word = (const char **)malloc((bytes + 1) * sizeof *words->word);
    words->size = (uint8_t *)malloc(bytes + 1);
    words->count = 0;
    const size_t got = fread(words->text, 1, bytes, file);
    fclose(file);
    for (size_t begin = 0, at = 0; at < got; at++) {
        if (words->text[at] != '\n')
            continue;
        if (at > begin && at - begin <= 48) {
            words->word[words->count] = words->text + begin;
            words->size[words->count++] = (uint8_t)(at - begin);
        }
        begin = at + 1;
    }
    words->pairs = words->count * words->count;
    return words->count > 100000 ? 0 : -1;
}

/* A bijection of 64 bits (the finalizer of MurmurHash3): distinct indexes give distinct keys. */
static inline uint64_t rate_mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDull;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ull;
    return x ^ x >> 33;
}

static inline size_t rate_number(char *out, uint64_t value) {
    char digits[20];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return n;
}

/* Random and of 11 digits, as short links are: those behind the point of value / 2^64. They differ for each value,
 * since 62^11 is above 2^64; a multiplication a digit, where the digits of the number itself take a division. */
static inline size_t rate_base62(char *out, uint64_t value) {
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    __extension__ typedef unsigned __int128 wide;
    for (size_t i = 0; i < 11; i++) {
        const wide product = (wide)value * 62;
        out[i] = alphabet[(uint64_t)(product >> 64)];
        value = (uint64_t)product;
    }
    return 11;
}

static inline size_t rate_uuid(char *out, uint64_t a, uint64_t b) {
    static const char digits[] = "0123456789abcdef";
    a = (a & ~0xF000ull) | 0x4000;
    b = (b & ~(3ull << 62)) | 1ull << 63;
    size_t n = 0;
    for (int shift = 60; shift >= 0; shift -= 4) {
        out[n++] = digits[a >> shift & 15];
        if (shift == 32 || shift == 16 || shift == 0)
            out[n++] = '-';
    }
    for (int shift = 60; shift >= 0; shift -= 4) {
        out[n++] = digits[b >> shift & 15];
        if (shift == 48)
            out[n++] = '-';
    }
    return n;
}

/* Two words joined by a hyphen; an index below the number of pairs gives each pair once: the multiplier is a prime. */
static inline size_t rate_two_words(char *out, const struct rate_words *words, uint64_t index) {
    __extension__ typedef unsigned __int128 wide;
    const uint64_t pair = (uint64_t)((wide)index * 2654435761u % words->pairs);
    const uint64_t first = pair / words->count, second = pair % words->count;
    size_t n = words->size[first];
    memcpy(out, words->word[first], n);
    out[n++] = '-';
    memcpy(out + n, words->word[second], words->size[second]);
    return n + words->size[second];
}

/* Not for RATE_U64, whose keys are rate_mix(index + 1) themselves. */
static inline size_t rate_key(char out[RATE_KEY_MAX_BYTES], enum rate_kind kind, const struct rate_words *words,
                              uint64_t index) {
    switch (kind) {
    case RATE_NUMBER:
        return rate_number(out, index);
    case RATE_UUID:
        return rate_uuid(out, rate_mix(index + 1), rate_mix(~index));
    case RATE_WORDS:
        return rate_two_words(out, words, index);
    default:
        return rate_base62(out, rate_mix(index + 1));
    }
}

#endif
