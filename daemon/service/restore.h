// Brings back filters whose segments are lost: the newest good snapshot, then every frame of the journal from its S on. What
// cannot be shown to be complete comes up in doubt, for a reason that names what is missing.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "disk/journal.h"
#include "disk/journal_scan.h"
#include "disk/snapshot.h"
#include "disk/state_folder.h"
#include "service/filter.h"

namespace shmbloom {

class Restore {
  public:
    // Opens and syncs what is there of the journal. `durable`: what else proves that all below was synced. Throws
    // std::system_error.
    Restore(const StateFolder &state, Registry &registry, Lsn durable);

    // Before anything is durable of this start: chooses the snapshot. The filter's doubts get what is known already.
    // `unclean`: the machine was restarted without a clean stop.
    void plan(Filter &filter, bool unclean);
    bool is_planned(const Filter &filter) const { return lost_.contains(&filter); }
    // Its segment is made: bits of the snapshot.
    void fill(Filter &filter);
    // The journal, into all of them; then their doubts. Always called, since the journal goes on where it ended.
    void replay();

    // Once the registry names them no more: a file that it names and that is not there was lost.
    void remove_unused_files() const;

    Journal::Settings settings() const; // of the journal that goes on
    UniqueFd take_folder() { return std::move(folder_); }
    std::string report() const; // a line for people

  private:
    struct Lost {
        Filter *filter = nullptr;
        std::unique_ptr<SnapshotFile> snapshot; // null: from its creation on
        Lsn from = 0;
        std::uint64_t replayed = 0;
        std::uint64_t bits_added = 0; // by that
        bool is_but_the_last_second = false; // lossy for no other reason
        std::string trouble; // with what is stored of it; "": none
    };
    void choose(Lost &lost, std::size_t newer_than);
    bool is_usable(const SnapshotFile &file, const FilterRecord &record, const SnapshotRecord &listed,
                   std::string &reason) const;
    void judge(Lost &lost);
    void sweep(const FilterRecord &record) const;
    void degrade(const std::string &why);

    const StateFolder &state_;
    Registry &registry_;
    UniqueFd folder_;
    std::string folder_path_;
    std::unique_ptr<JournalScan> scan_;
    std::map<const Filter *, Lost> lost_;
    std::uint64_t next_filter_number_ = 0; // above all that the journal has adds of
    std::uint64_t begun_ns_;
};

} // namespace shmbloom
