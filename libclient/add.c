/* Adds: hashed here, acknowledged by the daemon. Never answered from the bits that this process sees: each acknowledged
 * add must be the daemon's. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"

/* The daemon keeps another control than this handle has mapped; never returned to callers. */
#define OTHER_CONTROL (-EREMCHG)

/* One add, over all its attempts. */
struct attempts {
    int64_t deadline_ns, pause_ns;
    bool waits;
    /* The daemon may have carried an earlier attempt out: "absent" or "maybe" would now speak of that one. */
    bool maybe_added;
};

static struct attempts begin(const shmbloom_filter *f) {
    const bool waits = f->add_timeout_ms >= 0;
    return (struct attempts){.waits = waits,
                             .deadline_ns = waits ? shmbloom__monotonic_ns() + f->add_timeout_ms * INT64_C(1000000) : 0};
}

static bool may_try_again(struct attempts *a) {
    if (!a->waits || shmbloom__monotonic_ns() >= a->deadline_ns)
        return false;
    shmbloom__pause(&a->pause_ns, a->deadline_ns);
    return true;
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
    *ret = (struct shmbloom__hashing){.seed = slot.seed,
                                      .hash_domain = slot.hash_domain,
                                      .normalization = slot.normalization,
                                      .key_type = slot.key_type};
    return 0;
}

static int queue_add(shmbloom_filter *f, uint64_t hash_domain, const uint64_t *hashes, size_t n) {
    char domain[17];
    (void)!snprintf(domain, sizeof domain, "%016" PRIx64, hash_domain);
    /* The format of memory and wire is this machine's own: little-endian. */
    const struct shmbloom__argument arguments[] = {
        {"SB.ADDH", 7}, {f->name, strlen(f->name)}, {domain, 16}, {hashes, n * sizeof *hashes}};
    return shmbloom__queue(&f->connection, arguments, sizeof arguments / sizeof arguments[0]);
}

/* The reply to SB.ADDH. Answers are set only when all of them are right. */
static int receive_answers(struct shmbloom__connection *c, int64_t deadline_ns, uint8_t *answers, size_t n) {
    struct shmbloom__reply reply;
    const int r = shmbloom__receive(c, &reply, deadline_ns);
    if (r < 0)
        return r;
    if (reply.type == SHMBLOOM__ERROR)
        return shmbloom__reply_errno(&reply);
    bool valid = reply.type == SHMBLOOM__BULK && reply.size == n;
    for (size_t i = 0; valid && i < n; i++)
        valid = (unsigned char)reply.text[i] <= SHMBLOOM_UNVERIFIED;
    if (!valid) {
        shmbloom__disconnect(c);
        return -EPROTO;
    }
    memcpy(answers, reply.text, n);
    return 0;
}

static bool is_usable(const shmbloom_filter *f) {
    const struct shmbloom__connection *c = &f->connection;
    return c->fd >= 0 && c->owner == getpid() &&
           memcmp(c->control_uuid, f->control->control_uuid, sizeof c->control_uuid) == 0;
}

/* Connects if need be, and sends HELLO on a new connection together with the add. 1: on a new connection. */
static int send_add(shmbloom_filter *f, const struct attempts *a, uint64_t hash_domain, const uint64_t *hashes,
                    size_t n) {
    struct shmbloom__connection *c = &f->connection;
    const bool is_new = !is_usable(f);
    int r = 0;
    if (is_new) {
        r = shmbloom__connect(c, f->control->folder, a->deadline_ns);
        if (r == 0)
            r = shmbloom__queue_hello(c);
    }
    if (r == 0)
        r = queue_add(f, hash_domain, hashes, n);
    if (r == 0)
        r = shmbloom__flush(c, a->deadline_ns);
    if (r == -ENOENT)
        return -ENXIO; /* no socket */
    return r < 0 ? r : is_new;
}

static int exchange(shmbloom_filter *f, struct attempts *a, uint64_t hash_domain, const uint64_t *hashes, size_t n,
                    uint8_t *answers) {
    struct shmbloom__connection *c = &f->connection;
    const bool sent_before = a->maybe_added;
    int r = send_add(f, a, hash_domain, hashes, n);
    if (r < 0)
        return r;
    a->maybe_added = true; /* unless the reply says otherwise */
    if (r == 1) {
        r = shmbloom__receive_hello(c, a->deadline_ns);
        if (r < 0)
            return r;
        if (memcmp(c->control_uuid, f->control->control_uuid, sizeof c->control_uuid) != 0) {
            shmbloom__disconnect(c);
            return OTHER_CONTROL;
        }
    }
    r = receive_answers(c, a->deadline_ns, answers, n);
    if (r == 0 && sent_before)
        memset(answers, SHMBLOOM_UNVERIFIED, n);
    if (r < 0 && c->fd >= 0)
        a->maybe_added = sent_before; /* refused */
    return r;
}

