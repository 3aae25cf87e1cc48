/* Lookups: the two gates, then the bits. While a filter is live this is all that runs: no system call, no lock, no
 * allocation, nothing written but the handle's own counts. */
#include <errno.h>

#include "handle.h"
#include "shmbloom/key.h"

/* Both gates must be as expected before any bit is read. An add acknowledged before this lookup began has its bits in the
 * segment of the generation that the gates named then; a switch, a pause or a drop changes a gate before the segment is
 * no longer fed, so gates that are still as expected vouch for every bit read afterwards (the loads acquire). */
static inline bool may_answer(shmbloom_filter *f) {
    if (SHMBLOOM__LIKELY(shmbloom__is_live(f)))
        return true;
    return shmbloom__resolve_for_lookup(f);
}

static inline int answer(shmbloom_filter *f, int value) {
    f->answers[value]++;
    return value;
}

static inline int probe(shmbloom_filter *f, uint64_t hash) {
    return answer(f, shmbloom_test_bits(f->words, &f->shape, hash) ? SHMBLOOM_MAYBE : SHMBLOOM_ABSENT);
}

int shmbloom_contains(shmbloom_filter *f, const void *key, size_t len) {
    if (f == NULL)
        return SHMBLOOM_UNVERIFIED;
    if (!may_answer(f) || f->hashing.key_type != SHMBLOOM_KEY_TYPE_BYTES || len > SHMBLOOM_KEY_MAX_BYTES ||
        (key == NULL && len > 0))
        return answer(f, SHMBLOOM_UNVERIFIED);
    return probe(f, shmbloom_hash_bytes(key, len, f->hashing.normalization, f->hashing.seed));
}

int shmbloom_contains_u64(shmbloom_filter *f, uint64_t key) {
    if (f == NULL)
        return SHMBLOOM_UNVERIFIED;
    if (!may_answer(f) || f->hashing.key_type != SHMBLOOM_KEY_TYPE_U64)
        return answer(f, SHMBLOOM_UNVERIFIED);
    return probe(f, shmbloom_hash_number(key, f->hashing.seed));
}

int shmbloom__contains_hash(shmbloom_filter *f, uint64_t hash_domain, uint64_t hash) {
    if (f == NULL)
        return SHMBLOOM_UNVERIFIED;
    if (!may_answer(f) || f->hashing.hash_domain != hash_domain)
        return answer(f, SHMBLOOM_UNVERIFIED);
    return probe(f, hash);
}

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

uint64_t shmbloom__checksum(const struct shmbloom_segment_header *header) {
    return shmbloom_header_checksum(header);
}
