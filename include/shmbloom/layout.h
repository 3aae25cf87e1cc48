/* The memory format: what shmbloomd writes and every worker reads. C11 and C++20, no pointers, nothing but
 * little-endian 64-bit and 32-bit fields and bytes. docs/memory-format.md tells the same story at length.
 *
 *   control, a file in the runtime folder             segment, one POSIX shared memory object a generation
 *   +--------------------------------+ 0              +--------------------------------+ 0
 *   | control header                 |                | segment header: constant,      |
 *   |   who wrote it, for which boot |                |   checksummed                  |
 *   |   heartbeat, name counter      |                +--------------------------------+ 256
 *   +--------------------------------+ 4096           | gate, alone on 128 bytes       |
 *   | slot 0   gate, alone on 128 B  |                +--------------------------------+ 384
 *   |          identity     128 B    |                | zero                           |
 *   |          settings     128 B    |                +--------------------------------+ 4096, or 2 MiB
 *   |          counters     128 B    |                | bits: 64-bit words, 0 -> 1     |   when there are
 *   +--------------------------------+ 4608           |   only, for ever               |   8 MiB or more
 *   | slot 1 ... slot 1023           |                +--------------------------------+
 *   +--------------------------------+ 528384
 *
 * The gate stands twice, in the slot and in the segment, so that losing one name cuts no reader off. A lookup may
 * answer "absent" only while both equal `generation << 16`, the generation that this reader has mapped.
 *
 * Compatibility: unused bytes are zero. A new meaning that an old reader may ignore sets a compat bit, any other an
 * incompat bit of that file or segment; a reader that meets an incompat bit it does not know answers 2 (unverified).
 */
#ifndef SHMBLOOM_LAYOUT_H
#define SHMBLOOM_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || UINTPTR_MAX != UINT64_MAX
#error "shmbloom's memory format needs a 64-bit little-endian machine"
#endif

#ifdef __cplusplus
#define SHMBLOOM_ASSERT_LAYOUT(condition) static_assert(condition, #condition)
#else
#define SHMBLOOM_ASSERT_LAYOUT(condition) _Static_assert(condition, #condition)
#endif

#define SHMBLOOM_CONTROL_MAGIC 0x316C7463626D6873ull /* the bytes "shmbctl1" */
#define SHMBLOOM_SEGMENT_MAGIC 0x31676573626D6873ull /* the bytes "shmbseg1" */
#define SHMBLOOM_FORMAT_VERSION 1u

#define SHMBLOOM_KNOWN_INCOMPAT 0ull

#define SHMBLOOM_CONTROL_HEADER_BYTES 4096u
#define SHMBLOOM_SLOT_COUNT 1024u
#define SHMBLOOM_SLOT_BYTES 512u
#define SHMBLOOM_CONTROL_BYTES (SHMBLOOM_CONTROL_HEADER_BYTES + SHMBLOOM_SLOT_COUNT * SHMBLOOM_SLOT_BYTES)

#define SHMBLOOM_SEGMENT_HEADER_BYTES 4096u
#define SHMBLOOM_HUGE_PAGE_BYTES (2u << 20)
/* From this many bytes of bits on, they begin at 2 MiB so that huge pages can hold them. */
#define SHMBLOOM_HUGE_FROM_BYTES (8u << 20)

#define SHMBLOOM_NAME_BYTES 64u
#define SHMBLOOM_UUID_BYTES 16u

/* Doubts: the low 16 bits of a gate. Each is a reason not to say "absent"; each is cleared by one act. */
#define SHMBLOOM_DOUBT_PARTIAL 0x01u /* these bits are incomplete; such a segment is never adopted */
#define SHMBLOOM_DOUBT_WARMING 0x02u /* the source has not been declared complete */
#define SHMBLOOM_DOUBT_PAUSED 0x04u  /* an operator wants no "absent" */
#define SHMBLOOM_DOUBT_LOSSY 0x08u   /* acknowledged adds may be missing */
#define SHMBLOOM_DOUBT_DAMAGED 0x10u /* a stored byte failed its check */
#define SHMBLOOM_DOUBT_COUNT 5u
#define SHMBLOOM_DOUBT_MASK 0xFFFFull
#define SHMBLOOM_GENERATION_SHIFT 16
#define SHMBLOOM_GENERATION_MAX ((1ull << 48) - 1)

/* Warnings: need an operator, change no answer. */
#define SHMBLOOM_WARNING_DEGRADED 0x01u     /* the disk does not follow */
#define SHMBLOOM_WARNING_FULL 0x02u         /* more keys than the capacity asked for */
#define SHMBLOOM_WARNING_GROWTH_BLOCKED 0x04u
#define SHMBLOOM_WARNING_ADDS_REFUSED 0x08u /* readers may exist that nobody can reach */
#define SHMBLOOM_WARNING_NAME_LOST 0x10u    /* the segment's name is gone: new workers cannot open it */
#define SHMBLOOM_WARNING_COUNT 5u

