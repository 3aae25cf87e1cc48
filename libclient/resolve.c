/* The slow path: from control's path by the slot to the segment. Taken when the gates are not as a handle expects. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "handle.h"

#define RETRY_NS 100000000ll
/* A switch may come between reading the slot and opening the segment that it names; three in a row do not. */
#define ROUNDS 4

const uint64_t shmbloom__no_word = 0;

static int64_t coarse_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now); /* answered by the vDSO, without a system call */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void shmbloom__detach_segment(shmbloom_filter *f) {
    f->expected = SHMBLOOM__NEVER;
    f->segment_gate = &shmbloom__no_word;
    f->words = NULL;
    shmbloom__leave_segment(f->segment);
    f->segment = NULL;
}

/* Takes over one use of `segment`. */
static void attach_segment(shmbloom_filter *f, struct shmbloom__segment *segment, const struct shmbloom_slot *slot) {
    const struct shmbloom_segment_header *h = &segment->header;
    struct shmbloom__segment *const old = f->segment;
    f->segment = segment;
    f->segment_gate = segment->gate;
    f->words = (const uint64_t *)(const void *)(segment->base + h->bits_offset);
    f->shape = (struct shmbloom_shape){.layout = h->layout, .probes = h->probes, .size = h->size};
    f->hashing = (struct shmbloom__hashing){
        .seed = h->seed, .hash_domain = slot->hash_domain, .normalization = h->normalization, .key_type = h->key_type};
    shmbloom__choose_lookups(f);
    /* Whether both gates are this is looked at by every lookup. */
    f->expected = h->generation << SHMBLOOM_GENERATION_SHIFT;
    shmbloom__leave_segment(old);
}

/* Finds control, or opens its path again if it leads to another file. While nothing better is there the handle keeps
 * what it has: its segment's own gate tells of every doubt and of the end. */
static int refresh_control(shmbloom_filter *f) {
    struct shmbloom__control *found = NULL, *const old = f->control;
    const int r = old == NULL ? shmbloom__find_control(&f->place, &found, &f->fault)
                              : shmbloom__open_control(old->folder, old->trust, &found, &f->fault);
    if (r < 0)
        return r;
    if (found != old) {
        f->control = found;
        f->name_counter = shmbloom__name_counter(found);
        f->control_gate = &shmbloom__no_word;
        f->slot_index = SHMBLOOM__NO_SLOT;
        /* The same number in a control of another state folder is another generation: the slot decides. */
        f->expected = SHMBLOOM__NEVER;
    }
    /* Either the use of the old one, which no path leads to any more, or the second use of the same. */
    shmbloom__leave_control(old, false);
    return 0;
}

static int fail_in_folder(shmbloom_filter *f, int error, const char *what) {
    char where[SHMBLOOM__FOLDER_BYTES + SHMBLOOM_NAME_BYTES + 8];
    (void)!snprintf(where, sizeof where, "'%s' in %s", f->name, f->control->folder);
    return shmbloom__fail(&f->fault, error, where, what);
}

/* One round: slot by name, then its segment. */
static int follow_name(shmbloom_filter *f) {
    struct shmbloom_slot slot;
    /* Before the names: a filter that comes during the scan raises it afterwards, and the next lookup scans again. */
    f->seen_name_counter = shmbloom_load_gate(f->name_counter);
    const int found = shmbloom__find_slot(f->control, f->name, &f->slot_index, &slot);
    if (found < 0) {
        f->control_gate = &shmbloom__no_word;
        f->seen_control_gate = 0;
        shmbloom__detach_segment(f);
        return fail_in_folder(f, -ENOENT, NULL);
    }
    f->control_gate = &shmbloom__slot(f->control, f->slot_index)->gate;
    if (found == 0) {
        f->seen_control_gate = shmbloom_load_gate(f->control_gate);
        return fail_in_folder(f, -EBUSY, "just being changed");
    }
    f->seen_control_gate = slot.gate;
    if (f->segment != NULL && shmbloom__segment_fits(f->segment, f->control, &slot)) {
        f->expected = slot.generation << SHMBLOOM_GENERATION_SHIFT;
        return 0;
    }
    struct shmbloom__segment *segment;
    const int r = shmbloom__open_segment(f->control, &slot, &segment, &f->fault);
    if (r < 0)
        shmbloom__detach_segment(f);
    else
        attach_segment(f, segment, &slot);
    return r;
}

static bool generation_changed(const shmbloom_filter *f) {
    return shmbloom_load_gate(f->control_gate) >> SHMBLOOM_GENERATION_SHIFT !=
               f->seen_control_gate >> SHMBLOOM_GENERATION_SHIFT ||
           (f->control_gate == &shmbloom__no_word && shmbloom_load_gate(f->name_counter) != f->seen_name_counter);
}

int shmbloom__resolve_locked(shmbloom_filter *f) {
    shmbloom__sweep();
    f->seen_ns = coarse_ns();
    f->seen_control_gate = shmbloom_load_gate(f->control_gate);
    f->seen_name_counter = shmbloom_load_gate(f->name_counter);
    int r = refresh_control(f);
    for (int round = 0; r == 0 && round < ROUNDS; round++) {
        r = follow_name(f);
        if (!generation_changed(f))
            break;
        r = round + 1 < ROUNDS ? 0 : r;
    }
    f->seen_segment_gate = shmbloom_load_gate(f->segment_gate);
    f->resolved = true;
    f->fault.error = r;
    return r;
}

int shmbloom__resolve(shmbloom_filter *f) {
    if (!shmbloom__lock())
        return -EBUSY;
    const int r = shmbloom__resolve_locked(f);
    shmbloom__unlock();
    return r;
}

/* Nothing that a resolve could see differently, and not long ago: a filter in doubt costs its lookups next to nothing.
 */
static bool is_settled(const shmbloom_filter *f) {
    return f->resolved && shmbloom_load_gate(f->control_gate) == f->seen_control_gate &&
           shmbloom_load_gate(f->segment_gate) == f->seen_segment_gate &&
           shmbloom_load_gate(f->name_counter) == f->seen_name_counter && coarse_ns() - f->seen_ns < RETRY_NS;
}

bool shmbloom__resolve_for_lookup(shmbloom_filter *f) {
    if (is_settled(f))
        return false;
    if (!shmbloom__try_lock()) {
        /* Not remembered: the next call tries again. */
        f->fault.error = -EBUSY;
        return false;
    }
    (void)shmbloom__resolve_locked(f);
    shmbloom__unlock();
    return shmbloom__is_live(f);
}

bool shmbloom__copy_slot(const shmbloom_filter *f, struct shmbloom_slot *copy) {
    if (f->control_gate == &shmbloom__no_word)
        return false;
    const struct shmbloom_slot *slot = shmbloom__slot(f->control, f->slot_index);
    return shmbloom_read_slot(slot, copy) != 0 && shmbloom__has_name(copy, f->name);
}
