/* shmbloom_get_info: filter and handle described for people and monitors. Estimates are the daemon's, copied. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "handle.h"

/* sizeof shmbloom_info in the first version. */
#define INFO_FIRST_BYTES 1320u

static void copy_text(char *to, size_t size, const char *from) {
    (void)!snprintf(to, size, "%s", from);
}

static void fill_unknown(shmbloom_info *info) {
    info->hash_domain = info->generation = info->lineage = SHMBLOOM_UNKNOWN;
    info->capacity = info->bits = info->blocks = SHMBLOOM_UNKNOWN;
    info->memory_bytes = info->huge_page_bytes = info->bits_set = SHMBLOOM_UNKNOWN;
    info->adds_acknowledged = info->adds_new = info->adds_refused = SHMBLOOM_UNKNOWN;
    info->estimated_keys = info->headroom_keys = SHMBLOOM_UNKNOWN;
    info->wrong_absents_of_all = SHMBLOOM_UNKNOWN;
    info->fpr = info->estimated_fpr = info->fill = info->keys_per_day = -1;
    info->heartbeat_age_ms = info->daemon_pid = SHMBLOOM_UNKNOWN;
}

static void fill_from_slot(shmbloom_info *info, const struct shmbloom_slot *slot) {
    shmbloom__format_uuid(slot->uuid, info->uuid);
    copy_text(info->layout, sizeof info->layout, shmbloom__layout_word(slot->layout));
    copy_text(info->key_type, sizeof info->key_type, shmbloom__key_type_word(slot->key_type));
    copy_text(info->normalize, sizeof info->normalize, shmbloom__normalization_words(slot->normalization));
    copy_text(info->durability, sizeof info->durability, shmbloom__durability_word(slot->durability));
    shmbloom__join_warnings(slot->warnings, info->warnings_text, sizeof info->warnings_text);
    info->warnings = slot->warnings;
    info->hash_domain = slot->hash_domain;
    info->generation = slot->generation;
    info->lineage = slot->lineage;
    info->capacity = slot->capacity;
    info->fpr = slot->fpr;
    info->huge_page_bytes = slot->huge_page_bytes;
    info->bits_set = slot->bits_set;
    info->adds_acknowledged = slot->adds_acknowledged;
    info->adds_new = slot->adds_new;
    info->adds_refused = slot->adds_refused;
    info->wrong_absents_of_all = slot->wrong_absents;
    info->estimated_keys = slot->estimated_keys;
    info->estimated_fpr = slot->estimated_fpr;
    info->keys_per_day = slot->keys_per_day;
    info->headroom_keys = slot->capacity > slot->estimated_keys ? slot->capacity - slot->estimated_keys : 0;
    info->live_since = slot->live_since;
    for (unsigned i = 0; i < SHMBLOOM_DOUBT_COUNT; i++)
        info->doubt_since[i] = slot->doubt_since[i];
    info->doubts = (uint32_t)(slot->gate & SHMBLOOM_DOUBT_MASK);
}

static void fill_from_segment(shmbloom_info *info, const struct shmbloom_segment_header *h) {
    const bool blocked = h->layout == SHMBLOOM_LAYOUT_BLOCKED;
    info->probes = h->probes;
    info->blocks = blocked ? h->size : 0;
    info->bits = blocked ? h->size * 512 : h->size;
    info->memory_bytes = h->segment_bytes;
    if (info->bits_set != SHMBLOOM_UNKNOWN)
        info->fill = (double)info->bits_set / (double)info->bits;
}

/* The doubts of both gates; the segment's only as long as it is the generation that control names. */
static void fill_doubts(shmbloom_filter *f, shmbloom_info *info) {
    const uint64_t gate = shmbloom_load_gate(f->segment_gate);
    int error = f->fault.error;
    if (gate >> SHMBLOOM_GENERATION_SHIFT == info->generation)
        info->doubts |= (uint32_t)(gate & SHMBLOOM_DOUBT_MASK);
    else if (error == 0 && info->generation == SHMBLOOM_UNKNOWN)
        error = shmbloom__fail(&f->fault, -EBUSY, f->name, "just being changed");
    else if (error == 0)
        error = shmbloom__fail(&f->fault, -ENOLINK, shmbloom__runtime_dir(f), "the segment's generation is over");
    info->live = shmbloom__is_live(f);
    if (info->live)
        return;
    shmbloom__join_doubts(info->doubts, info->doubts_text, sizeof info->doubts_text);
    if (error == 0)
        return;
    info->handle_doubts = shmbloom__handle_doubt(error);
    shmbloom__join_handle_doubts(info->handle_doubts, info->handle_doubts_text, sizeof info->handle_doubts_text);
    const size_t used = strlen(info->handle_doubts_text);
    char text[512];
    shmbloom__describe_fault(&f->fault, text, sizeof text);
    (void)!snprintf(info->handle_doubts_text + used, sizeof info->handle_doubts_text - used, ": %s", text);
}

static void fill_from_handle(shmbloom_info *info, const shmbloom_filter *f) {
    copy_text(info->name, sizeof info->name, f->name);
    copy_text(info->runtime_dir, sizeof info->runtime_dir, shmbloom__runtime_dir(f));
    if (f->control != NULL) {
        info->heartbeat_age_ms = shmbloom__heartbeat_age_ms(f->control);
        info->daemon_pid = shmbloom__daemon_pid(f->control);
    }
    const uint64_t withheld = f->would_be_absent + f->audited;
    info->absent = f->probed - f->maybe - withheld;
    info->maybe = f->maybe;
    info->unverified = f->unprobed + withheld;
    info->would_be_absent = f->would_be_absent;
    info->audited = f->audited;
    info->wrong_absent = f->wrong_absent;
    info->false_positives = f->false_positives;
}

int shmbloom_get_info(shmbloom_filter *f, shmbloom_info *ret) {
    if (f == NULL || ret == NULL || shmbloom__check_struct(ret, ret->struct_size, INFO_FIRST_BYTES, sizeof *ret) < 0)
        return -EINVAL;
    shmbloom_info info;
    struct shmbloom_slot slot;
    memset(&info, 0, sizeof info);
    info.struct_size = ret->struct_size;
    (void)shmbloom__resolve(f);
    fill_unknown(&info);
    if (shmbloom__copy_slot(f, &slot))
        fill_from_slot(&info, &slot);
    if (f->segment != NULL)
        fill_from_segment(&info, &f->segment->header);
    fill_doubts(f, &info);
    fill_from_handle(&info, f);
    memcpy(ret, &info, sizeof info);
    return 0;
}

const char *shmbloom__runtime_dir(const shmbloom_filter *f) {
    return f->control != NULL ? f->control->folder : "";
}
