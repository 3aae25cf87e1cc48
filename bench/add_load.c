/* Adds over a Unix socket, to shmbloomd and to redis-server by the same code: how many keys a second, and how long each
 * request takes. Used by durability_bench.
 *
 * add_load SOCKET ours|again NAME HASH_DOMAIN | SOCKET redis SET -   and then
 *   CONNECTIONS PIPELINE BATCH REQUESTS        each connection keeps PIPELINE requests of BATCH keys under way
 *   CONNECTIONS rate BATCH REQUESTS PER_SECOND requests leave at their times, whatever became of those before;
 *                                              a request's time counts from when it should have left
 * ours: SB.ADDH with BATCH hashes, as the library sends it; again: the same, but every 256th request begins anew with
 * the hashes of the first, so that nothing is added but at first; redis: SADD with BATCH members of 16 bytes. Prints
 * "keys_per_s K p50 MS p99 MS max MS". Not what the machine can do: one thread sends, reads and takes the times.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { IN_FLIGHT_MAX = 1 << 14, REPLIES_BYTES = 1 << 16, AGAIN_AFTER = 256 };

struct connection {
    int fd;
    uint64_t *begun_ns; /* of the requests under way, a ring */
    size_t first, count;
    char *out; /* what the socket did not take yet */
    size_t out_bytes, out_done;
    char in[REPLIES_BYTES];
    size_t in_bytes;
};

static struct {
    const char *name, *domain; /* domain NULL: redis */
    size_t batch, requests;
    size_t sent, answered, failed;
    bool again;
    uint64_t first_random, random;
    uint32_t *times_us;
} load;

