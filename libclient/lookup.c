/* Lookups: the two gates, then the bits. While a filter is live this is all that runs: no system call, no lock, no
 * allocation, nothing written but the handle's own counts. Hashes are made here only, so that XXH3 is inlined once. */
#include <errno.h>

#include "handle.h"
#include "shmbloom/key.h"

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

static inline int probe(shmbloom_filter *f, uint64_t hash) {
    const int found = shmbloom_test_bits(f->words, &f->shape, hash);
    f->probed++;
    f->maybe += (unsigned)found;
    if (SHMBLOOM__LIKELY(!f->withholds) || found)
        return found; /* SHMBLOOM_MAYBE or SHMBLOOM_ABSENT */
    return shmbloom__withhold(f);
}

int shmbloom_contains(shmbloom_filter *f, const void *key, size_t len) {
    if (f == NULL)
        return SHMBLOOM_UNVERIFIED;
    if (!shmbloom__may_answer(f) || f->hashing.key_type != SHMBLOOM_KEY_TYPE_BYTES || len > SHMBLOOM_KEY_MAX_BYTES ||
        (key == NULL && len > 0))
        return unverified(f);
    return probe(f, shmbloom_hash_bytes(key, len, f->hashing.normalization, f->hashing.seed));
}

int shmbloom_contains_u64(shmbloom_filter *f, uint64_t key) {
    if (f == NULL)
        return SHMBLOOM_UNVERIFIED;
    if (!shmbloom__may_answer(f) || f->hashing.key_type != SHMBLOOM_KEY_TYPE_U64)
        return unverified(f);
    return probe(f, shmbloom_hash_number(key, f->hashing.seed));
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
    *ret = shmbloom_hash_bytes(key, len, hashing->normalization, hashing->seed);
    return 0;
}

int shmbloom__hash_u64(const struct shmbloom__hashing *hashing, uint64_t key, uint64_t *ret) {
    if (hashing->key_type != SHMBLOOM_KEY_TYPE_U64)
        return -EPROTOTYPE;
    *ret = shmbloom_hash_number(key, hashing->seed);
    return 0;
}

int shmbloom__hash_text(const struct shmbloom__hashing *hashing, const void *text, size_t len, uint64_t *ret) {
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

/* One key's hash; false: it cannot be a key. The type has been checked. */
static inline bool hash_one(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys, size_t i,
                            uint64_t *hash) {
    const void *data;
    uint64_t size;
    switch (keys->kind) {
    case SHMBLOOM__NUMBERS:
        *hash = shmbloom_hash_number(((const uint64_t *)keys->data)[i], hashing->seed);
        return true;
    case SHMBLOOM__HASHES:
        *hash = ((const uint64_t *)keys->data)[i];
        return true;
    case SHMBLOOM__PACKED:
        size = keys->offsets[i + 1] - keys->offsets[i];
        data = size > 0 ? (const char *)keys->data + keys->offsets[i] : NULL;
        break;
    default:
        size = ((const shmbloom_key *)keys->data)[i].size;
        data = ((const shmbloom_key *)keys->data)[i].data;
        if (data == NULL && size > 0)
            return false;
    }
    if (size > SHMBLOOM_KEY_MAX_BYTES)
        return false;
    *hash = shmbloom_hash_bytes(data, (size_t)size, hashing->normalization, hashing->seed);
    return true;
}

/* The first line that a test of this hash reads: the only one of a blocked filter, and enough for half of the absent
 * keys of a classic one. Inlined, come what may: gcc 12 takes a function that only prefetches for one without effect, and
 * leaves out its call. */
__attribute__((always_inline)) static inline void fetch(const shmbloom_filter *f, uint64_t hash) {
    const uint64_t at = shmbloom_multiply_high(hash, f->shape.size);
    __builtin_prefetch(f->words + (f->shape.layout == SHMBLOOM_LAYOUT_BLOCKED ? at * 8 : at / 64));
}

uint64_t shmbloom__hash_block(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys, size_t begin,
                              size_t count, uint64_t *hashes, const shmbloom_filter *f) {
    uint64_t invalid = 0;
    for (size_t i = 0; i < count; i++) {
        if (!hash_one(hashing, keys, begin + i, &hashes[i]))
            invalid |= UINT64_C(1) << i;
        else if (f != NULL)
            fetch(f, hashes[i]);
    }
    return invalid;
}

uint64_t shmbloom__checksum(const struct shmbloom_segment_header *header) {
    return shmbloom_header_checksum(header);
}
