/* One add or report as a conversation with the daemon: connect, HELLO, command, reply; again while there is time and
 * the daemon may be back. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "handle.h"

/* The daemon keeps another control than this handle has mapped; never returned to callers. */
#define OTHER_CONTROL (-EREMCHG)

struct shmbloom__attempts shmbloom__begin_attempts(const shmbloom_filter *f) {
    const bool waits = f->add_timeout_ms >= 0;
    return (struct shmbloom__attempts){
        .waits = waits, .deadline_ns = waits ? shmbloom__monotonic_ns() + f->add_timeout_ms * INT64_C(1000000) : 0};
}

bool shmbloom__may_try_again(struct shmbloom__attempts *a) {
    if (!a->waits || shmbloom__monotonic_ns() >= a->deadline_ns)
        return false;
    shmbloom__pause(&a->pause_ns, a->deadline_ns);
    return true;
}

static int queue_report(shmbloom_filter *f, const char *domain, const struct shmbloom__request *request) {
    char hash[17], generation[24];
    (void)!snprintf(hash, sizeof hash, "%016" PRIx64, request->hashes[0]);
    (void)!snprintf(generation, sizeof generation, "%" PRIu64, request->generation);
    const struct shmbloom__argument arguments[] = {
        {"SB.REPORT", 9}, {f->name, strlen(f->name)}, {domain, 16}, {hash, 16}, {generation, strlen(generation)}};
    return shmbloom__queue(&f->connection, arguments, sizeof arguments / sizeof arguments[0]);
}

static int queue_request(shmbloom_filter *f, const struct shmbloom__request *request) {
    char domain[17];
    (void)!snprintf(domain, sizeof domain, "%016" PRIx64, request->hash_domain);
    if (request->is_report)
        return queue_report(f, domain, request);
    /* The format of memory and wire is this machine's own: little-endian. */
    const struct shmbloom__argument arguments[] = {{"SB.ADDH", 7},
                                                   {f->name, strlen(f->name)},
                                                   {domain, 16},
                                                   {request->hashes, request->n * sizeof *request->hashes}};
    return shmbloom__queue(&f->connection, arguments, sizeof arguments / sizeof arguments[0]);
}

/* The reply to SB.REPORT: the answer that its add was given. */
static bool take_integer(const struct shmbloom__reply *reply, uint8_t *answers) {
    if (reply->type != SHMBLOOM__INTEGER || reply->integer < 0 || reply->integer > SHMBLOOM_UNVERIFIED)
        return false;
    answers[0] = (uint8_t)reply->integer;
    return true;
}

/* The reply to SB.ADDH. Answers are set only when all of them are right. */
static bool take_answers(const struct shmbloom__reply *reply, uint8_t *answers, size_t n) {
    bool valid = reply->type == SHMBLOOM__BULK && reply->size == n;
    for (size_t i = 0; valid && i < n; i++)
        valid = (unsigned char)reply->text[i] <= SHMBLOOM_UNVERIFIED;
    if (valid)
        memcpy(answers, reply->text, n);
    return valid;
}

static int receive_answers(struct shmbloom__connection *c, int64_t deadline_ns, const struct shmbloom__request *request,
                           uint8_t *answers) {
    struct shmbloom__reply reply;
    const int r = shmbloom__receive(c, &reply, deadline_ns);
    if (r < 0)
        return r;
    if (reply.type == SHMBLOOM__ERROR)
        return shmbloom__reply_errno(&reply);
    if (request->is_report ? take_integer(&reply, answers) : take_answers(&reply, answers, request->n))
        return 0;
    shmbloom__disconnect(c);
    return -EPROTO;
}

static bool is_usable(const shmbloom_filter *f) {
    const struct shmbloom__connection *c = &f->connection;
    return c->fd >= 0 && c->owner == getpid() &&
           memcmp(c->control_uuid, f->control->control_uuid, sizeof c->control_uuid) == 0;
}

/* Connects if need be, and sends HELLO on a new connection together with the request. 1: on a new connection. */
static int send_request(shmbloom_filter *f, const struct shmbloom__attempts *a,
                        const struct shmbloom__request *request) {
    struct shmbloom__connection *c = &f->connection;
    const bool is_new = !is_usable(f);
    int r = 0;
    if (is_new) {
        r = shmbloom__connect(c, f->control->folder, a->deadline_ns);
        if (r == 0)
            r = shmbloom__queue_hello(c);
    }
    if (r == 0)
        r = queue_request(f, request);
    if (r == 0)
        r = shmbloom__flush(c, a->deadline_ns);
    if (r == -ENOENT)
        return -ENXIO; /* no socket */
    return r < 0 ? r : is_new;
}

static int exchange_once(shmbloom_filter *f, struct shmbloom__attempts *a, const struct shmbloom__request *request,
                         uint8_t *answers) {
    struct shmbloom__connection *c = &f->connection;
    const bool sent_before = a->maybe_added;
    int r = send_request(f, a, request);
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
    r = receive_answers(c, a->deadline_ns, request, answers);
    if (r == 0 && sent_before)
        memset(answers, SHMBLOOM_UNVERIFIED, request->n);
    if (r < 0 && c->fd >= 0)
        a->maybe_added = sent_before; /* refused */
    return r;
}

/* Gone, going, coming, or not keeping up: the daemon may be back within the timeout. */
static bool is_passing(int r) {
    return r == -ECONNREFUSED || r == -ENXIO || r == -ECONNRESET || r == -EPIPE || r == -EAGAIN || r == OTHER_CONTROL;
}

/* What a caller is told of the last attempt. */
static int final_error(const struct shmbloom__attempts *a, int r) {
    if (!a->waits && a->maybe_added && (r == -ETIMEDOUT || r == -ECONNRESET))
        return -EINPROGRESS;
    if (is_passing(r) && a->maybe_added)
        return -ETIMEDOUT; /* unknown whether added */
    if (r == -EAGAIN)
        return -ETIMEDOUT;
    return r == OTHER_CONTROL || r == -ECONNRESET || r == -EPIPE ? -ECONNREFUSED : r;
}

int shmbloom__exchange(shmbloom_filter *f, struct shmbloom__attempts *a, const struct shmbloom__request *request,
                       uint8_t *answers) {
    for (;;) {
        const bool had_connection = is_usable(f);
        const int r = exchange_once(f, a, request, answers);
        if (r == 0 || r == -ESTALE || !is_passing(r))
            return r == 0 || r == -ESTALE ? r : final_error(a, r);
        if (r == OTHER_CONTROL) {
            struct shmbloom__hashing now;
            (void)shmbloom__resolve(f);
            const int found = shmbloom__get_hashing(f, &now);
            if (found < 0)
                return found;
            if (now.hash_domain != request->hash_domain)
                return -ESTALE;
        }
        /* A connection from before the daemon's restart: the first new one is no wait. */
        if (had_connection && !a->maybe_added)
            continue;
        if (!shmbloom__may_try_again(a))
            return final_error(a, r);
    }
}
