/* Control: mapping it, checking it once, and finding slots by name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "handle.h"

#define SLOT_COUNT_MAX 65536u
#define SLOT_BYTES_MAX 65536u
#define OFFSET_MAX (1u << 30)

static int check_owner(const struct stat *status, const struct stat *folder, const char *path,
                       struct shmbloom__fault *fault) {
    if (!S_ISREG(status->st_mode))
        return shmbloom__fail(fault, -EBADMSG, path, "it is not a file");
    if (status->st_uid != folder->st_uid && status->st_uid != 0)
        return shmbloom__fail(fault, -EPERM, path, "it belongs neither to root nor to the owner of its folder");
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return shmbloom__fail(fault, -EPERM, path, "others than its owner may write to it");
    return 0;
}

/* Bytes that the header claims, or 0 when its numbers make no sense. */
static uint64_t claimed_bytes(const struct shmbloom_control_header *h) {
    if (h->header_bytes < sizeof *h || h->header_bytes > OFFSET_MAX || h->slots_offset < h->header_bytes ||
        h->slots_offset > OFFSET_MAX || h->slots_offset % 128 != 0)
        return 0;
    if (h->slot_count < 1 || h->slot_count > SLOT_COUNT_MAX || h->slot_bytes < SHMBLOOM_SLOT_BYTES ||
        h->slot_bytes > SLOT_BYTES_MAX || h->slot_bytes % 128 != 0)
        return 0;
    return h->slots_offset + (uint64_t)h->slot_count * h->slot_bytes;
}

static int check_header(const struct shmbloom_control_header *h, off_t size, const char *path,
                        struct shmbloom__fault *fault) {
    uint8_t boot_id[SHMBLOOM_UUID_BYTES];
    if (h->magic != SHMBLOOM_CONTROL_MAGIC)
        return shmbloom__fail(fault, -EBADMSG, path, "it is no control of shmbloomd");
    if (h->version != SHMBLOOM_FORMAT_VERSION || (h->incompat & ~SHMBLOOM_KNOWN_INCOMPAT) != 0)
        return shmbloom__fail(fault, -EPROTONOSUPPORT, path, NULL);
    const int r = shmbloom__boot_id(boot_id);
    if (r < 0)
        return shmbloom__fail(fault, r, path, "this machine's boot id cannot be read");
    if (memcmp(h->boot_id, boot_id, sizeof boot_id) != 0)
        return shmbloom__fail(fault, -ENXIO, path, "it is of another boot");
    const uint64_t claimed = claimed_bytes(h);
    if (claimed == 0)
        return shmbloom__fail(fault, -EBADMSG, path, "its header is damaged");
    if ((uint64_t)size < claimed)
        return shmbloom__fail(fault, -EBADMSG, path, "it is shorter than its header claims");
    return 0;
}

static int map(int fd, const struct shmbloom_control_header *h, const struct stat *status,
               struct shmbloom__control **ret, const char *path, struct shmbloom__fault *fault) {
    struct shmbloom__control *c = (struct shmbloom__control *)calloc(1, sizeof *c);
    if (c == NULL)
        return shmbloom__fail(fault, -ENOMEM, path, NULL);
    c->bytes = (size_t)claimed_bytes(h);
    void *base = mmap(NULL, c->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        free(c);
        return shmbloom__fail(fault, -ENOMEM, path, "it cannot be mapped");
    }
    c->base = (const char *)base;
    c->dev = status->st_dev;
    c->inode = status->st_ino;
    c->owner = status->st_uid;
    c->group = status->st_gid;
    c->slot_count = h->slot_count;
    c->slot_bytes = h->slot_bytes;
    c->slots_offset = h->slots_offset;
    memcpy(c->state_uuid, h->state_uuid, sizeof c->state_uuid);
    memcpy(c->control_uuid, h->control_uuid, sizeof c->control_uuid);
    *ret = c;
    return 0;
}

static int map_checked(int fd, const struct stat *folder, const char *path, struct shmbloom__control **ret,
                       struct shmbloom__fault *fault) {
    struct stat status;
    struct shmbloom_control_header header;
    if (fstat(fd, &status) < 0)
        return shmbloom__fail_errno(fault, path, NULL);
    int r = check_owner(&status, folder, path, fault);
    if (r < 0)
        return r;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return shmbloom__fail(fault, -EBADMSG, path, "it is too short");
    r = check_header(&header, status.st_size, path, fault);
    return r < 0 ? r : map(fd, &header, &status, ret, path, fault);
}

/* Opened by way of the folder's descriptor: the folder that was checked is the one that is read. */
static int open_new(const char *folder, enum shmbloom__trust trust, const char *path, struct shmbloom__control **ret,
                    struct shmbloom__fault *fault) {
    struct stat status;
    const int folder_fd = shmbloom__open_folder(folder, trust, &status, fault);
    if (folder_fd < 0)
        return folder_fd;
    int r;
    const int fd = openat(folder_fd, "control", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        r = map_checked(fd, &status, path, ret, fault);
        close(fd);
    } else if (errno == ELOOP) {
        r = shmbloom__fail(fault, -EPERM, path, "it is a symbolic link");
    } else {
        r = shmbloom__fail_errno(fault, path, NULL);
        fault->group = status.st_gid;
    }
    close(folder_fd);
    return r;
}

/* Who owns the folder that we may not enter: the group to join. */
static void note_group(const char *folder, struct shmbloom__fault *fault) {
    struct stat status;
    if (stat(folder, &status) == 0)
        fault->group = status.st_gid;
}

