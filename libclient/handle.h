/* What the files of libshmbloom share and nobody else sees: the handle, mappings, faults. */
#ifndef SHMBLOOM_HANDLE_H
#define SHMBLOOM_HANDLE_H

#include <sys/stat.h>

#include "internal.h"
#include "probes/probes.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SHMBLOOM__LIKELY(x) __builtin_expect(!!(x), 1)

#define SHMBLOOM__FOLDER_BYTES 256u /* as shmbloom_info.runtime_dir */
#define SHMBLOOM__PATH_BYTES 272u   /* a folder and "/control" */
#define SHMBLOOM__INSTANCE_BYTES 33u
#define SHMBLOOM__UUID_TEXT_BYTES 37u
#define SHMBLOOM__HINTS 256u

/* No gate can be this: a handle without a segment expects it. */
#define SHMBLOOM__NEVER UINT64_MAX

/* ---- Faults: why something failed, kept as facts, made a text only when somebody asks. ---- */

struct shmbloom__fault {
    int error;        /* -errno as shmbloom_open returns it, 0: none */
    const char *what; /* static text: what is wrong with `where`; may be NULL */
    char where[640];  /* a path, a list of paths or a name */
    int64_t group;    /* whose membership would help, -1: unknown */
};

/* Sets all of *fault and returns `error`. `where` may be NULL: as it was. */
int shmbloom__fail(struct shmbloom__fault *fault, int error, const char *where, const char *what);
/* The same from errno after a failed system call: -EACCES, -ENOENT ... as they are. */
int shmbloom__fail_errno(struct shmbloom__fault *fault, const char *where, const char *what);
/* One line: what, where, what is to be done. */
void shmbloom__describe_fault(const struct shmbloom__fault *fault, char *text, size_t size);
/* SHMBLOOM_HANDLE_* for a negative result of resolving. */
uint32_t shmbloom__handle_doubt(int error);

/* ---- Mappings. All of these need the process lock; users of a mapping hold it by a count. ---- */

enum shmbloom__trust {
    SHMBLOOM__GIVEN, /* the caller named this folder: anybody's, but writable by its owner alone */
    SHMBLOOM__FOUND, /* a well-known place: see folder.c */
};

struct shmbloom__control {
    struct shmbloom__control *next;
    unsigned users;
    dev_t dev;
    ino_t inode;
    uid_t owner;
    gid_t group;
    const char *base;
    size_t bytes;
    uint32_t slot_count, slot_bytes;
    uint64_t slots_offset;
    uint8_t state_uuid[SHMBLOOM_UUID_BYTES];
    uint8_t control_uuid[SHMBLOOM_UUID_BYTES];
    enum shmbloom__trust trust;
    char folder[SHMBLOOM__FOLDER_BYTES];
    /* Where names were found last, by a hash of the name: a second open need not look through every slot. */
    uint16_t hints[SHMBLOOM__HINTS];
};

struct shmbloom__segment {
    struct shmbloom__segment *next;
    unsigned users;
    dev_t dev;
    ino_t inode;
    uid_t owner;
    const char *base;
    size_t bytes;
    struct shmbloom_segment_header header; /* a checked copy; its gate means nothing */
    const uint64_t *gate;
};

bool shmbloom__lock(void);     /* waits; false: cannot happen but for a broken mutex */
bool shmbloom__try_lock(void); /* never waits */
void shmbloom__unlock(void);

/* NULL, or a mapping with one more use. */
struct shmbloom__control *shmbloom__mapped_control(dev_t dev, ino_t inode, const char *folder,
                                                   enum shmbloom__trust trust);
void shmbloom__enter_control(struct shmbloom__control *control);
/* Gives one use back. With `keep` the mapping that lost its last user last stays, so that a second open is cheap. */
void shmbloom__leave_control(struct shmbloom__control *control, bool keep);

struct shmbloom__segment *shmbloom__mapped_segment(dev_t dev, ino_t inode);
void shmbloom__enter_segment(struct shmbloom__segment *segment);
void shmbloom__leave_segment(struct shmbloom__segment *segment);
void shmbloom__sweep(void); /* lets go of an unused segment whose generation is over */

