/* libshmbloom: ask a Bloom filter that shmbloomd keeps in shared memory whether an ID can exist at all.
 *
 * Conventions
 *  1. Lookups answer SHMBLOOM_ABSENT 0, SHMBLOOM_MAYBE 1 or SHMBLOOM_UNVERIFIED 2 and nothing else, whatever happens.
 *     "Absent" is certain: no add of this key was ever acknowledged by this machine's daemon. Whatever is in doubt or
 *     goes wrong is 2; shmbloom_get_info tells why. So a naive `if (shmbloom_contains(...))` goes on to the database.
 *  2. All other functions return a negative errno on failure, else 0 or the answer. `errno` itself is neither read
 *     nor kept. Outputs (`ret`) come last or are named so, and are set on success only.
 *  3. A handle belongs to one thread at a time; different handles may be used by different threads at the same time.
 *     Handles of a process share one mapping of a filter, so a handle for each thread is cheap.
 *  4. Lookups work in forked children, and while the daemon is stopped. While a filter is live a lookup makes no system
 *     call, takes no lock, allocates nothing and writes nothing to shared memory.
 *  5. Adds go through the daemon, by a socket that each handle opens at its first add. A forked child opens its own.
 *  6. Keys are any bytes, also none, of at most 1 MiB. A filter of key type u64 takes the _u64 functions only, a filter
 *     of key type bytes the others only.
 *  7. Structs that you pass begin with their size: set struct_size to sizeof the struct, all else to zero, then what
 *     you want. Fields are only ever added, at the end.
 *  8. No signal is raised or handled, nothing is printed. Only libc is needed.
 *  9. Batches fill all n answers before anything else, lookups with SHMBLOOM_UNVERIFIED, adds with SHMBLOOM_NOT_ADDED,
 *     and change only what they know, so that an ignored error never reads as "absent". n may be 0: then pointers may
 *     be NULL, and 0 is returned. Else a NULL handle or pointer is -EINVAL, with every answer preset as long as
 *     `answers` is not NULL itself.
 *     A key's data may be NULL when its size is 0; packed bytes may be NULL when every key has size 0.
 * 10. Between the two lines "cut here" stand plain declarations without macros, for the ffi.cdef of LuaJIT and Python's
 *     cffi, and PHP's FFI::cdef: cut them out and load libshmbloom.so.1.
 */
#ifndef SHMBLOOM_H
#define SHMBLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SHMBLOOM_UNKNOWN UINT64_MAX /* in a uint64_t field: unknown; in a double: negative */

/* Doubts of a filter: reasons to answer 2, bits of shmbloom_info.doubts. */
#define SHMBLOOM_INFO_PARTIAL 1u  /* its bits are incomplete */
#define SHMBLOOM_INFO_WARMING 2u  /* its source has not been declared complete */
#define SHMBLOOM_INFO_PAUSED 4u   /* an operator paused it */
#define SHMBLOOM_INFO_LOSSY 8u    /* acknowledged adds may be missing */
#define SHMBLOOM_INFO_DAMAGED 16u /* a stored byte failed its check */

/* Doubts of a handle, bits of shmbloom_info.handle_doubts. */
#define SHMBLOOM_HANDLE_NO_CONTROL 1u    /* no daemon of this boot has been here */
#define SHMBLOOM_HANDLE_NO_FILTER 2u     /* no filter of this name */
#define SHMBLOOM_HANDLE_NO_PERMISSION 4u /* not in the daemon's group, or a folder that is not to be trusted */
#define SHMBLOOM_HANDLE_FORMAT 8u        /* written by a newer daemon, or not what it should be */
#define SHMBLOOM_HANDLE_BUSY 16u         /* could not look just now (lock, descriptors, memory); tried again */
#define SHMBLOOM_HANDLE_NO_SEGMENT 32u   /* its memory has lost its name, or is over: the daemon's next start helps */

/* Warnings: need an operator, change no answer. */
#define SHMBLOOM_INFO_DEGRADED 1u
#define SHMBLOOM_INFO_FULL 2u
#define SHMBLOOM_INFO_GROWTH_BLOCKED 4u
#define SHMBLOOM_INFO_ADDS_REFUSED 8u
#define SHMBLOOM_INFO_NAME_LOST 16u

/* ---- cut here: plain declarations ---- */

