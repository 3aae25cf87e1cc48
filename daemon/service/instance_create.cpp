// Create and drop. Create becomes more certain: registry, segment's gate, control's gate. Drop becomes less certain:
// gates, registry, then the name.
#include <variant>

#include "service/call_once.h"
#include "service/instance.h"
#include "service/names.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"
#include "sys/memory.h"

namespace shmbloom {
namespace {

constexpr std::uint64_t kKeptDropped_s = 86400;
constexpr std::uint64_t kKeptSinceStart_s = 3600; // the clock may have been set forward while nothing ran
constexpr std::size_t kKeptDropped = 64;

std::string quoted(std::string_view name) {
    return "'" + std::string{name} + "'";
}

Failure uncertain(const std::string &what, const std::string &error) {
    return {"IO", what + ": the registry cannot be written (" + error +
                      "); it is tried again every second, and takes effect when that succeeds"};
}

} // namespace

std::optional<Failure> Instance::check_new(const std::string &name) const {
    if (!is_filter_name(name))
        return Failure{"RANGE", "the name of a filter is 1 to 64 characters of A-Z a-z 0-9 . _ : -"};
    if (filters_.contains(name))
        return Failure{"EXISTS", "filter " + quoted(name) + " exists; drop it first, or take another name"};
    if (dropping_.contains(name))
        return Failure{"BUSY", "filter " + quoted(name) + " is just being dropped; try again"};
    if (filters_.size() + dropping_.size() >= SHMBLOOM_SLOT_COUNT)
        return Failure{"NOSPC", "an instance has at most " + std::to_string(SHMBLOOM_SLOT_COUNT) +
                                    " filters; drop one, or start another instance"};
    return std::nullopt;
}

std::optional<Failure> Instance::check_create(const CreateRequest &request, geometry::Geometry &geometry) const {
    const auto layout = geometry::parse_layout(request.layout);
    if (!layout)
        return Failure{"RANGE", "LAYOUT is auto, classic or blocked"};
    if (request.growable && request.durability == SHMBLOOM_DURABILITY_MEMORY)
        return Failure{"RANGE", "a growable filter keeps every hash on the disk, so its durability is durable or logged"};
    if (request.growable && request.when_full == WhenFull::refuse)
        return Failure{"RANGE", "WHENFULL is for filters that do not grow"};
    if (request.key_type == SHMBLOOM_KEY_TYPE_U64 && (request.normalization & SHMBLOOM_NORMALIZE_LOWER) != 0)
        return Failure{"RANGE", "a filter of key type u64 has no letters: NORMALIZE lower is not allowed"};
    if (auto failure = check_new(request.name))
        return failure;
    const auto planned = geometry::plan(request.capacity, request.fpr, *layout);
    if (const auto *error = std::get_if<std::string>(&planned))
        return Failure{"RANGE", *error};
    geometry = std::get<geometry::Geometry>(planned);
    return std::nullopt;
}

void Instance::create(const CreateRequest &request, Done caller) {
    const Done done = once(std::move(caller));
    geometry::Geometry geometry{};
    if (auto failure = check_create(request, geometry))
        return done(std::move(failure));
    const auto filter = std::make_shared<Filter>();
    filter->record = {.uuid = Uuid::random(),
                      .number = registry_.next_filter_number++,
                      .name = request.name,
                      .capacity = request.capacity,
                      .fpr = request.fpr,
                      .layout_asked = request.layout,
                      .shape = geometry.shape,
                      .normalization = request.normalization,
                      .key_type = request.key_type,
                      .growable = request.growable,
                      .expansion = request.expansion,
                      .durability = request.durability,
                      .generation = 0,
                      .lineage = 0,
                      .segment = {},
                      .making = 0,
                      .doubts = {},
                      .live_since = 0,
                      .adds_acknowledged = 0,
                      .adds_new = 0,
                      .created = journal_->next(),
                      .bulk_acts = 0,
                      .bulk_at = 0,
                      .bulk_lsn = 0,
                      .bulk_unkept = false,
                      .snapshots = {},
                      .when_full = request.when_full,
                      .source_begun = 0,
                      .hash_list = {.complete = request.growable, .through = journal_->next(), .files = {}},
                      .previous = {}};
    if (!request.nothing_exists_yet)
        filter->record.doubts[SHMBLOOM_DOUBT_WARMING] = {unix_seconds(), "its source has not been declared complete"};
    begin_making(filter, nullptr, done);
}

// The name is taken from here on.
void Instance::begin_making(const FilterPtr &filter, Fill fill, Done done) {
    filters_.emplace(filter->record.name, filter);
    const std::uint64_t bytes = geometry::place(filter->record.shape).segment_bytes;
    // Before anything is written: what does not fit leaves no trace.
    memory_.run([this, filter, fill = std::move(fill), done, bytes] {
        auto refusal = memory_refusal(bytes, options_.shm_reserve_bytes);
        post_([this, filter, fill, done, refusal] {
            if (!refusal)
                return make_segment(filter, fill, done);
            forget(filter);
            done(Failure{"NOMEM", "filter " + quoted(filter->record.name) + " " + *refusal});
        });
    });
}

// The registry names the segment as `making` before it exists, so that a crash leaves none that nobody knows.
void Instance::make_segment(const FilterPtr &filter, Fill fill, Done done) {
    if (filter->record.is_journalled())
        journal_->prepare(); // so that the first add need not wait for a file
    filter->record.making = registry_.next_generation++;
    control_->set_next_generation(registry_.next_generation);
    const auto given_up = std::make_shared<bool>(false);
    writer_.commit({.durable =
                        [this, filter, fill, done, given_up] {
                            if (*given_up)
                                return;
                            crash_point("create.making");
                            SegmentIdentity identity = filter->identity(registry_, filter->record.making);
                            if (filter->record.lineage != 0)
                                identity.lineage = filter->record.lineage; // the same content as before
                            memory_.run([this, filter, fill, done, identity] {
                                const Made made = make(identity, fill);
                                crash_point("create.made");
                                post_([this, filter, done, made] { segment_made(filter, made, done); });
                            });
                        },
                    .failed =
                        [this, filter, done, given_up](const std::string &error) {
                            *given_up = true;
                            forget(filter);
                            done(Failure{"IO", "filter " + quoted(filter->record.name) +
                                                   " was not created, the registry cannot be written: " + error});
                        }});
}

// On the helper thread.
Instance::Made Instance::make(const SegmentIdentity &identity, const Fill &fill) {
    Made made;
    try {
        made.segment = std::make_shared<Segment>(Segment::Create{}, identity);
        made.huge_page_bytes = made.segment->huge_page_bytes();
    } catch (const std::system_error &failure) {
        made.error = failure.what();
        return made;
    }
    if (!fill)
        return made;
    made.error = fill(*made.segment);
    made.bits_set = made.segment->count_bits();
    if (!made.error.empty()) {
        made.word = "IO";
        remove_shared_memory(made.segment->name(), made.segment->id());
        made.segment.reset();
    }
    return made;
}

void Instance::segment_made(const FilterPtr &filter, const Made &made, Done done) {
    if (!made.segment) {
        forget(filter);
        return done(Failure{made.word, "filter " + quoted(filter->record.name) + " was not created: " + made.error});
    }
    FilterRecord &record = filter->record;
    record.generation = std::exchange(record.making, 0);
    if (record.lineage == 0)
        record.lineage = record.generation;
    record.segment = made.segment->id();
    record.live_since = record.doubts.empty() ? unix_seconds() : 0;
    filter->huge_page_bytes = made.huge_page_bytes;
    filter->segment = made.segment;
    filter->bits_set = made.bits_set;
    std::erase_if(registry_.dropped, [&](const DroppedFilter &kept) { return kept.record.uuid == record.uuid; });
    writer_.commit({.durable =
                        [this, filter, done] {
                            crash_point("create.durable");
                            publish(*filter);
                            done(std::nullopt);
                        },
                    .failed =
                        [done, name = record.name](const std::string &failure) {
                            done(uncertain("unknown whether filter " + quoted(name) + " was created", failure));
                        }});
}

void Instance::forget(const FilterPtr &filter) {
    filters_.erase(filter->record.name);
}

void Instance::publish(Filter &filter) {
    filter.slot = control_->free_slot().value(); // check_create keeps one free
    if (registry_.adds_refused.contains(filter.record.name))
        filter.warnings |= SHMBLOOM_WARNING_ADDS_REFUSED;
    control_->write_slot(filter.slot, filter.picture(registry_));
    crash_point("create.slot");
    set_gate(filter.segment->gate(), filter.record.generation, filter.record.doubt_bits());
    crash_point("create.segment_gate");
    filter.gates(*control_).open(filter.record.generation, filter.record.doubt_bits());
    crash_point("create.control_gate");
    control_->raise_name_counter();
    filter.show_status(*control_, registry_);
    log::info("filter " + quoted(filter.record.name) + " created, generation " +
              std::to_string(filter.record.generation));
}

void Instance::drop(const std::string &name, Done caller) {
    const Done done = once(std::move(caller));
    const auto found = filters_.find(name);
    if (found == filters_.end() || !found->second->is_published())
        return done(not_found(name));
    const FilterPtr filter = found->second;
    if (filter->changing || filter->is_making_memory())
        return done(being_changed(name));
    if (filter->build)
        end_build(filter, filter->build);
    filter->gates(*control_).end();
    control_->raise_name_counter();
    crash_point("drop.gates");
    const EndingSegment ending{.filter_uuid = filter->record.uuid,
                               .filter_name = name,
                               .generation = filter->record.generation,
                               .segment = filter->record.segment,
                               .gate_ended = true};
    registry_.ending.push_back(ending);
    keep_for_undrop(*filter);
    snapshotter_->cancel(*filter);
    filter->slot = SHMBLOOM_SLOT_COUNT; // adds that wait for the disk count nowhere: the slot may be another's by then
    add_those_that_waited(filter); // to be told that it is gone
    filters_.erase(found);
    dropping_.insert(name);
    writer_.commit({.durable =
                        [this, ending, filter, done] {
                            crash_point("drop.durable");
                            // For `undrop`; its memory is kept for so long.
                            if (filter->segment && filter->bits_set != 0)
                                keep_bits(filter);
                            dropped(ending);
                            done(std::nullopt);
                        },
                    .failed =
                        [done, name](const std::string &error) {
                            done(uncertain("filter " + quoted(name) +
                                               " answers unverified now, but may come back at the next start",
                                           error));
                        }});
}

void Instance::dropped(const EndingSegment &ending) {
    remove_shared_memory(segment_name(registry_.state_uuid, ending.filter_uuid, ending.generation), ending.segment);
    crash_point("drop.unlinked");
    // Goes to the disk with the next write; a start that still finds it has nothing left to do.
    std::erase_if(registry_.ending, [&](const EndingSegment &other) { return other.generation == ending.generation; });
    dropping_.erase(ending.filter_name);
    log::info("filter " + quoted(ending.filter_name) + " dropped");
}

void Instance::keep_for_undrop(const Filter &filter) {
    if (filter.bits_set != 0 || !filter.record.snapshots.empty())
        registry_.dropped.push_back({unix_seconds(), filter.record});
}

// What was dropped a day ago is gone for good, and so is the oldest of too many: the registry is written as a whole.
void Instance::forget_dropped() {
    const std::uint64_t now = unix_seconds();
    std::vector<FilterRecord> gone;
    auto &dropped = registry_.dropped;
    while (!dropped.empty() &&
           (dropped.size() > kKeptDropped ||
            now >= std::max(dropped.front().since + kKeptDropped_s, began_ + kKeptSinceStart_s))) {
        gone.push_back(dropped.front().record);
        dropped.erase(dropped.begin());
    }
    if (gone.empty())
        return;
    writer_.commit({.durable =
                        [this, gone] {
                            memory_.run([this, gone] {
                                for (const FilterRecord &record : gone)
                                    remove_snapshots(record);
                            });
                        },
                    .failed = nullptr});
}

void Instance::remove_snapshots(const FilterRecord &record) const {
    const std::string name = to_string(record.uuid);
    try {
        const UniqueFd folder = state_.open_subfolder(name);
        for (const SnapshotRecord &snapshot : all_snapshots(record))
            disk().unlink(folder.get(), snapshot_name(snapshot.number).c_str());
        for (const HashFileRecord &file : all_hash_files(record))
            disk().unlink(folder.get(), hash_list_name(file.number).c_str());
        state_.remove_subfolder(name);
    } catch (const std::system_error &error) {
        log::warning("snapshots of the dropped filter " + quoted(record.name) + " are left behind: " + error.what());
    }
}

} // namespace shmbloom