#define SHMBLOOM_LAYOUT_CLASSIC 1u
#define SHMBLOOM_LAYOUT_BLOCKED 2u

#define SHMBLOOM_HASH_XXH3_64 1u
#define SHMBLOOM_KEY_TYPE_BYTES 0u
#define SHMBLOOM_KEY_TYPE_U64 1u
#define SHMBLOOM_NORMALIZE_TRIM 1u
#define SHMBLOOM_NORMALIZE_LOWER 2u

#define SHMBLOOM_DURABILITY_MEMORY 1u  /* adds outlive the daemon, not the machine's next start */
#define SHMBLOOM_DURABILITY_DURABLE 2u /* acknowledged after a sync */
#define SHMBLOOM_DURABILITY_LOGGED 3u  /* synced every second */

struct shmbloom_control_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t compat;
    uint64_t incompat;
    uint8_t boot_id[SHMBLOOM_UUID_BYTES]; /* a control of another boot counts as none */
    uint8_t state_uuid[SHMBLOOM_UUID_BYTES];
    uint8_t control_uuid[SHMBLOOM_UUID_BYTES];
    char writer[32]; /* version of the daemon that made this file, zero-padded */
    uint32_t slot_count;
    uint32_t slot_bytes;
    uint64_t slots_offset;
    /* What the daemon changes; away from the constants. */
    uint64_t next_generation; /* at 128 */
    uint64_t applied_lsn;
    uint64_t daemon_pid;
    uint8_t zero_a[104];
    uint64_t heartbeat_ns; /* at 256: CLOCK_BOOTTIME of the daemon's last heartbeat */
    uint8_t zero_b[120];
    uint64_t name_counter; /* at 384: raised after a name came, went or was made anew */
    uint8_t zero_c[120];
};

struct shmbloom_slot {
    uint64_t gate; /* alone on 128 bytes: every lookup reads it, nothing else may make its line travel */
    uint8_t zero_gate[120];

    /* Identity, at 128: never changes while the gate is not 0, but for generation, dev and inode, which a reader
     * uses only when this generation is the gate's. */
    uint8_t uuid[SHMBLOOM_UUID_BYTES];
    char name[SHMBLOOM_NAME_BYTES]; /* zero-padded; 64 characters have no terminator */
    uint64_t seed;
    uint64_t hash_domain;
    uint32_t normalization;
    uint32_t key_type;
    uint64_t generation;
    uint64_t dev;
    uint64_t inode;

    /* Settings, at 256: what `status` and get_info show without the daemon. */
    uint64_t capacity;
    double fpr;
    uint32_t layout;
    uint32_t durability;
    uint32_t growable;
    uint32_t warnings;
    uint64_t lineage;
    uint64_t live_since; /* unix seconds, 0 while in doubt */
    uint64_t doubt_since[SHMBLOOM_DOUBT_COUNT]; /* unix seconds by bit number, 0: no such doubt */
    uint64_t huge_page_bytes;
    uint8_t zero_settings[32];

    /* Counters, at 384: estimates are the daemon's, computed at each heartbeat. */
    uint64_t bits_set;
    uint64_t adds_acknowledged; /* since the filter was created; duplicates too */
    uint64_t adds_new;          /* of these, answered "absent" */
    uint64_t adds_refused;
    uint64_t estimated_keys;
    double estimated_fpr;
    uint64_t wrong_absents;
    double keys_per_day; /* new keys, over the last day at most; 0: none, or not known yet */
    uint8_t zero_counters[64];
};

struct shmbloom_segment_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    uint64_t compat;
    uint64_t incompat;
    uint8_t state_uuid[SHMBLOOM_UUID_BYTES];
    uint8_t filter_uuid[SHMBLOOM_UUID_BYTES];
    uint64_t generation;
    uint64_t lineage;
    uint64_t seed;
    uint64_t domain; /* the instance's; hash_domain is made of it, hash id, normalization and key type */
    uint32_t hash_id;
    uint32_t normalization;
    uint32_t key_type;
    uint32_t layout;
    uint64_t capacity;
    double fpr;
    uint64_t size; /* classic: m, in bits; blocked: 64-byte blocks */
    uint32_t probes; /* classic: k; blocked: q, bits in each of four words */
    uint32_t zero_a;
    uint64_t bits_offset;
    uint64_t bits_bytes;
    uint64_t segment_bytes; /* exactly the size of the object */
    uint64_t checksum;      /* XXH3_64bits of all bytes before this field */
    uint8_t zero_b[80];
    uint64_t gate; /* at 256, alone on 128 bytes */
    uint8_t zero_c[120];
};

