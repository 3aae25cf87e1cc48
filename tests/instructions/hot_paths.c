/* hot_paths PATH TIMES: a lookup of each key of a small set, TIMES over, one way; for a count of its instructions. The
 * handle is made by hand, live and without a daemon, so that nothing but the lookups grows with TIMES.
 *
 * PATH: how, layout, q or k, blocks or bits, hit or miss, with commas between: how is single, number, many, packed,
 * numbers or hashes. SHMBLOOM_SIMD=none: without vectors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "shmbloom/key.h"

#define KEYS 1024u
#define KEY_BYTES 16u
#define SEED 0x0123456789ABCDEFull
#define DOMAIN 7u

struct world {
    uint64_t gate;
    shmbloom_filter f;
    char bytes[KEYS][KEY_BYTES];
    uint64_t numbers[KEYS], hashes[KEYS], offsets[KEYS + 1];
    shmbloom_key keys[KEYS];
    uint8_t answers[KEYS];
};

static void die(const char *why) {
    fprintf(stderr, "hot_paths: %s\n", why);
    exit(1);
}

static uint64_t mix(uint64_t x) {
    x *= 0x9E3779B97F4A7C15ull;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

static void make_keys(struct world *w) {
    for (uint64_t i = 0; i < KEYS; i++) {
        w->numbers[i] = mix(2 * i + 1);
        const uint64_t words[2] = {mix(2 * i + 2), w->numbers[i]};
        memcpy(w->bytes[i], words, KEY_BYTES);
        w->keys[i] = (shmbloom_key){.data = w->bytes[i], .size = KEY_BYTES};
        w->offsets[i + 1] = w->offsets[i] + KEY_BYTES;
    }
}

static bool takes_numbers(const char *how) {
    return strncmp(how, "number", 6) == 0;
}

/* As attach_segment leaves a handle. */
static void make_handle(struct world *w, const struct shmbloom_shape *shape, const char *how) {
    shmbloom_filter *f = &w->f;
    uint64_t *words = (uint64_t *)aligned_alloc(64, ((size_t)shmbloom_shape_bytes(shape) + 63) / 64 * 64);
    const char *simd = getenv("SHMBLOOM_SIMD");
    if (words == NULL)
        die("no memory");
    /* Half of the bits, as in a full filter. */
    for (uint64_t i = 0; i < shmbloom_shape_bytes(shape) / 8; i++)
        words[i] = mix(i ^ 0x5555);
    w->gate = 1u << SHMBLOOM_GENERATION_SHIFT;
    f->control_gate = f->segment_gate = &w->gate;
    f->expected = w->gate;
    f->words = words;
    f->shape = *shape;
    f->hashing =
        (struct shmbloom__hashing){.seed = SEED,
                                   .hash_domain = DOMAIN,
                                   .key_type = takes_numbers(how) ? SHMBLOOM_KEY_TYPE_U64 : SHMBLOOM_KEY_TYPE_BYTES};
    f->instructions = simd != NULL && strcmp(simd, "none") == 0 ? SHMBLOOM__SCALAR : shmbloom__best_instructions();
    shmbloom__choose_lookups(f);
    for (size_t i = 0; i < KEYS; i++)
        w->hashes[i] = takes_numbers(how) ? shmbloom_hash_number(w->numbers[i], SEED)
                                          : shmbloom_hash_bytes(w->bytes[i], KEY_BYTES, 0, SEED);
}

static void look_up(struct world *w, const char *how, unsigned long times) {
    shmbloom_filter *f = &w->f;
    for (unsigned long t = 0; t < times; t++) {
        int r = 0;
        if (strcmp(how, "single") == 0)
            for (size_t i = 0; i < KEYS; i++)
                w->answers[i] = (uint8_t)shmbloom_contains(f, w->bytes[i], KEY_BYTES);
        else if (strcmp(how, "number") == 0)
            for (size_t i = 0; i < KEYS; i++)
                w->answers[i] = (uint8_t)shmbloom_contains_u64(f, w->numbers[i]);
        else if (strcmp(how, "many") == 0)
            r = shmbloom_contains_many(f, w->keys, KEYS, w->answers);
        else if (strcmp(how, "packed") == 0)
            r = shmbloom_contains_packed(f, w->bytes, w->offsets, KEYS, w->answers);
        else if (strcmp(how, "numbers") == 0)
            r = shmbloom_contains_many_u64(f, w->numbers, KEYS, w->answers);
        else if (strcmp(how, "hashes") == 0)
            r = shmbloom_contains_hashes(f, DOMAIN, w->hashes, KEYS, w->answers);
        else
            die("unknown way");
        if (r < 0)
            die("refused");
    }
}

/* All of them must be there, or hardly any. */
static void check_answers(const struct world *w, bool hits) {
    size_t found = 0;
    for (size_t i = 0; i < KEYS; i++) {
        if (w->answers[i] == SHMBLOOM_UNVERIFIED)
            die("unverified");
        found += w->answers[i] == SHMBLOOM_MAYBE;
    }
    if (hits ? found != KEYS : found > KEYS / 8)
        die("wrong answers");
}

int main(int argc, char **argv) {
    static struct world w;
    char how[16], layout[16], wanted[16];
    struct shmbloom_shape shape = {.probes = 0};
    unsigned long long size = 0;
    if (argc != 3 ||
        sscanf(argv[1], "%15[a-z],%15[a-z],%u,%llu,%15[a-z]", how, layout, &shape.probes, &size, wanted) != 5)
        die("usage: hot_paths HOW,LAYOUT,PROBES,SIZE,hit|miss TIMES");
    shape.layout = strcmp(layout, "blocked") == 0 ? SHMBLOOM_LAYOUT_BLOCKED : SHMBLOOM_LAYOUT_CLASSIC;
    shape.size = size;
    const bool hits = strcmp(wanted, "hit") == 0;
    make_keys(&w);
    make_handle(&w, &shape, how);
    if (hits)
        for (size_t i = 0; i < KEYS; i++)
            shmbloom_set_bits((uint64_t *)(uintptr_t)w.f.words, &shape, w.hashes[i]);
    look_up(&w, how, strtoul(argv[2], NULL, 10));
    check_answers(&w, hits);
    return 0;
}
