// A filter while the daemon runs: its record, its segment, its slot, its counters. Used by the loop's thread only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "disk/registry.h"
#include "holders/holders.h"
#include "service/build.h"
#include "service/growth_rate.h"
#include "service/loads.h"
#include "store/control.h"
#include "store/gate.h"
#include "store/segment.h"

namespace shmbloom {

class Filter {
  public:
    FilterRecord record;
    std::shared_ptr<Segment> segment;       // null: none could be made; adds are refused
    std::shared_ptr<Build> build;           // the next generation, fed as well as soon as it has a segment
    std::size_t slot = SHMBLOOM_SLOT_COUNT; // SHMBLOOM_SLOT_COUNT: not published
    bool changing = false;                  // a change waits for the registry: no other may begin
    std::uint32_t warnings = 0;
    std::uint64_t adds_refused = 0;
    std::uint64_t wrong_absents = 0; // reported by workers
    std::uint64_t bits_set = 0;
    std::uint64_t huge_page_bytes = 0; // as of when the segment was made or taken over
    std::uint64_t hashes_since_snapshot = 0; // in the journal: what a restore would replay
    std::uint64_t complete_until = 0; // unix seconds: lossy, but every add of before is in it; 0: unknown
    std::uint64_t no_snapshot_before = 0;    // unix seconds: the last one failed
    std::uint64_t no_renewal_before = 0;     // the same of a copy to a new generation
    Loads loads;
    std::size_t bulk_jobs = 0; // that set bits right now
    bool bulk_noted = false;   // on the disk, as record.bulk_unkept
    std::vector<std::function<void()>> after_bulk;   // when none does any more
    std::vector<std::function<void()>> after_change; // when `changing` is over; looked at once a second

    // Growth.
    struct Wait {
        std::function<void(bool may_wait)> add;
        std::size_t hashes;
        std::uint64_t until_ns; // of the boot clock
    };
    std::deque<Wait> growth_waits;
    std::string growth_blocked; // why; "": it is not
    std::uint64_t no_growth_before = 0; // unix seconds
    std::uint64_t warned_percent = 0;
    std::vector<holders::Holder> holders; // processes that map earlier generations, as last seen
    bool may_be_held = false;
    std::uint64_t no_look_before = 0; // seconds of the boot clock
    bool listing = false;        // its hash list is being written
    std::uint64_t listed_at = 0, no_listing_before = 0; // seconds of the boot clock
    std::string list_trouble;                           // as last said; "": none
    unsigned list_unreadable = 0;                       // times in a row

    // The one that the record describes: while a switch waits for the registry, the build's.
    const std::shared_ptr<Segment> &recorded_segment() const;

    // Of a build, so that its segment must stay named until it can be removed.
    bool is_making_memory() const { return record.making != 0 && (!build || build->is_being_made); }

    bool is_published() const { return slot != SHMBLOOM_SLOT_COUNT; }
    Gates gates(Control &control) const;
    SegmentIdentity identity(const Registry &registry, std::uint64_t generation) const;

    // Sets the bits. answers[i]: 0 absent before, 1 maybe, 2 unverified. The filter must have a segment.
    void set_bits(Control &control, std::span<const std::uint64_t> hashes, std::uint8_t *answers);
    // Counts adds that are acknowledged now; `added` of them were new.
    void count_acknowledged(Control &control, std::uint64_t acknowledged, std::uint64_t added);

    // The picture of this filter for its slot; the gate is left out.
    shmbloom_slot picture(const Registry &registry) const;
    // Computes the estimates and shows everything in the slot.
    void show_status(Control &control, const Registry &registry);

    double fill() const;
    std::uint64_t bits() const;
    std::uint64_t estimated_keys() const { return estimated_keys_; }
    std::uint64_t estimate_now() const;
    void forget_estimates(); // of another content
    bool has_bulk() const { return loads.has_bulk(); }
    // How many of them the filter does not have; duplicates among them count each.
    std::uint64_t fresh(std::span<const std::uint64_t> hashes) const;
    std::uint64_t waiting_hashes() const;
    // Bits that are set when it holds that share of its capacity.
    std::uint64_t bits_at(double share);
    double estimated_fpr() const { return estimated_fpr_; }
    double keys_per_day() const { return growth_.keys_per_day(); }

  private:
    const shmbloom_shape &shape() const;
    void estimate();
    std::uint64_t estimated_from_bits_ = UINT64_MAX;
    std::uint64_t estimated_keys_ = 0;
    double estimated_fpr_ = 0;
    std::uint64_t marked_generation_ = 0, marked_bits_ = 0;
    GrowthRate growth_;
};

} // namespace shmbloom