/* Gone, going, coming, or not keeping up: the daemon may be back within the timeout. */
static bool is_passing(int r) {
    return r == -ECONNREFUSED || r == -ENXIO || r == -ECONNRESET || r == -EPIPE || r == -EAGAIN || r == OTHER_CONTROL;
}

/* What a caller is told of the last attempt. */
static int final_error(const struct attempts *a, int r) {
    if (!a->waits && a->maybe_added && (r == -ETIMEDOUT || r == -ECONNRESET))
        return -EINPROGRESS;
    if (is_passing(r) && a->maybe_added)
        return -ETIMEDOUT; /* unknown whether added */
    if (r == -EAGAIN)
        return -ETIMEDOUT;
    return r == OTHER_CONTROL || r == -ECONNRESET || r == -EPIPE ? -ECONNREFUSED : r;
}

/* -ESTALE: hash again. */
static int add_until(shmbloom_filter *f, struct attempts *a, uint64_t hash_domain, const uint64_t *hashes, size_t n,
                     uint8_t *answers) {
    for (;;) {
        const bool had_connection = is_usable(f);
        const int r = exchange(f, a, hash_domain, hashes, n, answers);
        if (r == 0 || r == -ESTALE || !is_passing(r))
            return r == 0 || r == -ESTALE ? r : final_error(a, r);
        if (r == OTHER_CONTROL) {
            struct shmbloom__hashing now;
            (void)shmbloom__resolve(f);
            const int found = shmbloom__get_hashing(f, &now);
            if (found < 0)
                return found;
            if (now.hash_domain != hash_domain)
                return -ESTALE;
        }
        /* A connection from before the daemon's restart: the first new one is no wait. */
        if (had_connection && !a->maybe_added)
            continue;
        if (!may_try_again(a))
            return final_error(a, r);
    }
}

int shmbloom__add_hashes(shmbloom_filter *f, uint64_t hash_domain, const uint64_t *hashes, size_t n, uint8_t *answers) {
    if (f == NULL || n > SHMBLOOM__ADD_BATCH)
        return -EINVAL;
    if (n == 0)
        return 0;
    struct attempts a = begin(f);
    return add_until(f, &a, hash_domain, hashes, n, answers);
}

/* Any key: bytes, or a u64 where `bytes` is NULL. */
struct key {
    const void *bytes;
    size_t size;
    uint64_t number;
    bool is_number;
};

static int hash_key(const struct shmbloom__hashing *hashing, const struct key *key, uint64_t *hash) {
    return key->is_number ? shmbloom__hash_u64(hashing, key->number, hash)
                          : shmbloom__hash(hashing, key->bytes, key->size, hash);
}

static int add(shmbloom_filter *f, const struct key *key) {
    struct attempts a = begin(f);
    uint8_t answer;
    for (;;) {
        struct shmbloom__hashing hashing;
        uint64_t hash;
        int r = shmbloom__get_hashing(f, &hashing);
        if (r == 0)
            r = hash_key(&hashing, key, &hash);
        if (r < 0)
            return r;
        r = add_until(f, &a, hashing.hash_domain, &hash, 1, &answer);
        if (r == 0)
            return answer;
        if (r != -ESTALE)
            return r;
        (void)shmbloom__resolve(f);
        struct shmbloom__hashing now;
        /* Another domain by now: at once. The same: the daemon is just changing it. */
        if (shmbloom__get_hashing(f, &now) == 0 && now.hash_domain != hashing.hash_domain && a.waits &&
            shmbloom__monotonic_ns() < a.deadline_ns)
            continue;
        if (!may_try_again(&a))
            return r;
    }
}

int shmbloom_add(shmbloom_filter *f, const void *key, size_t len) {
    if (f == NULL || (key == NULL && len > 0))
        return -EINVAL;
    return add(f, &(struct key){.bytes = key, .size = len});
}

int shmbloom_add_u64(shmbloom_filter *f, uint64_t key) {
    if (f == NULL)
        return -EINVAL;
    return add(f, &(struct key){.number = key, .is_number = true});
}
