// A generation of a filter that is being made beside the one that is read. From the moment it is fed every add sets its
// bits in both; what was before comes by its kind: a copy of the bits (copy), a source and the journal (rebuild), the
// hash list (growth), an older snapshot and the journal (rollback). Bits only go from 0 to 1, so all of that may happen
// at once and in any order. Used by the loop's thread only, but for the segment.
#pragma once

#include <atomic>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "disk/registry.h"
#include "service/new_hash_list.h"
#include "store/segment.h"

namespace shmbloom {

struct Build {
    enum class Kind { copy, rebuild, growth, rollback };

    Kind kind = Kind::copy;
    std::string by; // who asked for it
    std::uint64_t session = 0; // ends with it; 0: with no session
    std::uint64_t since = 0;   // unix seconds

    // What the filter will be.
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::string layout_asked;
    shmbloom_shape shape{};
    std::uint64_t generation = 0;
    std::uint64_t lineage = 0;
    std::uint64_t source_begun = 0; // unix seconds
    HashListRecord hash_list;
    std::uint32_t ends = 0;                     // doubts that the switch ends
    std::map<std::uint32_t, DoubtRecord> brings; // doubts that come with its content

    std::shared_ptr<Segment> segment; // null: not fed yet
    std::uint64_t huge_page_bytes = 0;
    std::uint64_t bits_set = 0;

    Lsn replay_from = 0; // what the journal has from here on
    Lsn fed_from = 0;    // to here is to be replayed; what comes later is fed
    std::uint64_t overlap_s = 0;
    std::uint64_t keys = 0; // that the source brought
    std::uint64_t replayed = 0;
    std::vector<std::uint64_t> must_contain;
    bool is_being_made = false; // its segment, right now
    bool is_logged = false;     // adds were acknowledged before they were synced
    std::string trouble;        // of the fill; "": none
    bool is_unwritten = false;  // that is why: what it was to be filled from is not to blame
    bool is_filled = false;  // by all but what comes through a session
    std::size_t jobs = 0;    // that set bits right now
    std::function<void()> when_filled;
    std::shared_ptr<NewHashList> list; // of a growable filter: what the source brings
    std::atomic<bool> is_cancelled = false;

    std::uint64_t estimated_keys() const {
        return static_cast<std::uint64_t>(std::llround(geometry::estimated_keys(shape, bits_set)));
    }
    const char *kind_text() const {
        switch (kind) {
        case Kind::copy: return "copy";
        case Kind::rebuild: return "rebuild";
        case Kind::growth: return "growth";
        case Kind::rollback: return "rollback";
        }
        return "";
    }
};

} // namespace shmbloom
