/* A socket to the daemon: commands out, replies in, each within a deadline. Whatever goes wrong closes it, so that a
 * late reply never answers the next call. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "handle.h"

#define LINE_BYTES_MAX 65536u
#define BULK_BYTES_MAX (1u << 20)
#define ELEMENTS_MAX (1 << 20)
#define INPUT_STEP_BYTES 4096u
#define PAUSE_FIRST_NS 1000000ll
#define PAUSE_MAX_NS 50000000ll

int64_t shmbloom__monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void shmbloom__disconnect(struct shmbloom__connection *c) {
    /* Only this process's copy: a forked child must not shut its parent's connection down. */
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->input_begin = c->input_end = c->output_size = 0;
}

void shmbloom__free_connection(struct shmbloom__connection *c) {
    shmbloom__disconnect(c);
    free(c->input);
    free(c->output);
    *c = (struct shmbloom__connection)SHMBLOOM__CONNECTION_CLOSED;
}

static int give_up(struct shmbloom__connection *c, int error) {
    shmbloom__disconnect(c);
    return error;
}

int shmbloom__connect(struct shmbloom__connection *c, const char *runtime_dir, int64_t deadline_ns) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)deadline_ns; /* a Unix socket connects at once or not at all */
    shmbloom__disconnect(c);
    const int n = snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", runtime_dir);
    if (n < 0 || (size_t)n >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (c->fd < 0)
        return -errno;
    c->owner = getpid();
    memset(c->control_uuid, 0, sizeof c->control_uuid);
    if (connect(c->fd, (const struct sockaddr *)&address, sizeof address) < 0)
        return give_up(c, -errno);
    return 0;
}