/* This machine's boot id, read once a process. 0 or -errno. */
int shmbloom__boot_id(uint8_t *ret);

/* ---- Folder and control. ---- */

/* Where to look, from options and environment. */
struct shmbloom__place {
    char given[SHMBLOOM__FOLDER_BYTES]; /* "": the well-known places */
    char instance[SHMBLOOM__INSTANCE_BYTES];
    bool lazy; /* the caller may come before the daemon: only places that cannot be another daemon's meanwhile */
};

/* `options` as checked by open: flags are looked at, too. */
int shmbloom__set_place(struct shmbloom__place *place, const shmbloom_options *options, struct shmbloom__fault *fault);

/* Returns 0 and a control with one use for the caller, or -errno as shmbloom_open. */
int shmbloom__find_control(const struct shmbloom__place *place, struct shmbloom__control **ret,
                           struct shmbloom__fault *fault);

/* Opens the folder itself after checking whom it belongs to: a descriptor (O_PATH) and its status, or -errno. */
int shmbloom__open_folder(const char *folder, enum shmbloom__trust trust, struct stat *status,
                          struct shmbloom__fault *fault);

/* The control at <folder>/control, mapped already or mapped now. -ENXIO: there is none of this boot. */
int shmbloom__open_control(const char *folder, enum shmbloom__trust trust, struct shmbloom__control **ret,
                           struct shmbloom__fault *fault);

const struct shmbloom_slot *shmbloom__slot(const struct shmbloom__control *control, uint32_t index);
const uint64_t *shmbloom__name_counter(const struct shmbloom__control *control);

/* Looks a name up, at *index first, or where it was last in this process. Needs the lock. 1: found, copy valid; 0:
 * found, but the slot is just being changed; -ENOENT: no filter of this name. */
#define SHMBLOOM__NO_SLOT UINT32_MAX
int shmbloom__find_slot(struct shmbloom__control *control, const char *name, uint32_t *index,
                        struct shmbloom_slot *copy);
bool shmbloom__has_name(const struct shmbloom_slot *copy, const char *name);

/* ---- Segment. ---- */

/* 0 and the segment of slot's generation with one use for the caller, mapped already or mapped now; -ENOLINK: its name
 * is gone; else -errno as shmbloom_open. */
int shmbloom__open_segment(const struct shmbloom__control *control, const struct shmbloom_slot *slot,
                           struct shmbloom__segment **ret, struct shmbloom__fault *fault);

/* Whether the segment is the one that the slot speaks of, and made for the same hashes. */
bool shmbloom__segment_fits(const struct shmbloom__segment *segment, const struct shmbloom__control *control,
                            const struct shmbloom_slot *slot);

uint64_t shmbloom__checksum(const struct shmbloom_segment_header *header); /* lookup.c: there XXH3 is inlined */

uint64_t shmbloom__daemon_pid(const struct shmbloom__control *control);
uint64_t shmbloom__heartbeat_age_ms(const struct shmbloom__control *control); /* SHMBLOOM_UNKNOWN: never beaten */
/* Calls `visit` for each filter until it returns non-zero. Needs a use of the control, not the lock. */
void shmbloom__visit_names(const struct shmbloom__control *control, int (*visit)(void *context, const char *name),
                           void *context);

/* ---- The handle. ---- */

/* What gates lead to that are not there. */
extern const uint64_t shmbloom__no_word;

