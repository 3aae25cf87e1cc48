/* A segment: opened by the name of its generation, checked once, mapped read-only. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handle.h"

#define SEGMENT_NAME_BYTES 128u
#define CAPACITY_MAX (1ull << 40)
/* More than any capacity and rate need, and far from where sizes in bytes overflow. */
#define CLASSIC_BITS_MAX (1ull << 52)
#define BLOCKS_MAX (1ull << 43)

static void format_name(const struct shmbloom__control *control, const struct shmbloom_slot *slot, char *name) {
    char state[SHMBLOOM__UUID_TEXT_BYTES], filter[SHMBLOOM__UUID_TEXT_BYTES];
    shmbloom__format_uuid(control->state_uuid, state);
    shmbloom__format_uuid(slot->uuid, filter);
    /* The first 16 digits of the state uuid: 8, 4 and 4, without the dashes between them. */
    (void)!snprintf(name, SEGMENT_NAME_BYTES, "/shmbloom.%.8s%.4s%.4s.%s.%" PRIu64, state, state + 9, state + 14,
                    filter, slot->generation);
}

static bool shape_in_range(const struct shmbloom_shape *shape) {
    if (shape->layout == SHMBLOOM_LAYOUT_CLASSIC)
        return shape->probes >= 1 && shape->probes <= SHMBLOOM_PROBES_MAX && shape->size >= 64 &&
               shape->size <= CLASSIC_BITS_MAX;
    return shape->layout == SHMBLOOM_LAYOUT_BLOCKED && (shape->probes == 2 || shape->probes == 3) && shape->size >= 1 &&
           shape->size <= BLOCKS_MAX;
}

static struct shmbloom_shape shape_of(const struct shmbloom_segment_header *h) {
    return (struct shmbloom_shape){.layout = h->layout, .probes = h->probes, .size = h->size};
}

static bool keys_in_range(const struct shmbloom_segment_header *h) {
    const uint32_t known = SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER;
    if (h->hash_id != SHMBLOOM_HASH_XXH3_64 || (h->normalization & ~known) != 0)
        return false;
    if (h->key_type == SHMBLOOM_KEY_TYPE_U64)
        return (h->normalization & SHMBLOOM_NORMALIZE_LOWER) == 0;
    return h->key_type == SHMBLOOM_KEY_TYPE_BYTES;
}

static bool bits_in_range(const struct shmbloom_segment_header *h) {
    const struct shmbloom_shape shape = shape_of(h);
    if (h->bits_offset != SHMBLOOM_SEGMENT_HEADER_BYTES && h->bits_offset != SHMBLOOM_HUGE_PAGE_BYTES)
        return false;
    return h->segment_bytes >= h->bits_offset && h->bits_bytes <= h->segment_bytes - h->bits_offset &&
           h->bits_bytes >= shmbloom_shape_bytes(&shape) && h->bits_bytes % 8 == 0;
}

static bool in_range(const struct shmbloom_segment_header *h) {
    const struct shmbloom_shape shape = shape_of(h);
    return h->header_bytes >= sizeof *h && h->header_bytes <= SHMBLOOM_SEGMENT_HEADER_BYTES && h->generation >= 1 &&
           h->generation <= SHMBLOOM_GENERATION_MAX && h->lineage >= 1 && h->lineage <= h->generation &&
           h->capacity >= 1 && h->capacity <= CAPACITY_MAX && h->fpr > 0 && h->fpr < 1 && keys_in_range(h) &&
           shape_in_range(&shape) && bits_in_range(h);
}

static int check_header(const struct shmbloom_segment_header *h, const char *name, struct shmbloom__fault *fault) {
    if (h->magic != SHMBLOOM_SEGMENT_MAGIC)
        return shmbloom__fail(fault, -EBADMSG, name, "it is no segment of shmbloomd");
    if (h->version != SHMBLOOM_FORMAT_VERSION || (h->incompat & ~SHMBLOOM_KNOWN_INCOMPAT) != 0)
        return shmbloom__fail(fault, -EPROTONOSUPPORT, name, NULL);
    if (h->checksum != shmbloom__checksum(h))
        return shmbloom__fail(fault, -EBADMSG, name, "its header fails the checksum");
    if (!in_range(h))
        return shmbloom__fail(fault, -EBADMSG, name, "its header holds a number out of range");
    return 0;
}

static int check_status(const struct stat *status, const struct shmbloom__control *control,
                        const struct shmbloom_slot *slot, const char *name, struct shmbloom__fault *fault) {
    if (status->st_uid != control->owner)
        return shmbloom__fail(fault, -EPERM, name, "it does not belong to the owner of control");
    if (status->st_mode & (S_IWGRP | S_IWOTH))
        return shmbloom__fail(fault, -EPERM, name, "others than its owner may write to it");
    if (!S_ISREG(status->st_mode))
        return shmbloom__fail(fault, -EBADMSG, name, "it is not shared memory");
    if (status->st_dev != slot->dev || status->st_ino != slot->inode)
        return shmbloom__fail(fault, -EBADMSG, name, "the name leads to another object");
    return 0;
}