enum {
    SHMBLOOM_ABSENT = 0,      /* certainly never added */
    SHMBLOOM_MAYBE = 1,       /* added, or a false positive at the rate the filter was made for */
    SHMBLOOM_UNVERIFIED = 2,  /* cannot say: treat it as "maybe" */
    SHMBLOOM_NOT_ADDED = 255  /* in the answers of a batch of adds: not acknowledged */
};

/* Flags of shmbloom_options. */
enum {
    /* Succeeds also without a daemon or a filter of this name (-ENXIO, -ENOENT), and nothing else is forgiven: no
     * permission, a bad name, an unknown format still fail. Lookups answer 2, and look again at most once in 100 ms,
     * until both are there. Looks in runtime_dir, $SHMBLOOM_RUNTIME_DIR and /run/shmbloom/<instance> only. */
    SHMBLOOM_OPEN_LAZY = 1,
    /* For a trial: each "absent" is answered 2 and counted as would_be_absent. Adds and reports are as ever. The
     * environment SHMBLOOM_MODE=shadow does the same for every handle; "enforce" or none: only where asked for. */
    SHMBLOOM_OPEN_SHADOW = 2
};

/* A handle on one filter by name. It follows the name: dropped, it answers 2; created again, it uses the new one. */
typedef struct shmbloom_filter shmbloom_filter;

typedef struct shmbloom_options {
    uint32_t struct_size;
    uint32_t flags;          /* SHMBLOOM_OPEN_* */
    const char *instance;    /* NULL: $SHMBLOOM_INSTANCE, else "default" */
    const char *runtime_dir; /* NULL: $SHMBLOOM_RUNTIME_DIR, else the first of /run/shmbloom/<instance>,
                                $XDG_RUNTIME_DIR/shmbloom/<instance>, /tmp/shmbloom-<uid>/<instance> in use */
    int32_t add_timeout_ms;  /* 0: 1,000. -1: do not wait (see shmbloom_add). At most 86,400,000 */
    uint32_t audit_one_in;   /* 0: off. N: about one "absent" in N, picked at random, is answered 2 and counted as
                                audited, so that the way to the source, with shmbloom_report_found, measures wrong
                                answers for ever */
    char *error_text;        /* NULL, or where a failing shmbloom_open writes one line that says what to do */
    size_t error_text_size;
} shmbloom_options;

/* One key of a batch. */
typedef struct shmbloom_key {
    const void *data; /* may be NULL when size is 0 */
    size_t size;
} shmbloom_key;

typedef struct shmbloom_info {
    uint32_t struct_size;
    int32_t live;            /* 1: answers may be "absent"; 0: every answer is 2 */
    char name[72];
    char uuid[40];           /* 36 characters; "" when there is no filter */
    char doubts_text[160];   /* words of `doubts`, separated by commas; "" when there is none */
    char handle_doubts_text[256]; /* words of `handle_doubts`, and what is to be done */
    char warnings_text[160];
    char layout[16];         /* "classic", "blocked" */
    char key_type[16];       /* "bytes", "u64" */
    char normalize[32];      /* "", "trim", "lower", "trim,lower" */
    char durability[16];     /* "memory", "durable", "logged" */
    uint32_t doubts;
    uint32_t handle_doubts;
    uint32_t warnings;
    uint32_t probes;         /* classic: probes of a lookup; blocked: bits in each of four words. 0 = unknown */
    uint64_t hash_domain;
    uint64_t generation;
    uint64_t lineage;        /* the generation in which this content began */
    uint64_t capacity;       /* keys, as asked for */
    double fpr;              /* rate of false positives at `capacity`, as asked for */
    uint64_t bits;           /* bits of the filter */
    uint64_t blocks;         /* 64-byte blocks; 0 for classic */
    uint64_t memory_bytes;   /* of the segment */
    uint64_t huge_page_bytes;
    uint64_t bits_set;
    uint64_t adds_acknowledged; /* since the filter was created, duplicates too */
    uint64_t adds_new;          /* of these, answered "absent" */
    uint64_t adds_refused;      /* adds that were turned away */
    uint64_t estimated_keys;    /* from the bits set, by the daemon, once a second */
    double estimated_fpr;       /* rate of false positives now */
    uint64_t headroom_keys;     /* capacity less estimated keys, at least 0 */
    uint64_t live_since;        /* unix seconds; 0 while in doubt */
    uint64_t doubt_since[5];    /* unix seconds by bit of `doubts`; 0: no such doubt */
    double fill;                /* share of bits set, 0 to 1 */
    uint64_t heartbeat_age_ms;  /* since the daemon's last sign of life; above 3,000 it is stopped or hangs */
    uint64_t daemon_pid;
    /* Answers that this handle has given: */
    uint64_t absent;
    uint64_t maybe;
    uint64_t unverified;
    uint64_t would_be_absent; /* of these, "absent" in shadow mode */
    uint64_t audited;         /* of these, "absent" picked by audit_one_in */
    /* What was reported to this handle: */
    uint64_t wrong_absent;    /* shmbloom_report_found, and a live filter says "absent" */
    uint64_t false_positives; /* shmbloom_report_missing, and a live filter says "maybe" */
    uint64_t wrong_absents_of_all; /* wrong_absent of every handle on this machine, as the daemon was told */
    char runtime_dir[256];
    double keys_per_day;     /* new keys, over the last day at most; 0: none, or not known yet; negative: unknown */
} shmbloom_info;

