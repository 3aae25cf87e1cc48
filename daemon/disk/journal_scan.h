// What a start finds in the journal: every whole frame, and whether anything that was once acknowledged is missing.
//
// No order of bytes proves that; the chain does. Each frame covers its own LSNs, and says that those between it and the
// frame before were never acknowledged. Each also says up to where the journal was synced when it was written. What lies
// below the greatest such word, found anywhere, and is covered by nothing, was lost: `damaged`. What lies above was never
// acknowledged as synced: `torn`, and of no consequence.
//
// A file that the registry names was whole on the disk before it was named, and loses its name before it is removed. One
// that is missing or cannot be read may have held anything from its first LSN on: `damaged`, unless a later file begins at
// or below what is asked for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "disk/journal_reader.h"

namespace shmbloom {

class JournalScan {
  public:
    // Opens what the folder holds. `named`: the files of the registry; `states`: whose files may be here. Throws
    // std::system_error when the folder cannot be listed.
    JournalScan(int folder, const std::string &folder_path, const std::vector<JournalFileRecord> &named,
                const std::vector<Uuid> &states);

    // Syncs every file and the folder: what a predecessor wrote and did not sync is not on the disk only because it can be
    // read. Returns what failed, or "".
    std::string sync_all() const;

    // Reads the files that may hold LSNs at or above `from`, at least the last with a frame.
    void read(Lsn from, const std::function<void(const JournalFrameView &)> &use);
    // Something else that proves that all below it was synced: a snapshot, control, a clean stop.
    void is_durable_below(Lsn lsn) { durable_ = std::max(durable_, lsn); }
    // And nothing came after: what a lost file held is missing below that, or was nothing.
    void is_complete() { lost_.clear(); }
    // An LSN that was given out, whether a frame shows it or not.
    void is_used_below(Lsn lsn) { end_ = std::max(end_, lsn); }

    // Of what was read:
    Lsn next() const { return std::max(end_, durable_); } // never given out
    // What the next frame comes after. Of files that were not read nothing is known to be missing: who said otherwise would
    // declare their adds abandoned.
    Lsn chain_end() const { return covered_.first_missing(std::max(durable_, read_from_)); }
    // Why adds from `from` on, and below `to`, may be missing; "" when none is.
    std::string damage(Lsn from, Lsn to = UINT64_MAX) const;
    // Whether adds from `from` on were written, maybe acknowledged as such, and abandoned after a failed sync.
    bool has_abandoned(Lsn from) const;
    std::uint64_t last_time_ns() const { return last_time_ns_; } // of the newest frame with adds

    // Every add of before that time is on the disk, if no damage() says otherwise: 0 when nothing shows it.
    std::uint64_t synced_until_ns() const { return synced_until_ns_; }

    struct Counts {
        std::uint64_t files = 0, frames = 0, hashes = 0, torn_bytes = 0;
    };
    const Counts &counts() const { return counts_; }
    const std::vector<std::string> &faults() const { return faults_; } // in words, each with its file
    std::vector<std::string> unused() const;        // names of files that never took a frame
    std::vector<JournalFileRecord> named() const;   // that are there and took one, in order
    std::uint64_t next_number() const { return next_number_; } // of a file, above all that stand in the folder
    // Where each file that has a frame begins.
    std::vector<std::pair<JournalFileRecord, Lsn>> first_lsns() const;

  private:
    struct File {
        std::unique_ptr<JournalReader> reader;
        bool is_named = false;
        std::optional<Lsn> first; // of its first frame; nullopt: none
        bool is_blank = false;    // nothing but zeros
    };
    struct Lost { // named, but missing or unreadable
        std::uint64_t number;
        std::string text;
    };
    bool is_needed(const Lost &file, Lsn from) const;
    void open(std::uint64_t number, const std::vector<JournalFileRecord> &named, const std::vector<Uuid> &states);
    void look_at_firsts();
    void read_file(File &file, const std::function<void(const JournalFrameView &)> &use);

    int folder_;
    std::string folder_path_;
    std::vector<File> files_; // by number
    std::vector<Lost> lost_;
    LsnRanges covered_, added_, strange_, unsynced_;
    Lsn durable_ = 1, end_ = 1;
    Lsn read_from_ = 1; // the least LSN of what was read
    std::uint64_t next_number_ = 1;
    std::uint64_t last_time_ns_ = 0;
    std::uint64_t synced_until_ns_ = 0;
    std::map<Lsn, std::uint64_t> times_; // by end, of frames that are not known to be synced
    Counts counts_;
    std::vector<std::string> faults_;
};

} // namespace shmbloom