SHMBLOOM_ASSERT_LAYOUT(sizeof(struct shmbloom_control_header) == 512);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, boot_id) == 32);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, state_uuid) == 48);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, control_uuid) == 64);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, writer) == 80);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, slot_count) == 112);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, slots_offset) == 120);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, next_generation) == 128);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, applied_lsn) == 136);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, daemon_pid) == 144);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, heartbeat_ns) == 256);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_control_header, name_counter) == 384);

SHMBLOOM_ASSERT_LAYOUT(sizeof(struct shmbloom_slot) == SHMBLOOM_SLOT_BYTES);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, uuid) == 128);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, name) == 144);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, seed) == 208);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, hash_domain) == 216);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, normalization) == 224);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, key_type) == 228);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, generation) == 232);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, dev) == 240);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, inode) == 248);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, capacity) == 256);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, fpr) == 264);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, layout) == 272);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, warnings) == 284);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, lineage) == 288);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, live_since) == 296);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, doubt_since) == 304);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, huge_page_bytes) == 344);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, bits_set) == 384);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, adds_refused) == 408);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, estimated_fpr) == 424);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, wrong_absents) == 432);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_slot, keys_per_day) == 440);

SHMBLOOM_ASSERT_LAYOUT(sizeof(struct shmbloom_segment_header) == 384);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, state_uuid) == 32);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, filter_uuid) == 48);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, generation) == 64);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, lineage) == 72);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, seed) == 80);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, domain) == 88);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, hash_id) == 96);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, layout) == 108);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, capacity) == 112);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, fpr) == 120);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, size) == 128);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, probes) == 136);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, bits_offset) == 144);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, bits_bytes) == 152);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, segment_bytes) == 160);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, checksum) == 168);
SHMBLOOM_ASSERT_LAYOUT(offsetof(struct shmbloom_segment_header, gate) == 256);

/* Shared fields are read and written as whole 64-bit words; may_alias, since a slot's words hold other types too. */
typedef uint64_t __attribute__((__may_alias__)) shmbloom_word;

/* Acquire: whoever sees a gate sees every field and every bit that was stored before it. */
static inline uint64_t shmbloom_load_gate(const uint64_t *gate) {
    return __atomic_load_n(gate, __ATOMIC_ACQUIRE);
}

/* Release: the partner of shmbloom_load_gate. */
static inline void shmbloom_store_gate(uint64_t *gate, uint64_t value) {
    __atomic_store_n(gate, value, __ATOMIC_RELEASE);
}

/* Relaxed: for counters and for fields that are guarded by a gate read before and after. */
static inline uint64_t shmbloom_load_field(const uint64_t *field) {
    return __atomic_load_n(field, __ATOMIC_RELAXED);
}

static inline void shmbloom_store_field(uint64_t *field, uint64_t value) {
    __atomic_store_n(field, value, __ATOMIC_RELAXED);
}

/* Copy out of, and into, shared memory by relaxed 64-bit accesses; `bytes` is a multiple of 8. A torn copy is possible
 * and harmless: it is thrown away when the gate differs afterwards. */
static inline void shmbloom_copy_from_shared(void *to, const void *from, size_t bytes) {
    const shmbloom_word *source = (const shmbloom_word *)from;
    shmbloom_word *target = (shmbloom_word *)to;
    for (size_t i = 0; i < bytes / 8; i++)
        target[i] = __atomic_load_n(&source[i], __ATOMIC_RELAXED);
}

static inline void shmbloom_copy_to_shared(void *to, const void *from, size_t bytes) {
    const shmbloom_word *source = (const shmbloom_word *)from;
    shmbloom_word *target = (shmbloom_word *)to;
    for (size_t i = 0; i < bytes / 8; i++)
        __atomic_store_n(&target[i], source[i], __ATOMIC_RELAXED);
}

/* Copies all of a slot but its gate. Returns the gate that the copy belongs to, 0 when there is none: no filter, or
 * the slot is just being changed (ask again later; a lookup answers 2 meanwhile). */
static inline uint64_t shmbloom_read_slot(const struct shmbloom_slot *slot, struct shmbloom_slot *copy) {
    const uint64_t gate = shmbloom_load_gate(&slot->gate);
    shmbloom_copy_from_shared(copy, slot, sizeof *copy);
    /* The loads above must not move below the second look at the gate. */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    const uint64_t generation = gate >> SHMBLOOM_GENERATION_SHIFT;
    if (generation == 0 || shmbloom_load_field(&slot->gate) != gate || copy->generation != generation)
        return 0;
    copy->gate = gate;
    return gate;
}

static inline uint64_t shmbloom_hash_domain(uint64_t domain, uint32_t hash_id, uint32_t normalization, uint32_t key_type) {
    return domain ^ (hash_id | (uint64_t)normalization << 8 | (uint64_t)key_type << 16);
}

#endif
