// The bytes of a snapshot, and what makes them valid.
//
//   <number>.snapshot
//   +------------------------------------+ 0
//   | header: who, which bits, from when |
//   |   zero up to its checksum          |
//   +------------------------------------+ 4096 = header_bytes
//   | bits: bits_bytes, as in memory, in |
//   |   chunks of chunk_bytes, the last  |
//   |   one may be shorter               |
//   +------------------------------------+ 4096 + bits_bytes
//   | table: 8 bytes a chunk, its        |
//   |   checksum                         |
//   +------------------------------------+ + 8 * chunks
//   | footer: what was known at the end  |
//   +------------------------------------+ + 64 = the file's size, exactly
//
// Little-endian, as in memory. The file is valid if and only if
//   - magic and version are these, no unknown incompat bit is set and every number is in its range;
//   - header.checksum = XXH3_64bits of the 4088 bytes before it;
//   - bits_bytes is what the shape takes and the file's size is what header_bytes, bits_bytes and chunk_bytes make;
//   - footer.checksum = XXH3_64bits of the table and of the 56 bytes before it, with header.checksum as the seed;
//   - the checksum of chunk i in the table = XXH3_64bits of its bytes, with snapshot_chunk_seed(header.checksum, i).
// So every byte is covered, and seeds that come from the header and the index make a chunk, a table or a footer of
// another snapshot, or of another place in this one, as wrong as a flipped bit. Reading: the header, the size, table
// and footer, and only then, chunk by chunk, the bits; nothing is believed, and no memory taken, before its check.
//
// The table stands behind the bits, and not in front of each chunk, so that bits go from the file into shared memory
// in one piece, and the writer, who knows the checksums last, writes from front to back.
//
// Compatibility: as in layout.h. Unused bytes are zero; a new meaning that an old reader may ignore sets a compat bit,
// any other an incompat bit; a reader that meets an incompat bit it does not know does not use the file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shmbloom/key.h"

namespace shmbloom {

inline constexpr std::uint64_t kSnapshotMagic = 0x31706E73626D6873;       // the bytes "shmbsnp1"
inline constexpr std::uint64_t kSnapshotFooterMagic = 0x31656E73626D6873; // the bytes "shmbsne1"
inline constexpr std::uint32_t kSnapshotVersion = 1;
inline constexpr std::uint64_t kSnapshotKnownIncompat = 0;
// Large enough that a call, a checksum's start and 8 bytes of table cost nothing; small enough that a copy waits, and
// stops, in fine steps. Other writers may choose otherwise between the limits: multiples of the least.
inline constexpr std::uint64_t kSnapshotChunkBytes = 1u << 20;
inline constexpr std::uint64_t kSnapshotChunkBytesMin = 1u << 16;
inline constexpr std::uint64_t kSnapshotChunkBytesMax = 1u << 24;

struct SnapshotHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t compat;
    std::uint64_t incompat;
    std::uint8_t state_uuid[SHMBLOOM_UUID_BYTES];
    std::uint8_t filter_uuid[SHMBLOOM_UUID_BYTES];
    char writer[32]; // version of the daemon, zero-padded
    std::uint64_t filter_number;
    std::uint64_t number;
    std::uint64_t generation;
    std::uint64_t lineage;
    std::uint64_t s;
    std::uint64_t begun;        // unix seconds
    std::uint64_t source_begun; // unix seconds, 0: unknown
    std::uint64_t bulk_acts;
    std::uint64_t hash_domain;
    std::uint32_t hash_id;
    std::uint32_t normalization;
    std::uint32_t key_type;
    std::uint32_t hash_list_complete; // 0 or 1
    std::uint64_t capacity;
    double fpr;
    std::uint32_t layout;
    std::uint32_t probes;
    std::uint64_t size;
    std::uint64_t bits_bytes;
    std::uint64_t chunk_bytes;
    std::uint8_t zero[3856];
    std::uint64_t checksum; // at the page's end: what is unused is covered as well
};

struct SnapshotFooter {
    std::uint64_t magic;
    std::uint64_t end;
    std::uint64_t adds_acknowledged;
    std::uint64_t adds_new;
    std::uint64_t bits_set; // ones among the bits of this very file
    std::uint64_t chunk_count;
    std::uint64_t zero;
    std::uint64_t checksum;
};

