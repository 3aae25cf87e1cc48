/* Lookups: the two gates, then the bits. While a filter is live this is all that runs: no system call, no lock, no
 * allocation, nothing written but the handle's own counts. Hashes are made here only, so that XXH3 is inlined once. */
#include <errno.h>

#include "handle.h"
#include "short.h"

static inline int unverified(shmbloom_filter *f) {
    f->unprobed++;
    return SHMBLOOM_UNVERIFIED;
}

/* xorshift64 (Marsaglia 2003): no system call, a nanosecond, and not in step with anything in the keys. */
static uint64_t next_random(shmbloom_filter *f) {
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return f->random;
}

int shmbloom__withhold(shmbloom_filter *f) {
    if (f->shadow) {
        f->would_be_absent++;
        return SHMBLOOM_UNVERIFIED;
    }
    if (f->audit_one_in == 0 || shmbloom_multiply_high(next_random(f), f->audit_one_in) != 0)
        return SHMBLOOM_ABSENT;
    f->audited++;
    return SHMBLOOM_UNVERIFIED;
}

/* Any filter; out of line, for its bytes. */
static __attribute__((noinline)) int probe(shmbloom_filter *f, uint64_t hash) {
    const int found = shmbloom_test_bits(f->words, &f->shape, hash);
    f->probed++;
    f->maybe += (unsigned)found;
    if (SHMBLOOM__LIKELY(!f->withholds) || found)
        return found; /* SHMBLOOM_MAYBE or SHMBLOOM_ABSENT */
    return shmbloom__withhold(f);
}

__attribute__((noinline)) uint64_t shmbloom__hash_plain(const void *key, size_t len, uint64_t seed) {
    return XXH3_64bits_withSeed(key, len, seed);
}

/* Any key of type bytes. */
static __attribute__((noinline)) uint64_t hash_bytes(const struct shmbloom__hashing *hashing, const void *key,
                                                     size_t len) {
    return shmbloom_hash_bytes(key, len, hashing->normalization, hashing->seed);
}

static __attribute__((noinline)) uint64_t hash_number(const struct shmbloom__hashing *hashing, uint64_t key) {
    return shmbloom_hash_number(key, hashing->seed);
}

int shmbloom__look_up(shmbloom_filter *f, const void *key, size_t len) {
    if (!shmbloom__may_answer(f) || f->hashing.key_type != SHMBLOOM_KEY_TYPE_BYTES || len > SHMBLOOM_KEY_MAX_BYTES ||
        (key == NULL && len > 0))
        return unverified(f);
    return probe(f, hash_bytes(&f->hashing, key, len));
}

int shmbloom__look_up_number(shmbloom_filter *f, uint64_t key) {
    if (!shmbloom__may_answer(f) || f->hashing.key_type != SHMBLOOM_KEY_TYPE_U64)
        return unverified(f);
    return probe(f, hash_number(&f->hashing, key));
}

/* ---- Lookups of short keys in filters that answer as they find: what most lookups are. ---- */

static inline int test_classic(const shmbloom_filter *f, uint64_t hash) {
    return shmbloom_test_anywhere(f->words, f->shape.probes, f->shape.size, hash);
}

static int test_blocked(const shmbloom_filter *f, uint64_t hash) {
    const uint64_t *block = f->words + shmbloom_multiply_high(hash, f->shape.size) * 8;
    return shmbloom_test_block(block, f->shape.probes, hash);
}

static __attribute__((noinline)) int look_up_longer(shmbloom_filter *f, const void *key, size_t len) {
    return probe(f, shmbloom__hash_plain(key, len, f->hashing.seed));
}

static int look_up_classic(shmbloom_filter *f, const void *key, size_t len) {
    return shmbloom__look_up_short(f, key, len, test_classic, look_up_longer);
}

static int look_up_number_classic(shmbloom_filter *f, uint64_t key) {
    return shmbloom__look_up_short_number(f, key, test_classic);
}

static int look_up_blocked(shmbloom_filter *f, const void *key, size_t len) {
    return shmbloom__look_up_short(f, key, len, test_blocked, look_up_longer);
}

static __attribute__((cold)) void choose_by_layout(shmbloom_filter *f) {
    if (f->shape.layout != SHMBLOOM_LAYOUT_BLOCKED) {
        f->look_up = look_up_classic;
        f->look_up_number = look_up_number_classic;
#if defined(__x86_64__)
    } else if (f->instructions == SHMBLOOM__AVX2) {
        f->look_up = shmbloom__look_up_avx2;
        f->look_up_number = shmbloom__look_up_number_avx2;
#endif
    } else
        f->look_up = look_up_blocked;
}

__attribute__((cold)) void shmbloom__choose_lookups(shmbloom_filter *f) {
    shmbloom_make_flips(f->hashing.seed, f->flips);
    f->test = shmbloom__choose_test(&f->shape, f->instructions);
    f->near = shmbloom__is_near(&f->shape);
    f->look_up = shmbloom__look_up;
    f->look_up_number = shmbloom__look_up_number;
    if (!f->withholds && f->hashing.normalization == 0)
        choose_by_layout(f);
    /* Only these look at the type of the keys. */
    if (f->hashing.key_type == SHMBLOOM_KEY_TYPE_BYTES)
        f->look_up_number = shmbloom__look_up_number;
    else
        f->look_up = shmbloom__look_up;
}

int shmbloom_contains(shmbloom_filter *f, const void *key, size_t len) {
    return SHMBLOOM__LIKELY(f != NULL) ? f->look_up(f, key, len) : SHMBLOOM_UNVERIFIED;
}