/* Opens the filter `name` (1 to 64 of A-Z a-z 0-9 . _ : -). `options` may be NULL. Succeeds also while the filter is in
 * doubt, or its memory has lost its name: lookups then answer 2 and become certain by themselves. Under 1 ms; under 5
 * us when this process has the filter mapped already. Returns 0 and sets *ret, which shmbloom_close frees, or
 *   -EINVAL  bad name or option, struct_size 0, an unknown flag or a non-zero unknown tail, a bad SHMBLOOM_MODE
 *            or SHMBLOOM_SIMD (none: without vector instructions, with the same answers)
 *   -ENXIO   no daemon of this boot has been here: no control file in any of the folders looked at
 *   -ENOENT  no filter of this name
 *   -EACCES  the control file or the segment may not be read: not in the daemon's group
 *   -EPERM   the folder, control or segment belongs to somebody who is not to be trusted
 *   -EPROTONOSUPPORT  written by a newer daemon      -EBADMSG  not what it should be
 *   -ENOMEM, -EMFILE, -ENFILE  could not be mapped (or another -errno of the system)
 * On failure options->error_text holds one line with the path, or the group, and what to do. Thread-safe. */
int shmbloom_open(shmbloom_filter **ret, const char *name, const shmbloom_options *options);

/* Frees the handle and its connection. NULL is fine. Returns NULL. Thread-safe for different handles. */
shmbloom_filter *shmbloom_close(shmbloom_filter *f);

/* Looks a key up; see conventions 1 and 6. `key` may be NULL when len is 0. A NULL handle, a longer key than 1 MiB, a
 * key of the other key type: 2. */
int shmbloom_contains(shmbloom_filter *f, const void *key, size_t len);
int shmbloom_contains_u64(shmbloom_filter *f, uint64_t key);

/* Look n keys up; see convention 9. Much faster than one by one where the filter is larger than the caches. A doubt, a
 * new generation or a drop counts from the next 64 keys on. Return 0 or, always with all answers valid, what is wrong
 * with the first key with which something is, also while the filter is in doubt:
 *   -EINVAL      a NULL that must not be, offsets that decrease: every answer is 2; a key that is NULL and has a size:
 *                its answer is 2, the others are answered
 *   -EPROTOTYPE  keys of the other type: their answers are 2
 *   -E2BIG       a key above 1 MiB: its answer is 2, the others are answered
 * _packed: the bytes of key i are bytes[offsets[i]] to before bytes[offsets[i + 1]]; there are n + 1 offsets. */
int shmbloom_contains_many(shmbloom_filter *f, const shmbloom_key *keys, size_t n, uint8_t *answers);
int shmbloom_contains_packed(shmbloom_filter *f, const void *bytes, const uint64_t *offsets, size_t n,
                             uint8_t *answers);
int shmbloom_contains_many_u64(shmbloom_filter *f, const uint64_t *keys, size_t n, uint8_t *answers);

/* The hash of a key, and the hash domain that it is valid for: what a filter was made with. Both from one moment; keep
 * them together. Filters of an instance with the same normalization and key type share a domain. Return 0 or
 *   -E2BIG, -EPROTOTYPE, -EINVAL as shmbloom_add; -EBUSY just being changed; or as shmbloom_open: no filter now */
int shmbloom_hash(shmbloom_filter *f, const void *key, size_t len, uint64_t *hash, uint64_t *hash_domain);
int shmbloom_hash_u64(shmbloom_filter *f, uint64_t key, uint64_t *hash, uint64_t *hash_domain);

/* Looks n hashes up, as shmbloom_contains_many does keys. All must be of `hash_domain`; -ESTALE when the filter has
 * another one: every answer is 2, hash again. */
