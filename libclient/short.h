/* The shortest way through a lookup, made for each way to test. */
#ifndef SHMBLOOM_SHORT_H
#define SHMBLOOM_SHORT_H

#include "handle.h"
#include "shmbloom/key.h"

#define SHMBLOOM__INLINE static inline __attribute__((always_inline))

typedef int shmbloom__test_hash(const shmbloom_filter *f, uint64_t hash);

SHMBLOOM__INLINE int shmbloom__count(shmbloom_filter *f, int found) {
    f->probed++;
    f->maybe += (unsigned)found;
    return found; /* SHMBLOOM_MAYBE or SHMBLOOM_ABSENT */
}

/* For handles whose segment has such keys, without normalization, and which do not withhold. `test` is a constant, and
 * so is `longer`, which looks up what is longer than short, behind the same look at the gates; a function of its own,
 * so that this one needs no stack. */
SHMBLOOM__INLINE int shmbloom__look_up_short(shmbloom_filter *f, const void *key, size_t len, shmbloom__test_hash *test,
                                             int (*longer)(shmbloom_filter *f, const void *key, size_t len)) {
    if (!SHMBLOOM__LIKELY(shmbloom__is_live(f)) || !SHMBLOOM__LIKELY(key != NULL))
        return shmbloom__look_up(f, key, len);
    if (SHMBLOOM__LIKELY(len - 9 < 8))
        return shmbloom__count(f, test(f, shmbloom_hash_9_to_16(key, len, f->flips)));
    if (len - 1 < 8)
        return shmbloom__count(f, test(f, shmbloom_hash_short(key, len, f->hashing.seed)));
    if (!SHMBLOOM__LIKELY(len - 1 < SHMBLOOM_KEY_MAX_BYTES))
        return shmbloom__look_up(f, key, len);
    return longer(f, key, len);
}

SHMBLOOM__INLINE int shmbloom__look_up_short_number(shmbloom_filter *f, uint64_t key, shmbloom__test_hash *test) {
    if (!SHMBLOOM__LIKELY(shmbloom__is_live(f)))
        return shmbloom__look_up_number(f, key);
    return shmbloom__count(f, test(f, shmbloom_hash_number(key, f->hashing.seed)));
}

#endif
