/* Lookups of many keys: by blocks of 64, each in two passes, hash all and fetch ahead, then test all. Before a block is
 * tested the next one is hashed, so that the bits' way from memory overlaps with that. */
#include <errno.h>
#include <string.h>

#include "handle.h"
#include "shmbloom/key.h"

/* ---- Keys of a call. ---- */

static int check_offsets(const uint64_t *offsets, size_t n) {
    bool decrease = false;
    for (size_t i = 0; i < n; i++)
        decrease |= offsets[i + 1] < offsets[i];
    return decrease ? -EINVAL : 0;
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

static int check_some_sizes(const struct shmbloom__keys *keys, size_t begin, size_t count) {
    int r = 0;
    for (size_t i = begin; r == 0 && i < begin + count; i++)
        r = check_size(keys, i);
    return r;
}

int shmbloom__check_sizes(const struct shmbloom__keys *keys) {
    return check_some_sizes(keys, 0, keys->n);
}

int shmbloom__check_type(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys) {
    if (keys->kind == SHMBLOOM__HASHES)
        return 0;
    const uint32_t type = keys->kind == SHMBLOOM__NUMBERS ? SHMBLOOM_KEY_TYPE_U64 : SHMBLOOM_KEY_TYPE_BYTES;
    return hashing->key_type == type ? 0 : -EPROTOTYPE;
}

/* ---- Lookups. ---- */

/* A block that is hashed and not yet tested. */
struct hashed {
    size_t count; /* 0: none */
    uint64_t invalid;
    uint8_t *answers;
    uint64_t hashes[SHMBLOOM__BLOCK];
};

/* What the test said is not all that an answer depends on. Returns how many were found. */
static size_t correct(shmbloom_filter *f, const struct hashed *block, size_t found_count) {
    for (size_t i = 0; i < block->count; i++) {
        uint8_t *const answer = &block->answers[i];
        if (block->invalid >> i & 1) {
            found_count -= *answer;
            *answer = SHMBLOOM_UNVERIFIED;
        } else if (f->withholds && *answer == SHMBLOOM_ABSENT)
            *answer = (uint8_t)shmbloom__withhold(f);
    }
    return found_count;
}

/* `next`: what will be tested then, or NULL. Its bits are fetched meanwhile. */
static void test_block(shmbloom_filter *f, struct hashed *block, const struct hashed *next) {
    const struct shmbloom__hashes tested = {block->hashes, block->count};
    const struct shmbloom__hashes fetched = {next != NULL ? next->hashes : NULL, next != NULL ? next->count : 0};
    if (block->count == 0) {
        shmbloom__fetch_all(f->words, &f->shape, fetched);
        return;
    }
    size_t found_count = f->test(f->words, &f->shape, tested, block->answers, fetched);
    if (!SHMBLOOM__LIKELY(block->invalid == 0 && !f->withholds))
        found_count = correct(f, block, found_count);
    const unsigned skipped = (unsigned)__builtin_popcountll(block->invalid);
    f->probed += block->count - skipped;
    f->maybe += found_count;
    f->unprobed += skipped;
    block->count = 0;
}

/* Returns 0 or the errno of the first key that cannot be one. */
static int hash_block(const shmbloom_filter *f, const struct shmbloom__keys *keys, size_t begin, size_t count,
                      uint8_t *answers, struct hashed *block) {
    block->invalid = shmbloom__hash_block(&f->hashing, keys, begin, count, block->hashes);
    block->count = count;
    block->answers = answers + begin;
    return block->invalid == 0 ? 0 : check_size(keys, begin + (size_t)__builtin_ctzll(block->invalid));
}

/* Whether these keys can be asked for at all; known, too, while a filter with a segment is in doubt. */
static int check_filter(const shmbloom_filter *f, const struct shmbloom__keys *keys, uint64_t hash_domain) {
    if (f->segment_gate == &shmbloom__no_word)
        return 0;
    if (keys->kind == SHMBLOOM__HASHES)
        return f->hashing.hash_domain == hash_domain ? 0 : -ESTALE;
    return shmbloom__check_type(&f->hashing, keys);
}

/* Block by block, each hashed behind a look at both gates: a switch or a doubt counts from the next block on, and so
 * does its end. What is hashed by then is tested in the segment that the gates vouched for. */
static int look_blocks_up(shmbloom_filter *f, const struct shmbloom__keys *keys, uint64_t hash_domain,
                          uint8_t *answers) {
    struct hashed blocks[2];
    int error = 0;
    blocks[0].count = blocks[1].count = 0;
    for (size_t begin = 0, which = 0; begin < keys->n; begin += SHMBLOOM__BLOCK, which = !which) {
        const size_t left = keys->n - begin;
        const size_t count = left < SHMBLOOM__BLOCK ? left : SHMBLOOM__BLOCK;
        /* One look: were there another, a filter that changes between would have one block tested as the other. */
        bool live = shmbloom__is_live(f);
        if (!SHMBLOOM__LIKELY(live)) {
            test_block(f, &blocks[!which], NULL); /* resolving may unmap its segment */
            live = shmbloom__resolve_for_lookup(f);
        }
        int r = check_filter(f, keys, hash_domain);
        if (live && r == 0)
            r = hash_block(f, keys, begin, count, answers, &blocks[which]);
        else {
            f->unprobed += count;
            if (r == 0)
                r = check_some_sizes(keys, begin, count); /* a caller's mistake shows before the filter is live */
        }
        if (f->near)
            test_block(f, &blocks[which], NULL);
        else
            test_block(f, &blocks[!which], &blocks[which]);
        if (error == 0)
            error = r;
    }
    test_block(f, &blocks[0], NULL);
    test_block(f, &blocks[1], NULL);
    return error;
}

static int look_up(shmbloom_filter *f, const struct shmbloom__keys *keys, uint64_t hash_domain, uint8_t *answers) {
    if (keys->n == 0)
        return 0;
    if (answers == NULL)
        return -EINVAL;
    memset(answers, SHMBLOOM_UNVERIFIED, keys->n);
    if (f == NULL || shmbloom__check_keys(keys) < 0)
        return -EINVAL;
    return look_blocks_up(f, keys, hash_domain, answers);
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