int shmbloom__open_control(const char *folder, enum shmbloom__trust trust, struct shmbloom__control **ret,
                           struct shmbloom__fault *fault) {
    char path[SHMBLOOM__PATH_BYTES];
    struct stat status;
    struct shmbloom__control *c = NULL;
    int r = 0;
    (void)!snprintf(path, sizeof path, "%s/control", folder);
    if (stat(path, &status) == 0) {
        /* A mapping was checked when it was made, and the file behind it is still this one. */
        *ret = shmbloom__mapped_control(status.st_dev, status.st_ino, folder, trust);
        if (*ret != NULL)
            return 0;
        r = open_new(folder, trust, path, &c, fault);
    } else {
        r = shmbloom__fail_errno(fault, path, NULL);
    }
    if (r == -ENOENT || r == -ENOTDIR || r == -ENXIO)
        return shmbloom__fail(fault, -ENXIO, folder, NULL);
    if (r == -EACCES && fault->group < 0)
        note_group(folder, fault);
    if (r < 0)
        return r;
    c->trust = trust;
    (void)!snprintf(c->folder, sizeof c->folder, "%s", folder);
    shmbloom__enter_control(c);
    *ret = c;
    return 0;
}

const struct shmbloom_slot *shmbloom__slot(const struct shmbloom__control *control, uint32_t index) {
    return (const struct shmbloom_slot *)(const void *)(control->base + control->slots_offset +
                                                        (size_t)index * control->slot_bytes);
}

const uint64_t *shmbloom__name_counter(const struct shmbloom__control *control) {
    const void *field = control->base + offsetof(struct shmbloom_control_header, name_counter);
    return (const uint64_t *)field;
}

bool shmbloom__has_name(const struct shmbloom_slot *copy, const char *name) {
    return strncmp(copy->name, name, SHMBLOOM_NAME_BYTES) == 0;
}

/* The first eight characters of a name as the slot has them. */
static uint64_t name_begin(const char *name) {
    uint64_t begin;
    char padded[SHMBLOOM_NAME_BYTES + 1] = "";
    memcpy(padded, name, strnlen(name, SHMBLOOM_NAME_BYTES));
    memcpy(&begin, padded, sizeof begin);
    return begin;
}

/* 1: this is the slot, copy valid; 0: it is, but just being changed; -ENOENT: it is not. */
static int try_slot(const struct shmbloom_slot *slot, const char *name, uint64_t begin, struct shmbloom_slot *copy) {
    if (shmbloom_load_gate(&slot->gate) >> SHMBLOOM_GENERATION_SHIFT == 0)
        return -ENOENT;
    /* Most slots are others': no need to copy them. The name does not change while the gate is not 0; a slot that is
     * given our name just now raises the name counter afterwards. */
    const shmbloom_word *word = (const shmbloom_word *)(const void *)slot->name;
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != begin)
        return -ENOENT;
    /* A few times, for a change takes the daemon some instructions; one that died there leaves the slot so. */
    for (int i = 0; i < 3; i++)
        if (shmbloom_read_slot(slot, copy) != 0)
            return shmbloom__has_name(copy, name) ? 1 : -ENOENT;
    return shmbloom__has_name(copy, name) ? 0 : -ENOENT;
}

/* FNV-1a. */
static uint16_t *hint(struct shmbloom__control *control, const char *name) {
    uint32_t x = 2166136261u;
    for (; *name != '\0'; name++)
        x = (x ^ (unsigned char)*name) * 16777619u;
    return &control->hints[(x ^ x >> 16) % SHMBLOOM__HINTS];
}

static int find_slot(const struct shmbloom__control *control, const char *name, uint32_t *index,
                     struct shmbloom_slot *copy) {
    const uint64_t begin = name_begin(name);
    if (*index < control->slot_count) {
        const int r = try_slot(shmbloom__slot(control, *index), name, begin, copy);
        if (r >= 0)
            return r;
    }
    for (uint32_t i = 0; i < control->slot_count; i++) {
        const int r = try_slot(shmbloom__slot(control, i), name, begin, copy);
        if (r >= 0) {
            *index = i;
            return r;
        }
    }
    return -ENOENT;
}

int shmbloom__find_slot(struct shmbloom__control *control, const char *name, uint32_t *index,
                        struct shmbloom_slot *copy) {
    uint16_t *const known = hint(control, name);
    if (*index == SHMBLOOM__NO_SLOT)
        *index = *known;
    const int r = find_slot(control, name, index, copy);
    if (r >= 0)
        *known = (uint16_t)*index; /* there are at most 65,536 */
    return r;
}

void shmbloom__visit_names(const struct shmbloom__control *control, int (*visit)(void *context, const char *name),
                           void *context) {
    for (uint32_t i = 0; i < control->slot_count; i++) {
        struct shmbloom_slot copy;
        char name[SHMBLOOM_NAME_BYTES + 1];
        if (shmbloom_read_slot(shmbloom__slot(control, i), &copy) == 0)
            continue;
        memcpy(name, copy.name, SHMBLOOM_NAME_BYTES);
        name[SHMBLOOM_NAME_BYTES] = '\0';
        if (visit(context, name) != 0)
            return;
    }
}

uint64_t shmbloom__daemon_pid(const struct shmbloom__control *control) {
    const void *field = control->base + offsetof(struct shmbloom_control_header, daemon_pid);
    return shmbloom_load_field((const uint64_t *)field);
}

uint64_t shmbloom__heartbeat_age_ms(const struct shmbloom__control *control) {
    const void *field = control->base + offsetof(struct shmbloom_control_header, heartbeat_ns);
    const uint64_t beat = shmbloom_load_field((const uint64_t *)field);
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    const uint64_t now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (beat == 0)
        return SHMBLOOM_UNKNOWN;
    return now_ns > beat ? (now_ns - beat) / 1000000 : 0;
}
