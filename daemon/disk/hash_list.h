// The hash list of a growable filter: every hash that was added, 8 bytes each, so that a larger generation can be built
// without the source. Files that are written once, and the journal from `through` on (registry.h).
//
//   <number>.hashes: header (64 bytes), chunks, an empty chunk at the end; little-endian
//     header: magic, version, zero, filter uuid, number, zero, checksum = XXH3 of the 56 bytes before it
//     chunk:  count, checksum = XXH3 of the hashes seeded with header.checksum + index, then `count` hashes;
//             the last one has count 0, and its checksum is of the total, 8 bytes
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "disk/registry.h"
#include "sys/unique_fd.h"
#include "sys/uuid.h"

namespace shmbloom {

std::string hash_list_name(std::uint64_t number);

// Writes one file under another name; the destructor removes that unless it was finished. One thread.
class HashListWriter {
  public:
    // Throw std::system_error, all of them.
    HashListWriter(UniqueFd folder, std::string folder_path, const Uuid &filter, std::uint64_t number);
    ~HashListWriter();
    HashListWriter(const HashListWriter &) = delete;
    HashListWriter &operator=(const HashListWriter &) = delete;

    void write(std::span<const std::uint64_t> hashes);
    // The end, sync, rename, sync of the folder; from then on it is kept. What the registry is to say of it.
    HashFileRecord finish();

  private:
    void write_chunk();

    const UniqueFd folder_;
    const std::string folder_path_;
    const std::uint64_t number_;
    UniqueFd fd_;
    std::string to_remove_; // the name that must not stay; empty: none
    std::uint64_t seed_ = 0, chunks_ = 0, hashes_ = 0, offset_ = 0;
    std::vector<std::uint64_t> pending_;
};

using UseHashes = std::function<void(std::span<const std::uint64_t>)>;

// All hashes of one file, chunk by chunk, each checked. Returns what is wrong, with the path, or "".
std::string read_hash_list(int folder, const std::string &folder_path, const Uuid &filter, const HashFileRecord &file,
                           const UseHashes &use);

// The same hashes as in `files`, each once, written to `writer`; with at most 64 MiB of memory. Returns what is wrong, or
// "". Throws std::system_error when writing fails.
std::string compact_hash_lists(int folder, const std::string &folder_path, const Uuid &filter,
                               const std::vector<HashFileRecord> &files, HashListWriter &writer);

} // namespace shmbloom
