/* Adds: hashed here, acknowledged by the daemon. Never answered from the bits that this process sees: each acknowledged
 * add must be the daemon's. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

/* Without waiting only what fits the socket's buffer is sent whole: 64 KiB of the 200 that it has by default. */
#define BATCH_WITHOUT_WAITING 8192u

/* A slot is only ever written by the daemon's user; what makes no sense all the same must not become a wrong hash. */
static bool makes_sense(const shmbloom_filter *f, const struct shmbloom_slot *slot) {
    if (slot->key_type > SHMBLOOM_KEY_TYPE_U64 ||
        (slot->normalization & ~(SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER)) != 0 ||
        (slot->key_type == SHMBLOOM_KEY_TYPE_U64 && (slot->normalization & SHMBLOOM_NORMALIZE_LOWER) != 0))
        return false;
    return f->segment == NULL || f->segment->header.generation != slot->generation ||
           shmbloom__segment_fits(f->segment, f->control, slot);
}

int shmbloom__get_hashing(shmbloom_filter *f, struct shmbloom__hashing *ret) {
    struct shmbloom_slot slot;
    if (f == NULL)
        return -EINVAL;
    if (!shmbloom__copy_slot(f, &slot)) {
        const int r = shmbloom__resolve(f);
        if (!shmbloom__copy_slot(f, &slot))
            return r < 0 ? r : -EBUSY;
    }
    if (!makes_sense(f, &slot))
        return -EBADMSG;
    *ret = (struct shmbloom__hashing){.seed = slot.seed,
                                      .hash_domain = slot.hash_domain,
                                      .normalization = slot.normalization,
                                      .key_type = slot.key_type};
    return 0;
}

int shmbloom__add_hashes(shmbloom_filter *f, uint64_t hash_domain, const uint64_t *hashes, size_t n, uint8_t *answers) {
    if (f == NULL || n > SHMBLOOM__ADD_BATCH)
        return -EINVAL;
    if (n == 0)
        return 0;
    struct shmbloom__attempts a = shmbloom__begin_attempts(f);
    const struct shmbloom__request request = {.hash_domain = hash_domain, .hashes = hashes, .n = n};
    return shmbloom__exchange(f, &a, &request, answers);
}

static int hash_part(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys, size_t begin,
                     size_t count, uint64_t *hashes) {
    const int r = shmbloom__check_type(hashing, keys);
    for (size_t i = 0; r == 0 && i < count; i += SHMBLOOM__BLOCK) {
        const size_t left = count - i;
        const size_t block = left < SHMBLOOM__BLOCK ? left : SHMBLOOM__BLOCK;
        if (shmbloom__hash_block(hashing, keys, begin + i, block, hashes + i) != 0)
            return -EINVAL; /* sizes were checked: somebody writes to the keys meanwhile */
    }
    return r;
}

/* Adds keys that go in one command; all or none. Hashes them again when the filter's hash domain has changed. */
static int add_part(shmbloom_filter *f, const struct shmbloom__keys *keys, size_t begin, size_t count, uint64_t *hashes,
                    uint8_t *answers) {
    struct shmbloom__attempts a = shmbloom__begin_attempts(f);
    for (;;) {
        struct shmbloom__hashing hashing;
        int r = shmbloom__get_hashing(f, &hashing);
        if (r == 0)
            r = hash_part(&hashing, keys, begin, count, hashes);
        if (r < 0)
            return r;
        const struct shmbloom__request request = {.hash_domain = hashing.hash_domain, .hashes = hashes, .n = count};
        r = shmbloom__exchange(f, &a, &request, answers);
        if (r != -ESTALE)
            return r;
        (void)shmbloom__resolve(f);
        struct shmbloom__hashing now;
        /* Another domain by now: at once. The same: the daemon is just changing it. */
        if (shmbloom__get_hashing(f, &now) == 0 && now.hash_domain != hashing.hash_domain && a.waits &&
            shmbloom__monotonic_ns() < a.deadline_ns)
            continue;
        if (!shmbloom__may_try_again(&a))
            return r;
    }
}

static int add_one(shmbloom_filter *f, const struct shmbloom__keys *key) {
    uint64_t hash;
    uint8_t answer;
    int r = f == NULL ? -EINVAL : shmbloom__check_sizes(key);
    if (r == 0)
        r = add_part(f, key, 0, 1, &hash, &answer);
    return r == 0 ? answer : r;
}

int shmbloom_add(shmbloom_filter *f, const void *key, size_t len) {
    const shmbloom_key one = {.data = key, .size = len};
    return add_one(f, &(struct shmbloom__keys){.kind = SHMBLOOM__KEYS, .data = &one, .n = 1});
}

int shmbloom_add_u64(shmbloom_filter *f, uint64_t key) {
    return add_one(f, &(struct shmbloom__keys){.kind = SHMBLOOM__NUMBERS, .data = &key, .n = 1});
}

/* Part by part. What was acknowledged before an error stays so. */
static int add_parts(shmbloom_filter *f, const struct shmbloom__keys *keys, uint8_t *answers) {
    const size_t limit = f->add_timeout_ms >= 0 ? SHMBLOOM__ADD_BATCH : BATCH_WITHOUT_WAITING;
    const size_t part = keys->n < limit ? keys->n : limit;
    uint64_t *hashes = (uint64_t *)malloc(part * sizeof *hashes);
    if (hashes == NULL)
        return -ENOMEM;
    int r = 0;
    /* "Sent, not waited for" is no reason not to send the rest. */
    for (size_t begin = 0; (r == 0 || r == -EINPROGRESS) && begin < keys->n; begin += part) {
        const size_t left = keys->n - begin;
        r = add_part(f, keys, begin, left < part ? left : part, hashes, answers + begin);
    }
    free(hashes);
    return r;
}

static int add_keys(shmbloom_filter *f, const struct shmbloom__keys *keys, uint8_t *answers) {
    if (keys->n == 0)
        return 0;
    if (answers == NULL)
        return -EINVAL;
    memset(answers, SHMBLOOM_NOT_ADDED, keys->n);
    if (f == NULL)
        return -EINVAL;
    int r = shmbloom__check_keys(keys);
    if (r == 0)
        r = shmbloom__check_sizes(keys);
    return r < 0 ? r : add_parts(f, keys, answers);
}

int shmbloom_add_many(shmbloom_filter *f, const shmbloom_key *keys, size_t n, uint8_t *answers) {
    return add_keys(f, &(struct shmbloom__keys){.kind = SHMBLOOM__KEYS, .data = keys, .n = n}, answers);
}

int shmbloom_add_packed(shmbloom_filter *f, const void *bytes, const uint64_t *offsets, size_t n, uint8_t *answers) {
    return add_keys(f, &(struct shmbloom__keys){.kind = SHMBLOOM__PACKED, .data = bytes, .offsets = offsets, .n = n},
                    answers);
}

int shmbloom_add_many_u64(shmbloom_filter *f, const uint64_t *keys, size_t n, uint8_t *answers) {
    return add_keys(f, &(struct shmbloom__keys){.kind = SHMBLOOM__NUMBERS, .data = keys, .n = n}, answers);
}