static_assert(sizeof(SnapshotHeader) == 4096);
static_assert(offsetof(SnapshotHeader, magic) == 0);
static_assert(offsetof(SnapshotHeader, version) == 8);
static_assert(offsetof(SnapshotHeader, header_bytes) == 12);
static_assert(offsetof(SnapshotHeader, compat) == 16);
static_assert(offsetof(SnapshotHeader, incompat) == 24);
static_assert(offsetof(SnapshotHeader, state_uuid) == 32);
static_assert(offsetof(SnapshotHeader, filter_uuid) == 48);
static_assert(offsetof(SnapshotHeader, writer) == 64);
static_assert(offsetof(SnapshotHeader, filter_number) == 96);
static_assert(offsetof(SnapshotHeader, number) == 104);
static_assert(offsetof(SnapshotHeader, generation) == 112);
static_assert(offsetof(SnapshotHeader, lineage) == 120);
static_assert(offsetof(SnapshotHeader, s) == 128);
static_assert(offsetof(SnapshotHeader, begun) == 136);
static_assert(offsetof(SnapshotHeader, source_begun) == 144);
static_assert(offsetof(SnapshotHeader, bulk_acts) == 152);
static_assert(offsetof(SnapshotHeader, hash_domain) == 160);
static_assert(offsetof(SnapshotHeader, hash_id) == 168);
static_assert(offsetof(SnapshotHeader, normalization) == 172);
static_assert(offsetof(SnapshotHeader, key_type) == 176);
static_assert(offsetof(SnapshotHeader, hash_list_complete) == 180);
static_assert(offsetof(SnapshotHeader, capacity) == 184);
static_assert(offsetof(SnapshotHeader, fpr) == 192);
static_assert(offsetof(SnapshotHeader, layout) == 200);
static_assert(offsetof(SnapshotHeader, probes) == 204);
static_assert(offsetof(SnapshotHeader, size) == 208);
static_assert(offsetof(SnapshotHeader, bits_bytes) == 216);
static_assert(offsetof(SnapshotHeader, chunk_bytes) == 224);
static_assert(offsetof(SnapshotHeader, zero) == 232);
static_assert(offsetof(SnapshotHeader, checksum) == 4088);

static_assert(sizeof(SnapshotFooter) == 64);
static_assert(offsetof(SnapshotFooter, magic) == 0);
static_assert(offsetof(SnapshotFooter, end) == 8);
static_assert(offsetof(SnapshotFooter, adds_acknowledged) == 16);
static_assert(offsetof(SnapshotFooter, adds_new) == 24);
static_assert(offsetof(SnapshotFooter, bits_set) == 32);
static_assert(offsetof(SnapshotFooter, chunk_count) == 40);
static_assert(offsetof(SnapshotFooter, zero) == 48);
static_assert(offsetof(SnapshotFooter, checksum) == 56);

// Where everything is: a pure function of two numbers of the header. With bits_bytes up to 2^43, nothing overflows.
struct SnapshotPlaces {
    std::uint64_t bits_bytes;
    std::uint64_t chunk_bytes;

    std::uint64_t chunk_count() const { return (bits_bytes + chunk_bytes - 1) / chunk_bytes; }
    std::uint64_t chunk_offset(std::uint64_t i) const { return sizeof(SnapshotHeader) + i * chunk_bytes; }
    std::size_t chunk_size(std::uint64_t i) const {
        const std::uint64_t left = bits_bytes - i * chunk_bytes;
        return static_cast<std::size_t>(left < chunk_bytes ? left : chunk_bytes);
    }
    std::uint64_t table_offset() const { return sizeof(SnapshotHeader) + bits_bytes; }
    std::uint64_t footer_offset() const { return table_offset() + 8 * chunk_count(); }
    std::uint64_t file_bytes() const { return footer_offset() + sizeof(SnapshotFooter); }
};

inline std::uint64_t snapshot_header_checksum(const SnapshotHeader &header) {
    return XXH3_64bits(&header, offsetof(SnapshotHeader, checksum));
}

// An odd factor: no two chunks of a snapshot have the same seed.
inline std::uint64_t snapshot_chunk_seed(std::uint64_t header_checksum, std::uint64_t i) {
    return header_checksum + (i + 1) * 0x9E3779B97F4A7C15;
}

inline std::uint64_t snapshot_chunk_checksum(const void *bytes, std::size_t size, std::uint64_t header_checksum,
                                             std::uint64_t i) {
    return XXH3_64bits_withSeed(bytes, size, snapshot_chunk_seed(header_checksum, i));
}

// Of table and footer. The table may be long, so it comes in pieces.
class SnapshotEndChecksum {
  public:
    explicit SnapshotEndChecksum(std::uint64_t header_checksum) {
        XXH3_INITSTATE(&state_);
        XXH3_64bits_reset_withSeed(&state_, header_checksum);
    }
    void add_table(const std::uint64_t *checksums, std::size_t count) {
        XXH3_64bits_update(&state_, checksums, 8 * count);
    }
    std::uint64_t finish(const SnapshotFooter &footer) {
        XXH3_64bits_update(&state_, &footer, offsetof(SnapshotFooter, checksum));
        return XXH3_64bits_digest(&state_);
    }

  private:
    XXH3_state_t state_;
};

} // namespace shmbloom
