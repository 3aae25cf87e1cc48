// Which loads of a filter are open, and whether they end its doubts. Loads that overlap stand or fall together: of two
// that each bring a half, the good end of one must not hide that the other died.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "service/new_hash_list.h"

namespace shmbloom {

class Loads {
  public:
    using Owner = std::uint64_t; // the session; a load belongs to its connection

    bool is_open(Owner owner) const;
    std::size_t open_count() const { return open_.size(); }

    // `begun` in unix seconds. `overlap_s`: the longest time from an add to its commit in the source.
    void begin(Owner owner, std::uint64_t begun, std::uint64_t overlap_s);
    void count_keys(Owner owner,
                    std::uint64_t keys); // acknowledged on this connection since BEGIN; no-op without a load
    std::uint64_t keys(Owner owner) const;

    // What an open load brought without the journal.
    struct Bulk {
        bool any = false;
        std::uint64_t begun = 0;           // unix seconds
        std::shared_ptr<NewHashList> list; // of a growable filter
    };
    Bulk &bulk(Owner owner);
    bool has_bulk() const; // of any

    // What the end of all loads that overlapped may clear.
    struct Verdict {
        bool last = false;                    // no other load is open now
        bool spoiled = false;                 // one that overlapped was aborted
        std::uint64_t begun = 0;              // the earliest BEGIN among them
        std::uint64_t begun_less_overlap = 0; // the least of BEGIN - overlap among them
    };
    Verdict end(Owner owner);
    void abort(Owner owner); // no-op without a load

  private:
    struct Load {
        Owner owner;
        std::uint64_t keys;
        Bulk bulk;
    };
    void remove(Owner owner);

    std::vector<Load> open_;
    Verdict together_; // of the loads that overlap, since none was open
};

} // namespace shmbloom
