/* What the source of truth said: how often an "absent" was wrong, and how often a "maybe" was. */
#include <errno.h>

#include "handle.h"

/* Probes again, past shadow mode and audits, and counts no answer. 0 or 1 with the hash, 2 while in doubt, or -errno.
 */
static int probe_again(shmbloom_filter *f, const struct shmbloom__keys *key, uint64_t *hash) {
    int r = f == NULL ? -EINVAL : shmbloom__check_sizes(key);
    if (r < 0)
        return r;
    const bool live = shmbloom__may_answer(f);
    if (f->segment == NULL)
        return SHMBLOOM_UNVERIFIED;
    r = shmbloom__check_type(&f->hashing, key);
    if (r < 0 || !live)
        return r < 0 ? r : SHMBLOOM_UNVERIFIED;
    (void)shmbloom__hash_block(&f->hashing, key, 0, 1, hash);
    return shmbloom_test_bits(f->words, &f->shape, *hash);
}

static int report_found(shmbloom_filter *f, const struct shmbloom__keys *key) {
    uint64_t hash;
    uint8_t answer;
    const int r = probe_again(f, key, &hash);
    if (r != SHMBLOOM_ABSENT)
        return r;
    f->wrong_absent++;
    struct shmbloom__attempts a = shmbloom__begin_attempts(f);
    const struct shmbloom__request request = {.hash_domain = f->hashing.hash_domain,
                                              .hashes = &hash,
                                              .n = 1,
                                              .is_report = true,
                                              .generation = f->expected >> SHMBLOOM_GENERATION_SHIFT};
    return shmbloom__exchange(f, &a, &request, &answer);
}

static int report_missing(shmbloom_filter *f, const struct shmbloom__keys *key) {
    uint64_t hash;
    const int r = probe_again(f, key, &hash);
    if (r == SHMBLOOM_MAYBE)
        f->false_positives++;
    return r;
}

int shmbloom_report_found(shmbloom_filter *f, const void *key, size_t len) {
    const shmbloom_key one = {.data = key, .size = len};
    return report_found(f, &(struct shmbloom__keys){.kind = SHMBLOOM__KEYS, .data = &one, .n = 1});
}

int shmbloom_report_found_u64(shmbloom_filter *f, uint64_t key) {
    return report_found(f, &(struct shmbloom__keys){.kind = SHMBLOOM__NUMBERS, .data = &key, .n = 1});
}

int shmbloom_report_missing(shmbloom_filter *f, const void *key, size_t len) {
    const shmbloom_key one = {.data = key, .size = len};
    return report_missing(f, &(struct shmbloom__keys){.kind = SHMBLOOM__KEYS, .data = &one, .n = 1});
}

int shmbloom_report_missing_u64(shmbloom_filter *f, uint64_t key) {
    return report_missing(f, &(struct shmbloom__keys){.kind = SHMBLOOM__NUMBERS, .data = &key, .n = 1});
}
