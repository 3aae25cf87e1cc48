// A segment whose name is gone is copied into a new generation while adds and lookups go on: until then new workers cannot
// open it, and a start would have to restore it. The content is the same, so the lineage stays.
#include "service/instance.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"
#include "sys/memory.h"

namespace shmbloom {

void Instance::notice_lost_name(const FilterPtr &filter) {
    if (!filter->segment || filter->changing || unix_seconds() < filter->no_renewal_before)
        return;
    std::optional<FileId> found;
    try {
        found = shared_memory_id(filter->segment->name());
    } catch (const std::system_error &) {
        return; // could not look; the next beat looks again
    }
    if (found == filter->segment->id())
        return;
    if ((filter->warnings & SHMBLOOM_WARNING_NAME_LOST) == 0)
        log::error("the name of filter '" + filter->record.name +
                   "' in /dev/shm is gone: adds and workers that have it mapped go on, new workers answer unverified "
                   "until it is copied to a new generation");
    filter->warnings |= SHMBLOOM_WARNING_NAME_LOST;
    renew(filter);
}

void Instance::renew(const FilterPtr &filter) {
    filter->changing = true;
    filter->record.making = registry_.next_generation++;
    control_->set_next_generation(registry_.next_generation);
    writer_.commit({.durable =
                        [this, filter] {
                            crash_point("renew.making");
                            SegmentIdentity identity = filter->identity(registry_, filter->record.making);
                            identity.lineage = filter->record.lineage;
                            memory_.run([this, filter, identity] { make_copy(filter, identity); });
                        },
                    .failed = nullptr});
}

// On the helper thread.
void Instance::make_copy(const FilterPtr &filter, const SegmentIdentity &identity) {
    Made made;
    try {
        if (const auto refusal =
                memory_refusal(geometry::place(identity.shape).segment_bytes, options_.shm_reserve_bytes))
            made.error = *refusal;
        else
            made.segment = std::make_shared<Segment>(Segment::Create{}, identity);
    } catch (const std::system_error &failure) {
        made.error = failure.what();
    }
    if (made.segment)
        made.huge_page_bytes = made.segment->huge_page_bytes();
    crash_point("renew.made");
    post_([this, filter, made] { feed_both(filter, made); });
}

// From now on every add sets its bits in both. Those of before are in the old one and come with the copy, in any order:
// bits only go from 0 to 1.
void Instance::feed_both(const FilterPtr &filter, const Made &made) {
    if (!made.segment) {
        filter->changing = false;
        filter->record.making = 0;
        filter->no_renewal_before = unix_seconds() + 60;
        log::error("filter '" + filter->record.name + "' cannot be copied to a new generation, tried again in a minute: " +
                   made.error);
        return;
    }
    filter->next_segment = made.segment;
    memory_.run([this, filter, made, from = filter->segment] {
        made.segment->merge(*from);
        crash_point("renew.copied");
        post_([this, filter, made] { switch_to_copy(filter, made); });
    });
}

void Instance::switch_to_copy(const FilterPtr &filter, const Made &made) {
    FilterRecord &record = filter->record;
    registry_.ending.push_back({.filter_uuid = record.uuid,
                                .filter_name = record.name,
                                .generation = record.generation,
                                .segment = record.segment});
    record.generation = std::exchange(record.making, 0);
    record.segment = made.segment->id();
    filter->huge_page_bytes = made.huge_page_bytes;
    // After a failed write either generation may be what the disk says: both are fed until a later one succeeds.
    writer_.commit({.durable =
                        [this, filter] {
                            crash_point("renew.durable");
                            open_copy(*filter);
                            filter->changing = false;
                        },
                    .failed = nullptr});
}

// Control's gate to the new generation, then the old segment's to 0; only then is the old one no longer fed.
void Instance::open_copy(Filter &filter) {
    const FilterRecord &record = filter.record;
    const std::uint32_t doubts = record.doubt_bits() | filter.gates(*control_).doubts();
    const std::shared_ptr<Segment> old = std::exchange(filter.segment, std::exchange(filter.next_segment, nullptr));
    const std::uint64_t replaced = control_->write_slot(filter.slot, filter.picture(registry_));
    filter.gates(*control_).open(record.generation, doubts | (doubts_of(replaced) & SHMBLOOM_DOUBT_PAUSED));
    crash_point("renew.opened");
    control_->raise_name_counter();
    // An operator may have paused the old one a moment ago.
    if ((doubts_of(__atomic_exchange_n(old->gate(), 0, __ATOMIC_ACQ_REL)) & SHMBLOOM_DOUBT_PAUSED) != 0)
        filter.gates(*control_).doubt(SHMBLOOM_DOUBT_PAUSED);
    std::erase_if(registry_.ending, [&](const EndingSegment &ending) { return ending.segment == old->id(); });
    filter.warnings &= ~SHMBLOOM_WARNING_NAME_LOST;
    filter.show_status(*control_, registry_);
    log::info("filter '" + record.name + "' was copied to generation " + std::to_string(record.generation));
}

} // namespace shmbloom