/* Waits until the socket is ready for `events`. 0 or -ETIMEDOUT. */
static int wait_for(const struct shmbloom__connection *c, short events, int64_t deadline_ns) {
    for (;;) {
        const int64_t left = deadline_ns - shmbloom__monotonic_ns();
        if (left <= 0)
            return -ETIMEDOUT;
        struct pollfd p = {.fd = c->fd, .events = events};
        const struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        const int n = ppoll(&p, 1, &timeout, NULL);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

void shmbloom__pause(int64_t *pause_ns, int64_t deadline_ns) {
    const int64_t left = deadline_ns - shmbloom__monotonic_ns();
    *pause_ns = *pause_ns == 0 ? PAUSE_FIRST_NS : *pause_ns * 2;
    if (*pause_ns > PAUSE_MAX_NS)
        *pause_ns = PAUSE_MAX_NS;
    const int64_t pause = *pause_ns < left ? *pause_ns : left;
    if (pause <= 0)
        return;
    const struct timespec timeout = {.tv_sec = 0, .tv_nsec = (long)pause};
    (void)ppoll(NULL, 0, &timeout, NULL);
}

/* ---- Out ---- */

static int make_room(char **buffer, size_t *capacity, size_t needed) {
    if (needed <= *capacity)
        return 0;
    size_t size = *capacity < INPUT_STEP_BYTES ? INPUT_STEP_BYTES : *capacity;
    while (size < needed)
        size *= 2;
    char *grown = (char *)realloc(*buffer, size);
    if (grown == NULL)
        return -ENOMEM;
    *buffer = grown;
    *capacity = size;
    return 0;
}

static void append_length(struct shmbloom__connection *c, char type, size_t value) {
    c->output_size +=
        (size_t)snprintf(c->output + c->output_size, c->output_capacity - c->output_size, "%c%zu\r\n", type, value);
}

int shmbloom__queue(struct shmbloom__connection *c, const struct shmbloom__argument *arguments, size_t count) {
    size_t needed = c->output_size + 32;
    for (size_t i = 0; i < count; i++)
        needed += arguments[i].size + 32;
    if (make_room(&c->output, &c->output_capacity, needed) < 0)
        return give_up(c, -ENOMEM);
    append_length(c, '*', count);
    for (size_t i = 0; i < count; i++) {
        append_length(c, '$', arguments[i].size);
        if (arguments[i].size > 0)
            memcpy(c->output + c->output_size, arguments[i].data, arguments[i].size);
        c->output_size += arguments[i].size;
        memcpy(c->output + c->output_size, "\r\n", 2);
        c->output_size += 2;
    }
    return 0;
}

int shmbloom__flush(struct shmbloom__connection *c, int64_t deadline_ns) {
    size_t sent = 0;
    if (c->fd < 0)
        return -ECONNRESET;
    while (sent < c->output_size) {
        const ssize_t n = send(c->fd, c->output + sent, c->output_size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n > 0) {
            sent += (size_t)n;
            continue;
        }
        int r = -errno;
        if (r == -EINTR)
            continue;
        if (r == -EAGAIN)
            r = wait_for(c, POLLOUT, deadline_ns);
        if (r < 0)
            return give_up(c, r == -EPIPE ? -ECONNRESET : r);
    }
    c->output_size = 0;
    return 0;
}

int shmbloom__send(struct shmbloom__connection *c, const struct shmbloom__argument *arguments, size_t count,
                   int64_t deadline_ns) {
    const int r = shmbloom__queue(c, arguments, count);
    return r < 0 ? r : shmbloom__flush(c, deadline_ns);
}

/* ---- In ---- */

/* Reads what is there, or waits for it. 0 or -errno. */
static int read_more(struct shmbloom__connection *c, int64_t deadline_ns) {
    if (c->input_begin > 0) {
        memmove(c->input, c->input + c->input_begin, c->input_end - c->input_begin);
        c->input_end -= c->input_begin;
        c->input_begin = 0;
    }
    if (make_room(&c->input, &c->input_capacity, c->input_end + INPUT_STEP_BYTES) < 0)
        return -ENOMEM;
    for (;;) {
        const ssize_t n = recv(c->fd, c->input + c->input_end, c->input_capacity - c->input_end, MSG_DONTWAIT);
        if (n > 0) {
            c->input_end += (size_t)n;
            return 0;
        }
        if (n == 0)
            return -ECONNRESET;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return -errno;
        const int r = wait_for(c, POLLIN, deadline_ns);
        if (r < 0)
            return r;
    }
}

/* Makes `size` bytes available. */
static int need_bytes(struct shmbloom__connection *c, size_t size, int64_t deadline_ns) {
    while (c->input_end - c->input_begin < size) {
        const int r = read_more(c, deadline_ns);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Makes a line available, `size` without its end. */
static int need_line(struct shmbloom__connection *c, size_t *size, int64_t deadline_ns) {
    size_t looked = 0;
    for (;;) {
        const size_t there = c->input_end - c->input_begin;
        const char *begin = there > 0 ? c->input + c->input_begin : NULL;
        const char *end = there > looked ? (const char *)memchr(begin + looked, '\n', there - looked) : NULL;
        if (end != NULL) {
            *size = (size_t)(end - begin);
            if (*size < 2 || end[-1] != '\r')
                return -EPROTO;
            (*size)--;
            return 0;
        }
        looked = there;
        if (looked > LINE_BYTES_MAX)
            return -EPROTO;
        const int r = read_more(c, deadline_ns);
        if (r < 0)
            return r;
    }
}

/* A whole number as RESP writes it. */
static int parse_integer(const char *text, size_t size, int64_t *ret) {
    const bool negative = size > 0 && text[0] == '-';
    uint64_t value = 0;
    size_t i = negative ? 1 : 0;
    if (i == size || size - i > 18)
        return -EPROTO;
    for (; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -EPROTO;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *ret = negative ? -(int64_t)value : (int64_t)value;
    return 0;
}

/* Behind the line "$n". */
static int receive_bulk(struct shmbloom__connection *c, struct shmbloom__reply *reply, int64_t deadline_ns) {
    if (reply->integer == -1) {
        reply->type = SHMBLOOM__NIL;
        return 0;
    }
    if (reply->integer < 0 || reply->integer > (int64_t)BULK_BYTES_MAX)
        return -EPROTO;
    reply->size = (size_t)reply->integer;
    const int r = need_bytes(c, reply->size + 2, deadline_ns);
    if (r < 0)
        return r;
    reply->text = c->input + c->input_begin;
    c->input_begin += reply->size + 2;
    return memcmp(reply->text + reply->size, "\r\n", 2) == 0 ? 0 : -EPROTO;
}

static int receive(struct shmbloom__connection *c, struct shmbloom__reply *reply, int64_t deadline_ns) {
    size_t size;
    int r = need_line(c, &size, deadline_ns);
    if (r < 0)
        return r;
    const char *line = c->input + c->input_begin;
    c->input_begin += size + 2;
    *reply = (struct shmbloom__reply){.text = line + 1, .size = size - 1};
    switch (line[0]) {
    case '+':
        reply->type = SHMBLOOM__SIMPLE;
        return 0;
    case '-':
        reply->type = SHMBLOOM__ERROR;
        return 0;
    case ':':
        reply->type = SHMBLOOM__INTEGER;
        return parse_integer(reply->text, reply->size, &reply->integer);
    case '$':
        reply->type = SHMBLOOM__BULK;
        r = parse_integer(reply->text, reply->size, &reply->integer);
        return r < 0 ? r : receive_bulk(c, reply, deadline_ns);
    case '*':
        reply->type = SHMBLOOM__ARRAY;
        r = parse_integer(reply->text, reply->size, &reply->integer);
        return r < 0 || reply->integer < 0 || reply->integer > ELEMENTS_MAX ? -EPROTO : 0;
    default:
        return -EPROTO;
    }
}

int shmbloom__receive(struct shmbloom__connection *c, struct shmbloom__reply *ret, int64_t deadline_ns) {
    struct shmbloom__reply reply;
    if (c->fd < 0)
        return -ECONNRESET;
    const int r = receive(c, &reply, deadline_ns);
    if (r < 0)
        return give_up(c, r);
    *ret = reply;
    return 0;
}

/* ---- HELLO and errors ---- */

int shmbloom__queue_hello(struct shmbloom__connection *c) {
    const struct shmbloom__argument hello = {"HELLO", 5};
    return shmbloom__queue(c, &hello, 1);
}

static bool is_text(const struct shmbloom__reply *reply, const char *text) {
    return reply->type == SHMBLOOM__BULK && reply->size == strlen(text) && memcmp(reply->text, text, reply->size) == 0;
}

int shmbloom__receive_hello(struct shmbloom__connection *c, int64_t deadline_ns) {
    struct shmbloom__reply reply;
    bool known = false, is_uuid = false;
    int r = shmbloom__receive(c, &reply, deadline_ns);
    if (r < 0)
        return r;
    if (reply.type == SHMBLOOM__ERROR)
        return give_up(c, shmbloom__reply_errno(&reply));
    if (reply.type != SHMBLOOM__ARRAY)
        return give_up(c, -EPROTO);
    for (int64_t left = reply.integer; left > 0; left--) {
        r = shmbloom__receive(c, &reply, deadline_ns);
        if (r < 0)
            return r;
        /* Values may be arrays (a newer daemon's); their elements are passed by. */
        if (reply.type == SHMBLOOM__ARRAY && (left += reply.integer) > ELEMENTS_MAX)
            return give_up(c, -EPROTO);
        if (is_uuid)
            known = reply.type == SHMBLOOM__BULK && shmbloom__parse_uuid(reply.text, reply.size, c->control_uuid);
        is_uuid = is_text(&reply, "control_uuid");
    }
    return known ? 0 : give_up(c, -EPROTO);
}

int shmbloom__hello(struct shmbloom__connection *c, int64_t deadline_ns) {
    int r = shmbloom__queue_hello(c);
    if (r == 0)
        r = shmbloom__flush(c, deadline_ns);
    return r < 0 ? r : shmbloom__receive_hello(c, deadline_ns);
}

int shmbloom__reply_errno(const struct shmbloom__reply *reply) {
    static const struct {
        const char *word;
        int error;
    } words[] = {{"NOTFOUND", -ENOENT}, {"EXISTS", -EEXIST}, {"STALE", -ESTALE}, {"NOMEM", -ENOMEM},
                 {"RANGE", -ERANGE},    {"NOPERM", -EPERM},  {"BUSY", -EBUSY},   {"TYPE", -EPROTOTYPE},
                 {"NOSPC", -ENOSPC},    {"IO", -EIO},        {"FULL", -EDQUOT}};
    const char *end = (const char *)memchr(reply->text, ' ', reply->size);
    const size_t size = end != NULL ? (size_t)(end - reply->text) : reply->size;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].word) == size && memcmp(words[i].word, reply->text, size) == 0)
            return words[i].error;
    return -EPROTO;
}