struct shmbloom_filter {
    /* What a live lookup reads. Pointers are never NULL: without a segment they lead to a word that is 0. */
    const uint64_t *control_gate;
    const uint64_t *segment_gate;
    uint64_t expected; /* generation << 16 of the segment mapped, or SHMBLOOM__NEVER */
    const uint64_t *words;
    struct shmbloom_shape shape; /* copied out of the header: no number in shared memory is trusted twice */
    struct shmbloom__hashing hashing;
    uint64_t flips[2]; /* of its seed, for keys of 9 to 16 bytes */
    /* How single keys are looked up in this segment, how many hashes are tested, whether fetching ahead is no use. */
    int (*look_up)(shmbloom_filter *f, const void *key, size_t len);
    int (*look_up_number)(shmbloom_filter *f, uint64_t key);
    shmbloom__test_hashes *test;
    bool near;
    enum shmbloom__instructions instructions; /* chosen at open */
    /* What it counts: at fixed addresses, not one chosen by the bits that were read. */
    uint64_t probed; /* lookups that read bits */
    uint64_t maybe;  /* of these, found */
    bool withholds;  /* shadow or audit_one_in: not every "absent" is answered so */
    bool shadow;
    uint32_t audit_one_in;
    uint64_t random;                        /* state of the generator that picks what is audited; never 0 */
    uint64_t would_be_absent;               /* "absent" that shadow mode turned into 2 */
    uint64_t audited;                       /* "absent" that audit_one_in turned into 2 */
    uint64_t unprobed;                      /* lookups that were answered 2 without looking */
    uint64_t wrong_absent, false_positives; /* reported */

    /* What the last resolve saw: while none of it changes, another within 100 ms is no use. */
    bool resolved;
    uint64_t seen_control_gate, seen_segment_gate, seen_name_counter;
    int64_t seen_ns;

    struct shmbloom__control *control; /* NULL only in a lazy handle that has found none yet; never again after that */
    struct shmbloom__segment *segment; /* or NULL */
    const uint64_t *name_counter;
    uint32_t slot_index;
    char name[SHMBLOOM_NAME_BYTES + 1];
    struct shmbloom__place place; /* where the first control is looked for */
    struct shmbloom__fault fault; /* of the last resolve */

    int32_t add_timeout_ms;
    struct shmbloom__connection connection;
};

/* Brings the handle up to date: control, slot, segment. Waits for the process lock. 0 or -errno as shmbloom_open. */
int shmbloom__resolve(shmbloom_filter *f);
/* The same for a lookup that found the gates not as expected: at most once in 100 ms unless something changed, and
 * never waiting for the lock. True: the gates are as expected now. */
bool shmbloom__resolve_for_lookup(shmbloom_filter *f);
/* The same when the lock is held. The first one of a handle finds the control. */
int shmbloom__resolve_locked(shmbloom_filter *f);
void shmbloom__detach_segment(shmbloom_filter *f); /* the lock is held */

static inline bool shmbloom__is_live(const shmbloom_filter *f) {
    return shmbloom_load_gate(f->control_gate) == f->expected && shmbloom_load_gate(f->segment_gate) == f->expected;
}

/* Both gates must be as expected before any bit is read. An add acknowledged before this lookup began has its bits in
 * the segment of the generation that the gates named then; a switch, a pause or a drop changes a gate before the
 * segment is no longer fed, so gates that are still as expected vouch for every bit read afterwards (the loads
 * acquire). */
static inline bool shmbloom__may_answer(shmbloom_filter *f) {
    if (SHMBLOOM__LIKELY(shmbloom__is_live(f)))
        return true;
    return shmbloom__resolve_for_lookup(f);
}

/* Sets flips, look_up, look_up_number, test and near for the segment just attached. */
void shmbloom__choose_lookups(shmbloom_filter *f);

/* A key as it is; out of line, for XXH3 is large. */
uint64_t shmbloom__hash_plain(const void *key, size_t len, uint64_t seed);

/* Lookups of any key in any state of the handle; the ones below hand on to them what is not for them. */
int shmbloom__look_up(shmbloom_filter *f, const void *key, size_t len);
int shmbloom__look_up_number(shmbloom_filter *f, uint64_t key);
#if defined(__x86_64__)
/* Lookups in a `blocked` filter that answers as it finds and has keys of this type, without normalization. */
int shmbloom__look_up_avx2(shmbloom_filter *f, const void *key, size_t len);
int shmbloom__look_up_number_avx2(shmbloom_filter *f, uint64_t key);
#endif

/* The slot that the handle uses, copied; false: none, or it is just being changed. */
bool shmbloom__copy_slot(const shmbloom_filter *f, struct shmbloom_slot *copy);

/* 0 when a struct that the caller passed is one we understand, else -EINVAL. */
int shmbloom__check_struct(const void *data, uint32_t struct_size, size_t first_bytes, size_t known_bytes);