int shmbloom_contains_u64(shmbloom_filter *f, uint64_t key) {
    return SHMBLOOM__LIKELY(f != NULL) ? f->look_up_number(f, key) : SHMBLOOM_UNVERIFIED;
}

int shmbloom__contains_hash(shmbloom_filter *f, uint64_t hash_domain, uint64_t hash) {
    if (f == NULL)
        return SHMBLOOM_UNVERIFIED;
    if (!shmbloom__may_answer(f) || f->hashing.hash_domain != hash_domain)
        return unverified(f);
    return probe(f, hash);
}

/* ---- Hashes ---- */

int shmbloom__hash(const struct shmbloom__hashing *hashing, const void *key, size_t len, uint64_t *ret) {
    if (hashing->key_type != SHMBLOOM_KEY_TYPE_BYTES)
        return -EPROTOTYPE;
    if (len > SHMBLOOM_KEY_MAX_BYTES)
        return -E2BIG;
    *ret = hash_bytes(hashing, key, len);
    return 0;
}

int shmbloom__hash_u64(const struct shmbloom__hashing *hashing, uint64_t key, uint64_t *ret) {
    if (hashing->key_type != SHMBLOOM_KEY_TYPE_U64)
        return -EPROTOTYPE;
    *ret = hash_number(hashing, key);
    return 0;
}

__attribute__((cold)) int shmbloom__hash_text(const struct shmbloom__hashing *hashing, const void *text, size_t len,
                                              uint64_t *ret) {
    uint64_t number;
    if (hashing->key_type != SHMBLOOM_KEY_TYPE_U64)
        return shmbloom__hash(hashing, text, len, ret);
    if (!shmbloom_parse_number(text, len, hashing->normalization, &number))
        return -ERANGE;
    return shmbloom__hash_u64(hashing, number, ret);
}

int shmbloom_hash(shmbloom_filter *f, const void *key, size_t len, uint64_t *hash, uint64_t *hash_domain) {
    struct shmbloom__hashing hashing;
    if (f == NULL || (key == NULL && len > 0) || hash == NULL || hash_domain == NULL)
        return -EINVAL;
    int r = shmbloom__get_hashing(f, &hashing);
    if (r == 0)
        r = shmbloom__hash(&hashing, key, len, hash);
    if (r == 0)
        *hash_domain = hashing.hash_domain;
    return r;
}

int shmbloom_hash_u64(shmbloom_filter *f, uint64_t key, uint64_t *hash, uint64_t *hash_domain) {
    struct shmbloom__hashing hashing;
    if (f == NULL || hash == NULL || hash_domain == NULL)
        return -EINVAL;
    int r = shmbloom__get_hashing(f, &hashing);
    if (r == 0)
        r = shmbloom__hash_u64(&hashing, key, hash);
    if (r == 0)
        *hash_domain = hashing.hash_domain;
    return r;
}

/* Where key `i` of type bytes is. `packed` is a constant where this is called. */
SHMBLOOM__INLINE const void *locate_key(const struct shmbloom__keys *keys, bool packed, size_t i, size_t *size) {
    if (!packed) {
        const shmbloom_key *key = (const shmbloom_key *)keys->data + i;
        *size = key->size;
        return key->data;
    }
    *size = keys->offsets[i + 1] - keys->offsets[i];
    return *size > 0 ? (const char *)keys->data + keys->offsets[i] : NULL;
}

/* False: it cannot be a key. */
static bool hash_any(const struct shmbloom__hashing *hashing, const void *data, size_t size, uint64_t *hash) {
    *hash = 0;
    if (size > SHMBLOOM_KEY_MAX_BYTES || (data == NULL && size > 0))
        return false;
    *hash =
        hashing->normalization == 0 ? shmbloom__hash_plain(data, size, hashing->seed) : hash_bytes(hashing, data, size);
    return true;
}

/* The short ones here, in as few instructions as can be. */
SHMBLOOM__INLINE uint64_t hash_texts(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys,
                                     bool packed, size_t begin, size_t count, uint64_t *hashes) {
    const uint64_t seed = hashing->seed;
    const size_t shorts = hashing->normalization == 0 ? SHMBLOOM_KEY_SHORT_BYTES : 0;
    uint64_t invalid = 0;
    for (size_t i = 0; i < count; i++) {
        size_t size;
        const void *const data = locate_key(keys, packed, begin + i, &size);
        if (SHMBLOOM__LIKELY(size - 1 < shorts) && SHMBLOOM__LIKELY(data != NULL))
            hashes[i] = shmbloom_hash_short(data, size, seed);
        else if (!hash_any(hashing, data, size, &hashes[i]))
            invalid |= UINT64_C(1) << i;
    }
    return invalid;
}

static void hash_numbers(uint64_t seed, const uint64_t *keys, size_t count, uint64_t *hashes) {
    for (size_t i = 0; i < count; i++)
        hashes[i] = shmbloom_hash_number(keys[i], seed);
}

uint64_t shmbloom__hash_block(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys, size_t begin,
                              size_t count, uint64_t *hashes) {
    if (keys->kind == SHMBLOOM__NUMBERS)
        hash_numbers(hashing->seed, (const uint64_t *)keys->data + begin, count, hashes);
    else if (keys->kind == SHMBLOOM__HASHES)
        memcpy(hashes, (const uint64_t *)keys->data + begin, count * sizeof *hashes);
    else if (keys->kind == SHMBLOOM__PACKED)
        return hash_texts(hashing, keys, true, begin, count, hashes);
    else
        return hash_texts(hashing, keys, false, begin, count, hashes);
    return 0;
}

uint64_t shmbloom__checksum(const struct shmbloom_segment_header *header) {
    return shmbloom_header_checksum(header);
}