int shmbloom_contains_hashes(shmbloom_filter *f, uint64_t hash_domain, const uint64_t *hashes, size_t n,
                             uint8_t *answers);

/* Adds a key. Returns the answer that a lookup would have had just before: SHMBLOOM_ABSENT (it is new), SHMBLOOM_MAYBE
 * or SHMBLOOM_UNVERIFIED (also when the add was sent more than once); with each of them the add is acknowledged. Of two
 * adds that race exactly one is told "absent". Waits at most add_timeout_ms; a refused or broken connection is tried
 * again within that time. With add_timeout_ms -1 it never waits: -EINPROGRESS says that the add was sent, and nothing
 * else.
 * Negative: not added, or unknown whether added; adding again is always safe.
 *   -E2BIG key above 1 MiB          -EPROTOTYPE key of the other type     -EINVAL NULL handle
 *   -ETIMEDOUT no reply in time: unknown       -EINPROGRESS sent, not waited for: unknown
 *   -ECONNREFUSED, -ENXIO no daemon            -EACCES the socket may not be used
 *   -ENAMETOOLONG the socket's path has more than 107 characters    -EBADMSG control is not what it should be
 *   -ESTALE the daemon and this handle did not come to agree on the filter in time: not added
 *   -ENOENT no such filter   -EDQUOT it is full, and made so that it refuses new keys then
 *   -ENOMEM, -ENOSPC, -EIO, -EBUSY, -EPERM, -ERANGE refused by the daemon, nothing acknowledged
 *   -EPROTO a reply that is not understood: unknown */
int shmbloom_add(shmbloom_filter *f, const void *key, size_t len);
int shmbloom_add_u64(shmbloom_filter *f, uint64_t key);

/* Add n keys; see convention 9. answers[i] becomes what shmbloom_add would have returned; what is not
 * SHMBLOOM_NOT_ADDED is acknowledged, whatever is returned. Keys travel by 65,536, acknowledged all or none; each such
 * part has add_timeout_ms for itself. Return 0 when all are acknowledged, else
 *   -EINVAL, -E2BIG    a NULL that must not be, offsets that decrease, a key above 1 MiB: nothing was sent
 *   -EPROTOTYPE        keys of the other type: nothing was sent, or, if the filter was made anew meanwhile, not the
 *                      rest
 *   or as shmbloom_add, of the part that failed; parts behind it were not sent. -EINPROGRESS: all were sent. */
int shmbloom_add_many(shmbloom_filter *f, const shmbloom_key *keys, size_t n, uint8_t *answers);
int shmbloom_add_packed(shmbloom_filter *f, const void *bytes, const uint64_t *offsets, size_t n, uint8_t *answers);
int shmbloom_add_many_u64(shmbloom_filter *f, const uint64_t *keys, size_t n, uint8_t *answers);

/* The source has this key. Looks it up again, past shadow mode and audits. If a live filter says "absent", that was
 * wrong: counts wrong_absent, tells the daemon, which logs and counts it and adds the key, and returns SHMBLOOM_ABSENT
 * once that is acknowledged. Else adds nothing and returns the answer. Negative as shmbloom_add: the daemon was not
 * told, or it is unknown; also -ESTALE when the filter was made anew meanwhile. Call it for every key that is found in
 * the source after an answer 2; while all is well that costs a lookup. */
int shmbloom_report_found(shmbloom_filter *f, const void *key, size_t len);
int shmbloom_report_found_u64(shmbloom_filter *f, uint64_t key);

/* The source does not have this key. Looks it up again; "maybe" is counted as a false positive of this handle. Returns
 * the answer, or -EINVAL, -E2BIG, -EPROTOTYPE. Speaks to nobody. */
int shmbloom_report_missing(shmbloom_filter *f, const void *key, size_t len);
int shmbloom_report_missing_u64(shmbloom_filter *f, uint64_t key);

/* Describes filter and handle, and refreshes the handle: an idle one learns of a new generation here.
 * `ret->struct_size` must be set. Returns 0, also for a filter in doubt or without a daemon (unknown fields say so), or
 * -EINVAL. */
int shmbloom_get_info(shmbloom_filter *f, shmbloom_info *ret);

/* A short static text for a value returned by these functions. Never NULL. Thread-safe. */
const char *shmbloom_strerror(int r);

/* "MAJOR.MINOR.PATCH" of the library that is linked. */
const char *shmbloom_version(void);

/* ---- cut here: end of plain declarations ---- */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