static void die(const char *what) {
    fprintf(stderr, "add_load: %s: %s\n", what, strerror(errno));
    exit(3);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t next_random(void) {
    load.random = load.random * 0xD1342543DE82EF95 + 0x9E3779B97F4A7C15;
    return load.random ^ load.random >> 32;
}

static size_t request_bytes_max(void) {
    return 256 + 64 * load.batch;
}

static size_t put_request(char *at) {
    char *const begin = at;
    if (load.again && load.sent % AGAIN_AFTER == 0)
        load.random = load.first_random;
    if (load.domain == NULL) {
        at += sprintf(at, "*%zu\r\n$4\r\nSADD\r\n$%zu\r\n%s\r\n", load.batch + 2, strlen(load.name), load.name);
        for (size_t i = 0; i < load.batch; i++)
            at += sprintf(at, "$16\r\n%016llx\r\n", (unsigned long long)next_random());
        return (size_t)(at - begin);
    }
    at += sprintf(at, "*4\r\n$7\r\nSB.ADDH\r\n$%zu\r\n%s\r\n$16\r\n%s\r\n$%zu\r\n", strlen(load.name), load.name,
                  load.domain, 8 * load.batch);
    for (size_t i = 0; i < load.batch; i++, at += 8) {
        const uint64_t hash = next_random();
        memcpy(at, &hash, 8);
    }
    memcpy(at, "\r\n", 2);
    return (size_t)(at + 2 - begin);
}

static void flush(struct connection *c) {
    while (c->out_done < c->out_bytes) {
        const ssize_t n = send(c->fd, c->out + c->out_done, c->out_bytes - c->out_done, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            die("send");
        c->out_done += (size_t)n;
    }
    c->out_bytes = c->out_done = 0;
}

/* `begun`: 0 for now. */
static void ask(struct connection *c, uint64_t begun) {
    if (c->count == IN_FLIGHT_MAX) {
        errno = EOVERFLOW;
        die("too many requests are under way");
    }
    c->begun_ns[(c->first + c->count++) % IN_FLIGHT_MAX] = begun;
    c->out = realloc(c->out, c->out_bytes + request_bytes_max());
    if (c->out == NULL)
        die("memory");
    c->out_bytes += put_request(c->out + c->out_bytes);
    load.sent++;
    if (begun == 0)
        c->begun_ns[(c->first + c->count - 1) % IN_FLIGHT_MAX] = now_ns();
    flush(c);
}

/* Bytes of the reply that begins there; 0: not all of it is here. */
static size_t reply_bytes(const char *at, size_t bytes) {
    const char *const end = memchr(at, '\n', bytes);
    if (end == NULL)
        return 0;
    size_t size = (size_t)(end + 1 - at);
    if (*at == '$')
        size += strtoul(at + 1, NULL, 10) + 2;
    return size <= bytes ? size : 0;
}

static void take_replies(struct connection *c) {
    const ssize_t n = recv(c->fd, c->in + c->in_bytes, sizeof c->in - c->in_bytes, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0)
        die("the connection ended");
    c->in_bytes += (size_t)n;
    const uint64_t now = now_ns();
    size_t done = 0;
    for (size_t size; done < c->in_bytes && (size = reply_bytes(c->in + done, c->in_bytes - done)) > 0; done += size) {
        if (c->in[done] == '-' && load.failed++ == 0)
            fprintf(stderr, "add_load: %.*s", (int)size, c->in + done);
        load.times_us[load.answered++] = (uint32_t)((now - c->begun_ns[c->first]) / 1000);
        c->first = (c->first + 1) % IN_FLIGHT_MAX;
        c->count--;
    }
    memmove(c->in, c->in + done, c->in_bytes - done);
    c->in_bytes -= done;
}

static int by_size(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static int dial(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        errno = ENAMETOOLONG, die(path);
    strcpy(address.sun_path, path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        die(path);
    return fd;
}

int main(int argc, char **argv) {
    const bool is_rate = argc == 10 && strcmp(argv[6], "rate") == 0;
    const bool is_redis = argc > 2 && strcmp(argv[2], "redis") == 0;
    load.again = argc > 2 && strcmp(argv[2], "again") == 0;
    if ((argc != 9 && !is_rate) || (!is_redis && !load.again && strcmp(argv[2], "ours") != 0)) {
        fputs(
            "add_load SOCKET ours|again|redis NAME HASH_DOMAIN|- CONNECTIONS PIPELINE|rate BATCH REQUESTS [PER_SECOND]\n",
            stderr);
        return 3;
    }
    load.name = argv[3];
    load.domain = is_redis ? NULL : argv[4];
    const size_t connections = strtoul(argv[5], NULL, 10), pipeline = is_rate ? 0 : strtoul(argv[6], NULL, 10);
    load.batch = strtoul(argv[7], NULL, 10);
    load.requests = strtoul(argv[8], NULL, 10);
    const double step_ns = is_rate ? 1e9 / strtod(argv[9], NULL) : 0;
    if (connections == 0 || load.batch == 0 || load.requests == 0 ||
        (is_rate ? !(strtod(argv[9], NULL) > 0) : pipeline == 0)) {
        fputs("add_load: CONNECTIONS, PIPELINE, BATCH, REQUESTS and PER_SECOND are numbers above 0\n", stderr);
        return 3;
    }
    load.first_random = load.random = now_ns() ^ (uint64_t)getpid() << 40;
    load.times_us = calloc(load.requests, sizeof *load.times_us);
    struct connection *const all = calloc(connections, sizeof *all);
    struct pollfd *const polled = calloc(connections, sizeof *polled);
    if (load.times_us == NULL || all == NULL || polled == NULL)
        die("memory");
    for (size_t i = 0; i < connections; i++) {
        all[i].fd = dial(argv[1]);
        all[i].begun_ns = calloc(IN_FLIGHT_MAX, sizeof *all[i].begun_ns);
        if (all[i].begun_ns == NULL)
            die("memory");
    }

    const uint64_t begun = now_ns();
    for (size_t i = 0; i < connections * pipeline && load.sent < load.requests; i++)
        ask(&all[i % connections], 0);
    while (load.answered < load.requests) {
        struct timespec wait = {.tv_sec = 1};
        if (is_rate) {
            const uint64_t now = now_ns();
            for (uint64_t due;
                 load.sent < load.requests && (due = begun + (uint64_t)((double)load.sent * step_ns)) <= now;)
                ask(&all[load.sent % connections], due);
            if (load.sent < load.requests) {
                const uint64_t due = begun + (uint64_t)((double)load.sent * step_ns), from = now_ns();
                const uint64_t left = due > from ? due - from : 0;
                wait = (struct timespec){.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
            }
        }
        for (size_t i = 0; i < connections; i++)
            polled[i] = (struct pollfd){.fd = all[i].fd,
                                        .events = (short)(POLLIN | (all[i].out_done < all[i].out_bytes ? POLLOUT : 0))};
        if (ppoll(polled, connections, &wait, NULL) < 0 && errno != EINTR)
            die("poll");
        for (size_t i = 0; i < connections; i++) {
            if ((polled[i].revents & POLLOUT) != 0)
                flush(&all[i]);
            if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0)
                continue;
            take_replies(&all[i]);
            while (!is_rate && all[i].count < pipeline && load.sent < load.requests)
                ask(&all[i], 0);
        }
    }
    const double seconds = (double)(now_ns() - begun) / 1e9;
    qsort(load.times_us, load.requests, sizeof *load.times_us, by_size);
    printf("keys_per_s %.0f p50 %.3f p99 %.3f max %.3f\n", (double)(load.requests * load.batch) / seconds,
           load.times_us[load.requests / 2] / 1e3, load.times_us[load.requests * 99 / 100] / 1e3,
           load.times_us[load.requests - 1] / 1e3);
    for (size_t i = 0; i < connections; i++) {
        close(all[i].fd);
        free(all[i].out);
        free(all[i].begun_ns);
    }
    free(polled);
    free(all);
    free(load.times_us);
    return load.failed == 0 ? 0 : 1;
}
