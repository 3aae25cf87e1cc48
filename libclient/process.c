/* What a process shares between its handles: one lock, and the mappings of controls and segments. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handle.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct shmbloom__control *controls;
static struct shmbloom__segment *segments;

static void before_fork(void) {
    pthread_mutex_lock(&lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&lock);
}

/* Held over fork: else a child could inherit it locked by a thread that does not exist there, and half-done lists. */
static void watch_fork(void) {
    (void)pthread_atfork(before_fork, after_fork, after_fork);
}

bool shmbloom__lock(void) {
    pthread_once(&once, watch_fork);
    return pthread_mutex_lock(&lock) == 0;
}

bool shmbloom__try_lock(void) {
    return pthread_mutex_trylock(&lock) == 0;
}

void shmbloom__unlock(void) {
    pthread_mutex_unlock(&lock);
}

struct shmbloom__control *shmbloom__mapped_control(dev_t dev, ino_t inode, const char *folder,
                                                   enum shmbloom__trust trust) {
    /* The inode number is not given to another file while we map this one. */
    for (struct shmbloom__control *c = controls; c != NULL; c = c->next) {
        if (c->dev == dev && c->inode == inode && c->trust == trust && strcmp(c->folder, folder) == 0) {
            c->users++;
            return c;
        }
    }
    return NULL;
}

void shmbloom__enter_control(struct shmbloom__control *control) {
    control->users = 1;
    control->next = controls;
    controls = control;
}

static void drop_unused_controls(const struct shmbloom__control *keep) {
    for (struct shmbloom__control **at = &controls; *at != NULL;) {
        struct shmbloom__control *c = *at;
        if (c->users > 0 || c == keep) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        munmap((void *)(uintptr_t)c->base, c->bytes);
        free(c);
    }
}

void shmbloom__leave_control(struct shmbloom__control *control, bool keep) {
    if (control == NULL || --control->users > 0)
        return;
    drop_unused_controls(keep ? control : NULL);
}

static void drop_unused_segments(bool (*unwanted)(const struct shmbloom__segment *s, const void *context),
                                 const void *context) {
    for (struct shmbloom__segment **at = &segments; *at != NULL;) {
        struct shmbloom__segment *s = *at;
        if (s->users > 0 || !unwanted(s, context)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        munmap((void *)(uintptr_t)s->base, s->bytes);
        free(s);
    }
}

static bool is_another(const struct shmbloom__segment *s, const void *context) {
    return s != context;
}

/* A segment that is over must not be kept: its memory would stay taken from the machine. */
static bool is_over(const struct shmbloom__segment *s, const void *context) {
    (void)context;
    return shmbloom_load_gate(s->gate) >> SHMBLOOM_GENERATION_SHIFT != s->header.generation;
}

void shmbloom__sweep(void) {
    drop_unused_segments(is_over, NULL);
}

struct shmbloom__segment *shmbloom__mapped_segment(dev_t dev, ino_t inode) {
    for (struct shmbloom__segment *s = segments; s != NULL; s = s->next) {
        if (s->dev == dev && s->inode == inode) {
            s->users++;
            return s;
        }
    }
    return NULL;
}

void shmbloom__enter_segment(struct shmbloom__segment *segment) {
    /* Whoever maps a new one has no use for the one that was kept. */
    drop_unused_segments(is_another, segment);
    segment->users = 1;
    segment->next = segments;
    segments = segment;
}

void shmbloom__leave_segment(struct shmbloom__segment *segment) {
    if (segment == NULL || --segment->users > 0)
        return;
    drop_unused_segments(is_another, segment);
    shmbloom__sweep();
}

int shmbloom__boot_id(uint8_t *ret) {
    static bool known;
    static uint8_t boot_id[SHMBLOOM_UUID_BYTES];
    if (!known) {
        char text[SHMBLOOM__UUID_TEXT_BYTES];
        const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            return -errno;
        const ssize_t n = read(fd, text, sizeof text);
        close(fd);
        if (n < 36 || !shmbloom__parse_uuid(text, 36, boot_id))
            return -EBADMSG;
        known = true;
    }
    memcpy(ret, boot_id, sizeof boot_id);
    return 0;
}
