/* What the files of libshmbloom share, and what `ctl` links from the static library. Never installed.
 *
 *   open.c        shmbloom_open, close: options, the handle
 *   lookup.c      shmbloom_contains: the two gates, then the bits; hashes
 *   lookup_avx2.c the same for most filters on most machines, in fewer instructions
 *   batch.c       shmbloom_contains_many and its kin
 *   resolve.c     the slow path: control, slot, segment, in that order
 *   folder.c      finding and trusting the runtime folder
 *   control.c     mapping and checking control, slots by name
 *   segment.c     mapping and checking a segment
 *   process.c     what a process shares between handles: lock, mapped controls and segments
 *   add.c         shmbloom_add, shmbloom_add_many and its kin
 *   report.c      shmbloom_report_found, _missing
 *   exchange.c    one command of theirs, tried until the deadline
 *   connection.c  a socket to the daemon, commands out, replies in, by a deadline
 *   info.c        shmbloom_get_info
 *   text.c        names of doubts, layouts, faults ...; shmbloom_strerror
 *
 * handle.h is what they share among themselves only.
 */
#ifndef SHMBLOOM_INTERNAL_H
#define SHMBLOOM_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shmbloom/layout.h"
#include "shmbloom/probe.h"
#include "shmbloom/shmbloom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Connection: one request, one reply, always within a deadline (CLOCK_MONOTONIC nanoseconds). ---- */

/* A reply, or one element of an array reply. Texts point into the connection's buffer and live until the next call. */
enum shmbloom__reply_type { SHMBLOOM__SIMPLE, SHMBLOOM__ERROR, SHMBLOOM__INTEGER, SHMBLOOM__BULK, SHMBLOOM__NIL, SHMBLOOM__ARRAY };

struct shmbloom__reply {
    enum shmbloom__reply_type type;
    int64_t integer;  /* INTEGER: the value; ARRAY: how many elements follow, each read by another shmbloom__receive */
    const char *text; /* SIMPLE, ERROR, BULK: not terminated */
    size_t size;
};

struct shmbloom__argument {
    const void *data;
    size_t size;
};

struct shmbloom__connection {
    int fd; /* -1: closed */
    pid_t owner; /* a forked child must not use its parent's connection */
    char *input;
    size_t input_capacity, input_begin, input_end;
    char *output; /* commands that wait to be sent */
    size_t output_capacity, output_size;
    uint8_t control_uuid[SHMBLOOM_UUID_BYTES]; /* of the daemon that answered HELLO */
};

/* Every field, since a C++ compiler warns of those left out. */
#define SHMBLOOM__CONNECTION_CLOSED \
    {.fd = -1, .owner = 0, .input = NULL, .input_capacity = 0, .input_begin = 0, .input_end = 0, .output = NULL, \
     .output_capacity = 0, .output_size = 0, .control_uuid = {0}}

int64_t shmbloom__monotonic_ns(void);

/* Connects to <runtime_dir>/socket, without HELLO. 0; -ECONNREFUSED, -ENOENT (no socket), -EACCES, -EAGAIN (backlog
 * full), -ENAMETOOLONG, -ETIMEDOUT, -EMFILE ... On failure the connection is closed. Does not retry. */
int shmbloom__connect(struct shmbloom__connection *c, const char *runtime_dir, int64_t deadline_ns);
/* Closes the socket; the buffers stay for the next one. shmbloom__free_connection frees them too. */
void shmbloom__disconnect(struct shmbloom__connection *c);
void shmbloom__free_connection(struct shmbloom__connection *c);

/* Sends one command of `count` arguments. 0 or -errno; on failure the connection is closed. */
int shmbloom__send(struct shmbloom__connection *c, const struct shmbloom__argument *arguments, size_t count,
                   int64_t deadline_ns);

/* Reads one reply or array element. 0 or -errno: -ETIMEDOUT, -ECONNRESET (the daemon went away), -EPROTO (not RESP);
 * on failure the connection is closed, so that a late reply never answers the next call. */
int shmbloom__receive(struct shmbloom__connection *c, struct shmbloom__reply *ret, int64_t deadline_ns);

/* HELLO: sends it, reads the reply, keeps control_uuid. 0 or -errno; on failure the connection is closed. */
int shmbloom__hello(struct shmbloom__connection *c, int64_t deadline_ns);

/* The first word of an error reply as a negative errno; -EPROTO for ERR and unknown words. */
int shmbloom__reply_errno(const struct shmbloom__reply *reply);

/* ---- Handles, beyond the public functions. ---- */

/* One validated copy of the filter's slot: what an add is hashed with. 0 or -errno as shmbloom_open. */
struct shmbloom__hashing {
    uint64_t seed, hash_domain;
    uint32_t normalization, key_type;
};
int shmbloom__get_hashing(shmbloom_filter *f, struct shmbloom__hashing *ret);

/* Hash of a key of type bytes. 0, -E2BIG or -EPROTOTYPE. */
int shmbloom__hash(const struct shmbloom__hashing *hashing, const void *key, size_t len, uint64_t *ret);
/* Hash of a key given as text: by its bytes, or as a u64's digits (-ERANGE when they are not a u64). */
int shmbloom__hash_text(const struct shmbloom__hashing *hashing, const void *text, size_t len, uint64_t *ret);
int shmbloom__hash_u64(const struct shmbloom__hashing *hashing, uint64_t key, uint64_t *ret);

/* Looks a ready hash up; `hash_domain` is what it was made for: another one is answered 2. */
int shmbloom__contains_hash(shmbloom_filter *f, uint64_t hash_domain, uint64_t hash);

/* Adds ready hashes, at most SHMBLOOM__ADD_BATCH of them. 0 with all `answers` set to 0, 1 or 2, or -errno as
 * shmbloom_add (then answers are untouched); -ESTALE: the hash domain is not the filter's any more, hash again. */
#define SHMBLOOM__ADD_BATCH 65536u
int shmbloom__add_hashes(shmbloom_filter *f, uint64_t hash_domain, const uint64_t *hashes, size_t n, uint8_t *answers);

/* Folder of the control that this handle has mapped; "" while a lazy one has found none. */
const char *shmbloom__runtime_dir(const shmbloom_filter *f);

/* Names of the filters that a daemon's control holds now, without a handle: calls `visit` for each until it returns
 * non-zero. Finds the folder as shmbloom_open does. 0 or -errno with error_text as shmbloom_open; *heartbeat_age_ms and
 * runtime_dir (of at least 256 bytes) are set on success. */
int shmbloom__list(const shmbloom_options *options, int (*visit)(void *context, const char *name), void *context,
                   uint64_t *heartbeat_age_ms, char *runtime_dir, size_t runtime_dir_size);

/* The same with all that control says of the daemon. */
struct shmbloom__daemon {
    uint64_t pid;              /* of the last one; 0: none has been there */
    uint64_t heartbeat_age_ms; /* SHMBLOOM_UNKNOWN: never beaten */
    char runtime_dir[256];
};
int shmbloom__list_of(const shmbloom_options *options, int (*visit)(void *context, const char *name), void *context,
                      struct shmbloom__daemon *ret);

#ifdef __cplusplus
}
#endif

#endif
