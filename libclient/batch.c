/* Lookups of many keys: by blocks of 64, each in two passes, hash all and fetch ahead, then test all, so that the bits'
 * way from memory overlaps. */
#include <errno.h>
#include <string.h>

#include "handle.h"
#include "shmbloom/key.h"

/* ---- Keys of a call. ---- */

static int check_offsets(const uint64_t *offsets, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (offsets[i + 1] < offsets[i])
            return -EINVAL;
    return 0;
}

int shmbloom__check_keys(const struct shmbloom__keys *keys) {
    if (keys->kind != SHMBLOOM__PACKED)
        return keys->data == NULL ? -EINVAL : 0;
    if (keys->offsets == NULL || check_offsets(keys->offsets, keys->n) < 0)
        return -EINVAL;
    return keys->data == NULL && keys->offsets[keys->n] > keys->offsets[0] ? -EINVAL : 0;
}

static int check_size(const struct shmbloom__keys *keys, size_t i) {
    if (keys->kind == SHMBLOOM__PACKED)
        return keys->offsets[i + 1] - keys->offsets[i] > SHMBLOOM_KEY_MAX_BYTES ? -E2BIG : 0;
    if (keys->kind != SHMBLOOM__KEYS)
        return 0;
    const shmbloom_key *key = (const shmbloom_key *)keys->data + i;
    if (key->size > SHMBLOOM_KEY_MAX_BYTES)
        return -E2BIG;
    return key->data == NULL && key->size > 0 ? -EINVAL : 0;
}

int shmbloom__check_sizes(const struct shmbloom__keys *keys) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < keys->n; i++)
        r = check_size(keys, i);
    return r;
}

int shmbloom__check_type(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys) {
    if (keys->kind == SHMBLOOM__HASHES)
        return 0;
    const uint32_t type = keys->kind == SHMBLOOM__NUMBERS ? SHMBLOOM_KEY_TYPE_U64 : SHMBLOOM_KEY_TYPE_BYTES;
    return hashing->key_type == type ? 0 : -EPROTOTYPE;
}

/* ---- Lookups. ---- */

/* Tests a block whose bits are on their way; `answers` are 2. */
static void test_block(shmbloom_filter *f, const uint64_t *hashes, size_t count, uint64_t invalid, uint8_t *answers) {
    unsigned found_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (invalid >> i & 1)
            continue;
        const int found = shmbloom_test_bits(f->words, &f->shape, hashes[i]);
        found_count += (unsigned)found;
        answers[i] = (uint8_t)(found || !f->withholds ? found : shmbloom__withhold(f));
    }
    const unsigned skipped = (unsigned)__builtin_popcountll(invalid);
    f->probed += count - skipped;
    f->maybe += found_count;
    f->unprobed += skipped;
}

static int look_block_up(shmbloom_filter *f, const struct shmbloom__keys *keys, size_t begin, size_t count,
                         uint8_t *answers) {
    uint64_t hashes[SHMBLOOM__BLOCK];
    const uint64_t invalid = shmbloom__hash_block(&f->hashing, keys, begin, count, hashes, f);
    test_block(f, hashes, count, invalid, answers + begin);
    return invalid == 0 ? 0 : check_size(keys, begin + (size_t)__builtin_ctzll(invalid));
}

/* Whether these keys can be asked for at all; known, too, while a filter with a segment is in doubt. */
static int check_filter(const shmbloom_filter *f, const struct shmbloom__keys *keys, uint64_t hash_domain) {
    if (f->segment_gate == &shmbloom__no_word)
        return 0;
    if (keys->kind == SHMBLOOM__HASHES)
        return f->hashing.hash_domain == hash_domain ? 0 : -ESTALE;
    return shmbloom__check_type(&f->hashing, keys);
}

/* A block at a time, each behind a look at both gates: a switch or a doubt counts from the next block on, and so does
 * its end. */
static int look_up(shmbloom_filter *f, const struct shmbloom__keys *keys, uint64_t hash_domain, uint8_t *answers) {
    int error = 0;
    if (keys->n == 0)
        return 0;
    if (answers == NULL)
        return -EINVAL;
    memset(answers, SHMBLOOM_UNVERIFIED, keys->n);
    if (f == NULL || shmbloom__check_keys(keys) < 0)
        return -EINVAL;
    for (size_t begin = 0; begin < keys->n; begin += SHMBLOOM__BLOCK) {
        const size_t left = keys->n - begin;
        const size_t count = left < SHMBLOOM__BLOCK ? left : SHMBLOOM__BLOCK;
        const bool live = shmbloom__may_answer(f);
        int r = check_filter(f, keys, hash_domain);
        if (live && r == 0)
            r = look_block_up(f, keys, begin, count, answers);
        else
            f->unprobed += count;
        if (error == 0)
            error = r;
    }
    return error;
}

int shmbloom_contains_many(shmbloom_filter *f, const shmbloom_key *keys, size_t n, uint8_t *answers) {
    return look_up(f, &(struct shmbloom__keys){.kind = SHMBLOOM__KEYS, .data = keys, .n = n}, 0, answers);
}

int shmbloom_contains_packed(shmbloom_filter *f, const void *bytes, const uint64_t *offsets, size_t n,
                             uint8_t *answers) {
    return look_up(f, &(struct shmbloom__keys){.kind = SHMBLOOM__PACKED, .data = bytes, .offsets = offsets, .n = n}, 0,
                   answers);
}

int shmbloom_contains_many_u64(shmbloom_filter *f, const uint64_t *keys, size_t n, uint8_t *answers) {
    return look_up(f, &(struct shmbloom__keys){.kind = SHMBLOOM__NUMBERS, .data = keys, .n = n}, 0, answers);
}

int shmbloom_contains_hashes(shmbloom_filter *f, uint64_t hash_domain, const uint64_t *hashes, size_t n,
                             uint8_t *answers) {
    return look_up(f, &(struct shmbloom__keys){.kind = SHMBLOOM__HASHES, .data = hashes, .n = n}, hash_domain, answers);
}
