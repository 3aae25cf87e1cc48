// A snapshot: a copy of a filter's bits, taken while adds went on, and S, the LSN where replay starts. Bits only go from 0
// to 1 and more bits are always safe, so the copy needs no moment in time: each acknowledged add is in it, or in a frame
// of the journal at or after S. It exists only once the registry names it.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "disk/lsn.h"
#include "shmbloom/probe.h"
#include "sys/unique_fd.h"
#include "sys/uuid.h"

// Where the shape itself lives, so that it is found from everywhere; it is a C struct.
inline bool operator==(const shmbloom_shape &a, const shmbloom_shape &b) {
    return a.layout == b.layout && a.probes == b.probes && a.size == b.size;
}

namespace shmbloom {

// What its header says: known when it begins.
struct SnapshotIdentity {
    Uuid state_uuid;
    Uuid filter_uuid;
    std::uint64_t filter_number = 0;
    std::uint64_t number = 0; // of this snapshot; part of its name
    std::uint64_t generation = 0;
    std::uint64_t lineage = 0;
    Lsn s = 0;                      // every acknowledged add below it is in the copy
    std::uint64_t begun = 0;        // unix seconds of S
    std::uint64_t source_begun = 0; // unix seconds at which the source of its content began; 0: unknown
    std::uint64_t bulk_acts = 0;    // loads and imports without frames that are in it
    bool hash_list_complete = false;
    std::uint64_t hash_domain = 0;
    std::uint32_t normalization = 0;
    std::uint32_t key_type = 0;
    std::uint64_t capacity = 0;
    double fpr = 0;
    shmbloom_shape shape{};

    friend bool operator==(const SnapshotIdentity &, const SnapshotIdentity &) = default;
};

// What its footer says: known when the copy has ended.
struct SnapshotEnd {
    Lsn end = 0; // the journal was synced up to here before the snapshot got its name
    std::uint64_t adds_acknowledged = 0;
    std::uint64_t adds_new = 0;

    friend bool operator==(const SnapshotEnd &, const SnapshotEnd &) = default;
};

// "<number>.snapshot"
std::string snapshot_name(std::uint64_t number);

// Writes one into `folder` under another name; the destructor removes that unless it was finished. One thread.
class SnapshotWriter {
  public:
    // Throws std::system_error.
    SnapshotWriter(int folder, std::string folder_path, const SnapshotIdentity &identity);
    ~SnapshotWriter();
    SnapshotWriter(const SnapshotWriter &) = delete;
    SnapshotWriter &operator=(const SnapshotWriter &) = delete;

    // Copies the bits, which adders may set meanwhile, at no more than `bytes_per_second` (0: as fast as the disk is) and
    // with a few MiB of memory. False: `cancelled` became true. Throws std::system_error.
    bool copy(const std::uint64_t *words, std::uint64_t bytes_per_second, const std::atomic<bool> &cancelled);
    // Footer, sync, rename, sync of the folder. Throws std::system_error.
    void finish(const SnapshotEnd &end);

    std::uint64_t file_bytes() const; // of the finished file
    std::uint64_t bits_set() const;   // copied so far

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

// One that was found, checked from header to footer but for the bits.
class SnapshotFile {
  public:
    // Null when it is missing, damaged or of another version; `reason` says what, with the path. Never throws for what it
    // finds.
    static std::unique_ptr<SnapshotFile> open(int folder, const std::string &name, const std::string &folder_path,
                                              std::string &reason);
    ~SnapshotFile();

    const SnapshotIdentity &identity() const { return identity_; }
    const SnapshotEnd &end() const { return end_; }
    std::uint64_t bits_bytes() const; // 8 times the words that read_into sets
    std::uint64_t bits_set() const;   // how many of them are 1

    // Reads the bits into `words` (a new segment's, that nobody reads yet), checking each chunk. False: a chunk is damaged,
    // `reason` names it, and what `words` holds is of no use.
    bool read_into(std::uint64_t *words, std::string &reason) const;
    // The same, ORed into bits that others read and set: always safe.
    bool merge_into(std::uint64_t *words, std::string &reason) const;

  private:
    struct Parts;
    explicit SnapshotFile(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
    SnapshotIdentity identity_;
    SnapshotEnd end_;
};

} // namespace shmbloom
