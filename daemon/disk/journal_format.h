// The bytes of the journal. A file `<state folder>/journal/<number>` is allocated and zeroed before its first frame:
//
//   0      header: what state it belongs to, and the file's id, which seeds the checksum of each of its frames
//   4096   frames, one behind the other, each a multiple of 8 bytes; zeros behind the last
//
//   frame  +0   magic, bytes of this header, type, flags
//          +8   number of the filter, count of hashes
//          +24  first LSN of these adds; end LSN of the frame before, whichever file that is in: together they are a
//               chain. LSNs between the two were given to adds that were never acknowledged as synced
//          +40  every LSN below this one had been synced before this frame was written; unix time in ns
//          +56  XXH3 of all other bytes of the frame; then 8 bytes for each hash
//
// All is little-endian; what is unused is zero. A frame of an unknown type with the top bit is skipped, another unknown
// type or an incompat bit makes it a damaged one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shmbloom::journal_format {

inline constexpr std::uint64_t kMagic = 0x316E726A626D6873; // "shmbjrn1"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kHeaderBytes = 4096;

struct FileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t compat;
    std::uint64_t incompat;
    std::uint8_t state_uuid[16];
    std::uint64_t number;
    std::uint64_t file_id;
    char writer[32];
    std::uint64_t checksum; // XXH3_64bits of all bytes before it
};
static_assert(offsetof(FileHeader, state_uuid) == 32);
static_assert(offsetof(FileHeader, number) == 48);
static_assert(offsetof(FileHeader, writer) == 64);
static_assert(offsetof(FileHeader, checksum) == 96);
static_assert(sizeof(FileHeader) == 104);

inline constexpr std::uint32_t kFrameMagic = 0x6D726673; // "sfrm"
inline constexpr std::uint8_t kAdds = 1;
inline constexpr std::uint8_t kMarker = 2; // no hashes: says how far the journal is durable
inline constexpr std::uint8_t kMayBeSkipped = 0x80;
inline constexpr std::uint32_t kHashesMax = 65536;
// The LSNs between this frame and the one before were written, some maybe acknowledged as such, and then a sync failed. Else
// they were never written, and nobody was told that they were.
inline constexpr std::uint8_t kSyncFailedBefore = 1;

struct FrameHeader {
    std::uint32_t magic;
    std::uint16_t header_bytes;
    std::uint8_t type;
    std::uint8_t flags; // kSyncFailedBefore
    std::uint64_t filter_number;
    std::uint32_t count;
    std::uint32_t zero;
    std::uint64_t first_lsn;
    std::uint64_t after_lsn;
    std::uint64_t durable_lsn;
    std::uint64_t time_ns;
    std::uint64_t checksum; // XXH3_64bits_withSeed(all bytes before it, file id), and with that as the seed: the hashes
};
static_assert(offsetof(FrameHeader, filter_number) == 8);
static_assert(offsetof(FrameHeader, first_lsn) == 24);
static_assert(offsetof(FrameHeader, time_ns) == 48);
static_assert(offsetof(FrameHeader, checksum) == 56);
static_assert(sizeof(FrameHeader) == 64);

} // namespace shmbloom::journal_format