static int check_size(const struct stat *status, const struct shmbloom_segment_header *h, const char *name,
                      struct shmbloom__fault *fault) {
    if ((uint64_t)status->st_size != h->segment_bytes)
        return shmbloom__fail(fault, -EBADMSG, name, "its size is not what its header claims");
    /* Reading a hole would allocate memory, and be a SIGBUS when there is none. */
    if ((uint64_t)status->st_blocks * 512 < h->segment_bytes)
        return shmbloom__fail(fault, -EBADMSG, name, "it has holes");
    return 0;
}

/* Bits at 2 MiB can be held by huge pages only where the addresses are 2 MiB-aligned too: reserve more than is needed,
 * map over the aligned part, give the rest back. */
static void *map_aligned(int fd, size_t bytes) {
    const size_t align = SHMBLOOM_HUGE_PAGE_BYTES;
    const size_t reserved = (bytes + 4095) / 4096 * 4096 + align;
    char *begin = (char *)mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED)
        return MAP_FAILED;
    char *aligned = begin + (align - (uintptr_t)begin % align) % align;
    void *mapped = mmap(aligned, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
    if (mapped == MAP_FAILED) {
        munmap(begin, reserved);
        return MAP_FAILED;
    }
    char *after = aligned + (bytes + 4095) / 4096 * 4096;
    if (aligned > begin)
        munmap(begin, (size_t)(aligned - begin));
    if (begin + reserved > after)
        munmap(after, (size_t)(begin + reserved - after));
    return mapped;
}

static int map(int fd, const struct stat *status, const struct shmbloom_segment_header *h,
               struct shmbloom__segment **ret, const char *name, struct shmbloom__fault *fault) {
    struct shmbloom__segment *s = (struct shmbloom__segment *)calloc(1, sizeof *s);
    if (s == NULL)
        return shmbloom__fail(fault, -ENOMEM, name, NULL);
    s->bytes = (size_t)h->segment_bytes;
    void *base = h->bits_offset == SHMBLOOM_HUGE_PAGE_BYTES ? map_aligned(fd, s->bytes)
                                                            : mmap(NULL, s->bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        free(s);
        return shmbloom__fail(fault, -ENOMEM, name, "it cannot be mapped");
    }
    s->base = (const char *)base;
    s->dev = status->st_dev;
    s->inode = status->st_ino;
    s->owner = status->st_uid;
    s->header = *h;
    s->gate = &((const struct shmbloom_segment_header *)base)->gate;
    *ret = s;
    return 0;
}

bool shmbloom__segment_fits(const struct shmbloom__segment *segment, const struct shmbloom__control *control,
                            const struct shmbloom_slot *slot) {
    const struct shmbloom_segment_header *h = &segment->header;
    return segment->dev == slot->dev && segment->inode == slot->inode && segment->owner == control->owner &&
           h->generation == slot->generation && h->seed == slot->seed && h->normalization == slot->normalization &&
           h->key_type == slot->key_type &&
           shmbloom_hash_domain(h->domain, h->hash_id, h->normalization, h->key_type) == slot->hash_domain &&
           memcmp(h->filter_uuid, slot->uuid, sizeof slot->uuid) == 0 &&
           memcmp(h->state_uuid, control->state_uuid, sizeof h->state_uuid) == 0;
}

static int map_checked(int fd, const struct shmbloom__control *control, const struct shmbloom_slot *slot,
                       struct shmbloom__segment **ret, const char *name, struct shmbloom__fault *fault) {
    struct stat status;
    struct shmbloom_segment_header header;
    if (fstat(fd, &status) < 0)
        return shmbloom__fail_errno(fault, name, NULL);
    int r = check_status(&status, control, slot, name, fault);
    if (r < 0)
        return r;
    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header)
        return shmbloom__fail(fault, -EBADMSG, name, "it is too short");
    r = check_header(&header, name, fault);
    if (r == 0)
        r = check_size(&status, &header, name, fault);
    return r < 0 ? r : map(fd, &status, &header, ret, name, fault);
}

static int open_new(const struct shmbloom__control *control, const struct shmbloom_slot *slot,
                    struct shmbloom__segment **ret, struct shmbloom__fault *fault) {
    char name[SEGMENT_NAME_BYTES];
    format_name(control, slot, name);
    const int fd = shm_open(name, O_RDONLY, 0);
    if (fd < 0) {
        if (errno == ENOENT)
            return shmbloom__fail(fault, -ENOLINK, name, "its name is gone");
        const int r = shmbloom__fail_errno(fault, name, NULL);
        fault->group = control->group;
        return r;
    }
    const int r = map_checked(fd, control, slot, ret, name, fault);
    close(fd);
    return r;
}

int shmbloom__open_segment(const struct shmbloom__control *control, const struct shmbloom_slot *slot,
                           struct shmbloom__segment **ret, struct shmbloom__fault *fault) {
    struct shmbloom__segment *s = shmbloom__mapped_segment((dev_t)slot->dev, (ino_t)slot->inode);
    if (s == NULL) {
        const int r = open_new(control, slot, &s, fault);
        if (r < 0)
            return r;
        shmbloom__enter_segment(s);
    }
    if (!shmbloom__segment_fits(s, control, slot)) {
        shmbloom__leave_segment(s);
        return shmbloom__fail(fault, -EBADMSG, control->folder, "control and segment disagree");
    }
    *ret = s;
    return 0;
}
