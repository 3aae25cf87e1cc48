/* Opening and closing: names and options checked, the handle made. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"

#define STRUCT_BYTES_MAX 65536u
#define TIMEOUT_DEFAULT_MS 1000
#define TIMEOUT_MAX_MS 86400000
/* Sizes of the structs in the first version: a program cannot have been built with less. */
#define OPTIONS_FIRST_BYTES 48u

_Static_assert(sizeof(shmbloom_options) >= OPTIONS_FIRST_BYTES, "structs only grow");

int shmbloom__check_struct(const void *data, uint32_t struct_size, size_t first_bytes, size_t known_bytes) {
    const unsigned char *bytes = (const unsigned char *)data;
    if (struct_size < first_bytes || struct_size > STRUCT_BYTES_MAX)
        return -EINVAL;
    for (size_t i = known_bytes; i < struct_size; i++)
        if (bytes[i] != 0)
            return -EINVAL;
    return 0;
}

/* An environment variable, so that an operator can try the library in a service as it is. */
static int read_mode(uint32_t *flags, struct shmbloom__fault *fault) {
    const char *mode = secure_getenv("SHMBLOOM_MODE");
    if (mode == NULL || mode[0] == '\0' || strcmp(mode, "enforce") == 0)
        return 0;
    if (strcmp(mode, "shadow") != 0)
        return shmbloom__fail(fault, -EINVAL, "environment SHMBLOOM_MODE", "must be enforce or shadow");
    *flags |= SHMBLOOM_OPEN_SHADOW;
    return 0;
}

/* SHMBLOOM_SIMD=none: for tests, and to see whether a fault lies there. */
static int check_simd(struct shmbloom__fault *fault) {
    const char *wanted = secure_getenv("SHMBLOOM_SIMD");
    if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, "none") == 0)
        return 0;
    return shmbloom__fail(fault, -EINVAL, "environment SHMBLOOM_SIMD", "must be none or not set");
}