/* ---- Keys of a call. ---- */

enum shmbloom__keys_kind { SHMBLOOM__KEYS, SHMBLOOM__PACKED, SHMBLOOM__NUMBERS, SHMBLOOM__HASHES };

/* What a caller passed, in one of four forms. */
struct shmbloom__keys {
    enum shmbloom__keys_kind kind;
    const void *data;        /* shmbloom_key[n], the packed bytes, uint64_t[n] */
    const uint64_t *offsets; /* of PACKED: n + 1 */
    size_t n;
};

/* 0, or -EINVAL: NULL where there must be something, offsets that decrease. Says nothing of single keys. */
int shmbloom__check_keys(const struct shmbloom__keys *keys);
/* 0, or the errno of the first key that cannot be one: -E2BIG, -EINVAL (NULL and a size). */
int shmbloom__check_sizes(const struct shmbloom__keys *keys);
/* 0, or -EPROTOTYPE: keys of the other type. Ready hashes are of any. */
int shmbloom__check_type(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys);

/* Keys that are hashed together, bits of the masks below. */
#define SHMBLOOM__BLOCK SHMBLOOM__HASHES_AT_ONCE

/* Hashes `count` keys, at most a block, from `begin` on; their type has been checked. A key that cannot be one has its
 * bit set in what is returned, and hash 0. */
uint64_t shmbloom__hash_block(const struct shmbloom__hashing *hashing, const struct shmbloom__keys *keys, size_t begin,
                              size_t count, uint64_t *hashes);

/* Decides on an "absent" that was found while f->withholds: 0, or 2 and counted. */
int shmbloom__withhold(shmbloom_filter *f);

/* ---- Exchanges with the daemon (exchange.c). ---- */

/* SB.ADDH; or SB.REPORT, of one hash. */
struct shmbloom__request {
    uint64_t hash_domain;
    const uint64_t *hashes;
    size_t n;
    bool is_report;
    uint64_t generation; /* of a report */
};

/* One add, over all its attempts. */
struct shmbloom__attempts {
    int64_t deadline_ns, pause_ns;
    bool waits;
    /* The daemon may have carried an earlier attempt out: "absent" or "maybe" would now speak of that one. */
    bool maybe_added;
};

struct shmbloom__attempts shmbloom__begin_attempts(const shmbloom_filter *f);
/* Waits a little; false: no time is left. */
bool shmbloom__may_try_again(struct shmbloom__attempts *a);
/* 0 with `request->n` answers, or -errno with none; -ESTALE: hash again. */
int shmbloom__exchange(shmbloom_filter *f, struct shmbloom__attempts *a, const struct shmbloom__request *request,
                       uint8_t *answers);

/* ---- Connection: commands that travel together. ---- */

/* Appends a command to what shmbloom__flush sends. 0 or -ENOMEM; on failure the connection is closed. */
int shmbloom__queue(struct shmbloom__connection *c, const struct shmbloom__argument *arguments, size_t count);
int shmbloom__queue_hello(struct shmbloom__connection *c);
int shmbloom__flush(struct shmbloom__connection *c, int64_t deadline_ns);
int shmbloom__receive_hello(struct shmbloom__connection *c, int64_t deadline_ns);
/* Waits a little, at most to the deadline: the pause before another attempt. */
void shmbloom__pause(int64_t *pause_ns, int64_t deadline_ns);

/* ---- Text. ---- */

void shmbloom__format_uuid(const uint8_t *uuid, char *text); /* SHMBLOOM__UUID_TEXT_BYTES */
bool shmbloom__parse_uuid(const char *text, size_t size, uint8_t *uuid);
void shmbloom__join_doubts(uint64_t doubts, char *text, size_t size);
void shmbloom__join_handle_doubts(uint32_t doubts, char *text, size_t size);
void shmbloom__join_warnings(uint32_t warnings, char *text, size_t size);
const char *shmbloom__layout_word(uint32_t layout);
const char *shmbloom__key_type_word(uint32_t key_type);
const char *shmbloom__normalization_words(uint32_t normalization);
const char *shmbloom__durability_word(uint32_t durability);

#ifdef __cplusplus
}
#endif

#endif
