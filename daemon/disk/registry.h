// The registry: what is true about an instance. One JSON file in the state folder, replaced as a whole, checksummed,
// readable by a person. It is the commit record of everything; control is only its picture.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "disk/journal_file.h"
#include "shmbloom/layout.h"
#include "shmbloom/probe.h"
#include "sys/files.h"
#include "sys/uuid.h"

namespace shmbloom {

struct DoubtRecord {
    std::uint64_t since = 0; // unix seconds
    std::string text;        // why, for people
};

// A snapshot exists when it stands here.
struct SnapshotRecord {
    std::uint64_t number = 0;
    Lsn s = 0;   // where replay starts
    Lsn end = 0; // the journal was synced below
    std::uint64_t begun = 0; // unix seconds of S
    std::uint64_t lineage = 0;
    std::uint64_t bulk_acts = 0;
    std::uint64_t bytes = 0;

    friend bool operator==(const SnapshotRecord &, const SnapshotRecord &) = default;
};

// Hashes of a growable filter that are no longer only in the journal.
struct HashFileRecord {
    std::uint64_t number = 0; // from the same sequence as snapshots
    std::uint64_t hashes = 0;

    friend bool operator==(const HashFileRecord &, const HashFileRecord &) = default;
};

// Every hash of a growable filter: in files, and from `through` on in the journal.
struct HashListRecord {
    bool complete = false; // else bits came without their hashes, and it cannot grow
    Lsn through = 1;
    std::vector<HashFileRecord> files;

    friend bool operator==(const HashListRecord &, const HashListRecord &) = default;
};

// The content before the last switch, for `rollback`: its snapshots, or all since `created`, and every add since.
struct PreviousGeneration {
    std::uint64_t replaced = 0; // unix seconds
    std::uint64_t generation = 0;
    std::uint64_t lineage = 0;
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::string layout_asked;
    shmbloom_shape shape{};
    Lsn created = 1;
    std::uint64_t bulk_acts = 0;
    std::uint64_t source_begun = 0;
    std::uint64_t keys = 0; // estimated then
    bool bulk_since = false; // what came since is not all in the journal
    std::vector<SnapshotRecord> snapshots;
    HashListRecord hash_list;
    std::map<std::uint32_t, DoubtRecord> doubts;
};

enum class WhenFull : std::uint8_t { warn, refuse };

struct FilterRecord {
    Uuid uuid;
    std::uint64_t number = 0; // never reused in this state folder
    std::string name;

    std::uint64_t capacity = 0;
    double fpr = 0;
    std::string layout_asked; // auto, classic, blocked
    shmbloom_shape shape{};
    std::uint32_t normalization = 0;
    std::uint32_t key_type = 0;
    bool growable = false;
    std::uint32_t expansion = 2; // by what factor it grows
    std::uint32_t durability = SHMBLOOM_DURABILITY_MEMORY;

    std::uint64_t generation = 0; // 0: none has been completed yet
    std::uint64_t lineage = 0;
    FileId segment;
    std::uint64_t making = 0; // generation of a segment that is being made; a start removes what is still here
    std::map<std::uint32_t, DoubtRecord> doubts; // by SHMBLOOM_DOUBT_* bit
    std::uint64_t live_since = 0;
    std::uint64_t adds_acknowledged = 0; // as of this write; the newest number stands in the control slot
    std::uint64_t adds_new = 0;
    Lsn created = 1;             // no frame of it lies below
    std::uint64_t bulk_acts = 0; // times that bits came without frames; a snapshot with fewer is not restored
    std::uint64_t bulk_at = 0;   // unix seconds at which the source of the last of them began; 0: never
    Lsn bulk_lsn = 0;            // that was next then
    bool bulk_unkept = false;    // a load's bits may be in memory that no snapshot has, and no hash list
    std::vector<SnapshotRecord> snapshots; // of this lineage, oldest first
    WhenFull when_full = WhenFull::warn;   // of one that does not grow
    std::uint64_t source_begun = 0;        // unix seconds at which the source of its content began; 0: unknown
    HashListRecord hash_list;
    std::optional<PreviousGeneration> previous;

    bool is_journalled() const { return durability != SHMBLOOM_DURABILITY_MEMORY; }

    std::uint32_t doubt_bits() const {
        std::uint32_t bits = 0;
        for (const auto &[bit, record] : doubts)
            bits |= bit;
        return bits;
    }
};

// Of the content now, and of the one before the last switch.
std::vector<SnapshotRecord> all_snapshots(const FilterRecord &record);
std::vector<HashFileRecord> all_hash_files(const FilterRecord &record);

// A segment that no filter uses any more, until its gate is 0 and its name removed.
struct EndingSegment {
    Uuid filter_uuid;
    std::string filter_name;
    std::uint64_t generation = 0;
    FileId segment;
    bool gate_ended = false; // its gate was 0 before this was written
};

// Dropped, but its last snapshot is kept for a day.
struct DroppedFilter {
    std::uint64_t since = 0;
    FilterRecord record;
};

struct JournalRecord {
    std::vector<JournalFileRecord> files; // named before their first frame
    std::uint64_t next_number = 1;
    Lsn end = 1; // at a clean stop: every LSN below is synced
    std::uint64_t trimmed_until = 0; // unix seconds of the newest add that was trimmed
};

// Readers may exist that nobody can reach. By name: outlives drop, re-creation and restart, until another boot.
struct AddsRefused {
    std::uint64_t since = 0;
    std::string text;
};

struct ControlRecord {
    std::string path; // empty: none yet
    Uuid uuid;
    FileId file;
};

struct Registry {
    Uuid state_uuid;
    std::vector<Uuid> earlier_state_uuids; // of the folders that this one was copied from
    FileId folder; // the state folder itself; another inode means that this is a copy
    std::uint64_t seed = 0;
    std::uint64_t domain = 0;
    Uuid boot;
    std::uint64_t boot_at = 0;      // unix seconds of that boot, as the wall clock told it last
    std::uint64_t clock_set_at = 0; // unix seconds: times written before may be too early; 0: not set forward in it
    bool clean_stop = false;
    ControlRecord control;
    bool control_lost = false; // in this boot a control went whose readers may still map it
    std::uint64_t next_generation = 1;
    std::uint64_t next_filter_number = 1;
    std::vector<FilterRecord> filters;
    std::vector<EndingSegment> ending;
    std::map<std::string, AddsRefused> adds_refused;
    JournalRecord journal;
    std::uint64_t next_snapshot_number = 1;
    DoubtRecord degraded; // a sync failed since: until a full snapshot of each filter. since 0: no
    std::vector<DroppedFilter> dropped;
};

// The file's text, with its checksum.
std::string encode_registry(const Registry &registry);

// Throws Refusal with what is wrong and what can be done; `path` is for the message.
Registry decode_registry(std::string_view text, const std::string &path);

} // namespace shmbloom