static int read_options(const shmbloom_options *given, shmbloom_options *options, struct shmbloom__fault *fault) {
    memset(options, 0, sizeof *options);
    if (given != NULL) {
        if (shmbloom__check_struct(given, given->struct_size, OPTIONS_FIRST_BYTES, sizeof *options) < 0)
            return shmbloom__fail(fault, -EINVAL, "options", "struct_size is not one of shmbloom_options");
        memcpy(options, given, given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
    }
    if ((options->flags & ~(uint32_t)(SHMBLOOM_OPEN_LAZY | SHMBLOOM_OPEN_SHADOW)) != 0)
        return shmbloom__fail(fault, -EINVAL, "options", "unknown flags");
    if (options->add_timeout_ms < -1 || options->add_timeout_ms > TIMEOUT_MAX_MS)
        return shmbloom__fail(fault, -EINVAL, "options", "add_timeout_ms must be -1 to 86,400,000");
    if (options->add_timeout_ms == 0)
        options->add_timeout_ms = TIMEOUT_DEFAULT_MS;
    const int r = check_simd(fault);
    return r < 0 ? r : read_mode(&options->flags, fault);
}

static bool is_name(const char *name) {
    if (name == NULL)
        return false;
    const size_t size = strnlen(name, SHMBLOOM_NAME_BYTES + 1);
    return size >= 1 && size <= SHMBLOOM_NAME_BYTES &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-") == size;
}

/* The struct is trusted to hold error_text only once its size is known to be one of ours. */
static void tell(const shmbloom_options *options, const struct shmbloom__fault *fault) {
    if (options->error_text != NULL && options->error_text_size > 0)
        shmbloom__describe_fault(fault, options->error_text, options->error_text_size);
}

/* A filter that cannot be looked at just now is open all the same: its lookups answer 2 until they can. */
static bool is_passing(int r) {
    return r == -ENOLINK || r == -EBUSY;
}

/* What a lazy open forgives: no daemon yet, no filter yet. */
static bool is_absence(int r) {
    return r == -ENXIO || r == -ENOENT;
}

static int resolve_first(shmbloom_filter *f) {
    const int r = shmbloom__resolve(f);
    return is_passing(r) || (f->place.lazy && is_absence(r)) ? 0 : r;
}

static enum shmbloom__instructions choose_instructions(void) {
    const char *wanted = secure_getenv("SHMBLOOM_SIMD");
    return wanted != NULL && wanted[0] != '\0' ? SHMBLOOM__SCALAR : shmbloom__best_instructions();
}

/* Differs between handles; nothing secret. */
static uint64_t random_seed(const shmbloom_filter *f) {
    const uint64_t x = (uint64_t)shmbloom__monotonic_ns() ^ (uint64_t)(uintptr_t)f << 20;
    return shmbloom_next_probe(x) | 1; /* xorshift stays at 0 for ever */
}

static shmbloom_filter *make_handle(const char *name, const shmbloom_options *options,
                                    const struct shmbloom__place *place) {
    shmbloom_filter *f = (shmbloom_filter *)calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->control_gate = f->segment_gate = f->name_counter = &shmbloom__no_word;
    f->expected = SHMBLOOM__NEVER;
    f->look_up = shmbloom__look_up;
    f->look_up_number = shmbloom__look_up_number;
    f->instructions = choose_instructions();
    f->connection = (struct shmbloom__connection)SHMBLOOM__CONNECTION_CLOSED;
    f->slot_index = SHMBLOOM__NO_SLOT;
    f->place = *place;
    f->add_timeout_ms = options->add_timeout_ms;
    f->shadow = (options->flags & SHMBLOOM_OPEN_SHADOW) != 0;
    f->audit_one_in = options->audit_one_in;
    f->withholds = f->shadow || f->audit_one_in != 0;
    if (f->withholds)
        f->random = random_seed(f);
    (void)!snprintf(f->name, sizeof f->name, "%s", name);
    return f;
}

int shmbloom_open(shmbloom_filter **ret, const char *name, const shmbloom_options *given) {
    struct shmbloom__fault fault = {.error = 0};
    struct shmbloom__place place;
    shmbloom_options options;
    if (ret == NULL)
        return -EINVAL;
    int r = read_options(given, &options, &fault);
    if (r == 0 && !is_name(name))
        r = shmbloom__fail(&fault, -EINVAL, "name", "must be 1 to 64 of A-Z a-z 0-9 . _ : -");
    if (r == 0)
        r = shmbloom__set_place(&place, &options, &fault);
    if (r < 0) {
        tell(&options, &fault);
        return r;
    }
    shmbloom_filter *f = make_handle(name, &options, &place);
    if (f == NULL)
        return -ENOMEM;
    r = resolve_first(f);
    if (r < 0) {
        tell(&options, &f->fault);
        shmbloom_close(f);
        return r;
    }
    *ret = f;
    return 0;
}

shmbloom_filter *shmbloom_close(shmbloom_filter *f) {
    if (f == NULL)
        return NULL;
    shmbloom__free_connection(&f->connection);
    if (shmbloom__lock()) {
        shmbloom__detach_segment(f);
        shmbloom__leave_control(f->control, true);
        shmbloom__unlock();
    }
    free(f);
    return NULL;
}

int shmbloom__list_of(const shmbloom_options *given, int (*visit)(void *context, const char *name), void *context,
                      struct shmbloom__daemon *ret) {
    struct shmbloom__fault fault = {.error = 0};
    struct shmbloom__place place;
    struct shmbloom__control *control = NULL;
    shmbloom_options options;
    int r = read_options(given, &options, &fault);
    if (r == 0)
        r = shmbloom__set_place(&place, &options, &fault);
    if (r == 0 && !shmbloom__lock())
        r = shmbloom__fail(&fault, -EBUSY, place.instance, NULL);
    else if (r == 0) {
        r = shmbloom__find_control(&place, &control, &fault);
        shmbloom__unlock();
    }
    if (r < 0) {
        tell(&options, &fault);
        return r;
    }
    ret->pid = shmbloom__daemon_pid(control);
    ret->heartbeat_age_ms = shmbloom__heartbeat_age_ms(control);
    (void)!snprintf(ret->runtime_dir, sizeof ret->runtime_dir, "%s", control->folder);
    shmbloom__visit_names(control, visit, context);
    if (shmbloom__lock()) {
        shmbloom__leave_control(control, true);
        shmbloom__unlock();
    }
    return 0;
}

int shmbloom__list(const shmbloom_options *options, int (*visit)(void *context, const char *name), void *context,
                   uint64_t *heartbeat_age_ms, char *runtime_dir, size_t runtime_dir_size) {
    struct shmbloom__daemon daemon;
    const int r = shmbloom__list_of(options, visit, context, &daemon);
    if (r < 0)
        return r;
    *heartbeat_age_ms = daemon.heartbeat_age_ms;
    (void)!snprintf(runtime_dir, runtime_dir_size, "%s", daemon.runtime_dir);
    return 0;
}
