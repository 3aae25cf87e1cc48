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
 */
#ifndef SHMBLOOM_H
#define SHMBLOOM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define SHMBLOOM_ABSENT 0     /* certainly never added */
#define SHMBLOOM_MAYBE 1      /* added, or a false positive at the rate the filter was made for */
#define SHMBLOOM_UNVERIFIED 2 /* cannot say: treat it as "maybe" */

/* A handle on one filter by name. It follows the name: dropped, it answers 2; created again, it uses the new one. */
typedef struct shmbloom_filter shmbloom_filter;

typedef struct shmbloom_options {
    uint32_t struct_size;
    uint32_t flags;          /* none is defined yet: 0 */
    const char *instance;    /* NULL: $SHMBLOOM_INSTANCE, else "default" */
    const char *runtime_dir; /* NULL: $SHMBLOOM_RUNTIME_DIR, else the first of /run/shmbloom/<instance>,
                                $XDG_RUNTIME_DIR/shmbloom/<instance>, /tmp/shmbloom-<uid>/<instance> in use */
    int32_t add_timeout_ms;  /* 0: 1,000. -1: do not wait (see shmbloom_add). At most 86,400,000 */
    uint32_t reserved;       /* 0 */
    char *error_text;        /* NULL, or where a failing shmbloom_open writes one line that says what to do */
    size_t error_text_size;
} shmbloom_options;

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

#define SHMBLOOM_UNKNOWN UINT64_MAX /* in a uint64_t field: unknown; in a double: negative */

typedef struct shmbloom_info {
    uint32_t struct_size;
    int32_t live;            /* 1: answers may be "absent"; 0: every answer is 2 */
    char name[72];
    char uuid[40];           /* 36 characters; "" when there is no filter */
    char doubts_text[160];   /* words of `doubts`, separated by commas; "" when there is none */
    char handle_doubts_text[160]; /* words of `handle_doubts`, and what is to be done */
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
    uint64_t absent, maybe, unverified; /* answers that this handle has given */
    char runtime_dir[256];
} shmbloom_info;

/* Opens the filter `name` (1 to 64 of A-Z a-z 0-9 . _ : -). `options` may be NULL. Succeeds also while the filter is in
 * doubt, or its memory has lost its name: lookups then answer 2 and become certain by themselves. Returns 0 and sets *ret, which shmbloom_close frees, or
 *   -EINVAL  bad name or option, struct_size 0, an unknown flag or a non-zero unknown tail
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

/* Looks a key up; see conventions 1 and 6. `key` may be NULL when len is 0. A NULL handle, a longer key than 1 MiB, a key
 * of the other key type: 2. */
int shmbloom_contains(shmbloom_filter *f, const void *key, size_t len);
int shmbloom_contains_u64(shmbloom_filter *f, uint64_t key);

/* Adds a key. Returns the answer that a lookup would have had just before: SHMBLOOM_ABSENT (it is new), SHMBLOOM_MAYBE
 * or SHMBLOOM_UNVERIFIED (also when the add was sent more than once); with each of them the add is acknowledged. Of two
 * adds that race exactly one is told "absent". Waits at most add_timeout_ms; a refused or broken connection is tried again
 * within that time. With add_timeout_ms -1 it never waits: -EINPROGRESS says that the add was sent, and nothing else.
 * Negative: not added, or unknown whether added; adding again is always safe.
 *   -E2BIG key above 1 MiB          -EPROTOTYPE key of the other type     -EINVAL NULL handle
 *   -ETIMEDOUT no reply in time: unknown       -EINPROGRESS sent, not waited for: unknown
 *   -ECONNREFUSED, -ENXIO no daemon            -EACCES the socket may not be used
 *   -ENAMETOOLONG the socket's path has more than 107 characters
 *   -ESTALE the daemon and this handle did not come to agree on the filter in time: not added
 *   -ENOENT no such filter   -ENOMEM, -ENOSPC, -EIO, -EBUSY, -EPERM, -ERANGE refused by the daemon, nothing acknowledged
 *   -EPROTO a reply that is not understood: unknown */
int shmbloom_add(shmbloom_filter *f, const void *key, size_t len);
int shmbloom_add_u64(shmbloom_filter *f, uint64_t key);

/* Describes filter and handle, and refreshes the handle: an idle one learns of a new generation here. `ret->struct_size`
 * must be set. Returns 0, also for a filter in doubt or without a daemon (unknown fields say so), or -EINVAL. */
int shmbloom_get_info(shmbloom_filter *f, shmbloom_info *ret);

/* A short static text for a value returned by these functions. Never NULL. Thread-safe. */
const char *shmbloom_strerror(int r);

/* "MAJOR.MINOR.PATCH" of the library that is linked. */
const char *shmbloom_version(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
