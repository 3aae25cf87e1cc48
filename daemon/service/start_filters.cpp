// Which segments are adopted, what is made anew for those that are lost, and which doubts hold.
#include <algorithm>
#include <cstring>
#include <utility>

#include "service/start_steps.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"
#include "sys/memory.h"

namespace shmbloom {

std::optional<std::size_t> Start::find_slot(const FilterRecord &record) {
    for (std::size_t i = 0; adopted_control_ && i < SHMBLOOM_SLOT_COUNT; i++) {
        shmbloom_slot copy;
        shmbloom_copy_from_shared(&copy, control().slot(i), sizeof copy);
        if (Uuid::from(copy.uuid) == record.uuid &&
            record.name == std::string_view{copy.name, ::strnlen(copy.name, 64)})
            return i;
    }
    return std::nullopt;
}

// Adopts the filter's segment, or plans a new generation for it; gathers its doubts from wherever they stand.
void Start::take(FilterRecord &record) {
    auto filter = std::make_shared<Filter>();
    std::string reason = "the machine was restarted";
    filter->record = std::move(record);
    FilterRecord &mine = filter->record;
    if (same_boot_)
        filter->segment = Segment::adopt(filter->identity(registry(), mine.generation), mine.segment, reason);
    const auto slot = find_slot(mine);
    if (slot) {
        filter->slot = *slot;
        take_slot(*filter, *control().slot(*slot));
    }
    if (filter->segment)
        add_doubts(mine, doubts_of(shmbloom_load_gate(filter->segment->gate())), "set while the daemon was away");
    if (mine.doubts.contains(SHMBLOOM_DOUBT_PARTIAL)) {
        filter->segment.reset();
        reason = "its bits were never complete";
    }
    if (filter->segment) {
        // Shown at each add, so a slot of this very content knows.
        filter->bits_set = slot && mine.generation == generation_of(shmbloom_load_gate(&control().slot(*slot)->gate))
                               ? shmbloom_load_field(&control().slot(*slot)->bits_set)
                               : filter->segment->count_bits();
        filter->huge_page_bytes = filter->segment->huge_page_bytes();
        log::info("filter '" + mine.name + "': generation " + std::to_string(mine.generation) + " adopted");
    } else {
        lose(*filter, reason);
    }
    started_.filters.emplace(mine.name, std::move(filter));
}

// A gate of another generation says nothing of this one, but `paused` was meant for the filter.
void Start::take_slot(Filter &filter, const shmbloom_slot &slot) {
    const std::uint64_t gate = shmbloom_load_gate(&slot.gate);
    const bool agrees = generation_of(gate) == filter.record.generation;
    add_doubts(filter.record, doubts_of(gate) & (agrees ? SHMBLOOM_DOUBT_MASK : SHMBLOOM_DOUBT_PAUSED),
               "set while the daemon was away");
    filter.record.adds_acknowledged =
        std::max(filter.record.adds_acknowledged, shmbloom_load_field(&slot.adds_acknowledged));
    filter.record.adds_new = std::max(filter.record.adds_new, shmbloom_load_field(&slot.adds_new));
    filter.adds_refused = shmbloom_load_field(&slot.adds_refused);
    filter.wrong_absents = shmbloom_load_field(&slot.wrong_absents);
}

void Start::add_doubts(FilterRecord &record, std::uint64_t bits, const std::string &text) {
    for (std::uint32_t i = 0; i < SHMBLOOM_DOUBT_COUNT; i++)
        if (bits >> i & 1)
            record.doubts.try_emplace(1u << i, DoubtRecord{unix_seconds(), text});
    if (!record.doubts.empty())
        record.live_since = 0;
}

void Start::lose(Filter &filter, const std::string &reason) {
    FilterRecord &record = filter.record;
    log::warning(
        "filter '" + record.name + "': the segment of generation " + std::to_string(record.generation) + " is lost (" +
        reason + ")" +
        (record.is_journalled() ? "; it is restored" : "; a new, empty one answers unverified: load it again"));
    // A record without an inode never had a segment, so it has no readers.
    if (same_boot_ && record.segment != FileId{}) {
        refuse_adds_if_unreachable(record.name, record.generation);
        registry().ending.push_back({.filter_uuid = record.uuid,
                                     .filter_name = record.name,
                                     .generation = record.generation,
                                     .segment = record.segment});
    }
    record.doubts.erase(SHMBLOOM_DOUBT_PARTIAL);
    if (record.is_journalled())
        restore_->plan(filter, !same_boot_ && !was_clean_);
    if (!record.is_journalled() || found_copy_) {
        record.doubts[SHMBLOOM_DOUBT_LOSSY] = {unix_seconds(), "the segment was lost: " + reason};
        record.live_since = 0;
    }
    record.making = registry().next_generation++;
}

void Start::make_anew(Filter &filter) {
    FilterRecord &record = filter.record;
    const std::uint64_t generation = std::exchange(record.making, 0);
    SegmentIdentity identity = filter.identity(registry(), generation);
    if (restore_->is_planned(filter))
        identity.lineage = record.lineage; // the same content as before
    std::string reason;
    try {
        const auto refusal = memory_refusal(geometry::place(record.shape).segment_bytes, options_.shm_reserve_bytes);
        if (!refusal)
            filter.segment = std::make_unique<Segment>(Segment::Create{}, identity);
        else
            reason = *refusal;
    } catch (const std::system_error &error) {
        reason = error.what();
    }
    crash_point("start.segment_made");
    record.generation = generation;
    if (!restore_->is_planned(filter))
        record.lineage = generation;
    record.segment = filter.segment ? filter.segment->id() : FileId{};
    filter.bits_set = 0;
    restore_->fill(filter);
    filter.huge_page_bytes = filter.segment ? filter.segment->huge_page_bytes() : 0;
    if (!filter.segment) {
        record.doubts[SHMBLOOM_DOUBT_PARTIAL] = {unix_seconds(), "no memory for its bits: " + reason};
        log::error("filter '" + record.name + "' has no memory, adds to it are refused: " + reason);
    }
}

} // namespace shmbloom
