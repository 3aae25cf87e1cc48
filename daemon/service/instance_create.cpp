// Create and drop. Create becomes more certain: registry, segment's gate, control's gate. Drop becomes less certain:
// gates, registry, then the name.
#include <variant>

#include "service/call_once.h"
#include "service/instance.h"
#include "service/names.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"
#include "sys/memory.h"

namespace shmbloom {
namespace {

std::string quoted(std::string_view name) {
    return "'" + std::string{name} + "'";
}

Failure uncertain(const std::string &what, const std::string &error) {
    return {"IO", what + ": the registry cannot be written (" + error +
                      "); it is tried again every second, and takes effect when that succeeds"};
}

} // namespace

std::optional<Failure> Instance::check_create(const CreateRequest &request, geometry::Geometry &geometry) const {
    const auto layout = geometry::parse_layout(request.layout);
    if (!is_filter_name(request.name))
        return Failure{"RANGE", "the name of a filter is 1 to 64 characters of A-Z a-z 0-9 . _ : -"};
    if (!layout)
        return Failure{"RANGE", "LAYOUT is auto, classic or blocked"};
    if (request.key_type == SHMBLOOM_KEY_TYPE_U64 && (request.normalization & SHMBLOOM_NORMALIZE_LOWER) != 0)
        return Failure{"RANGE", "a filter of key type u64 has no letters: NORMALIZE lower is not allowed"};
    if (filters_.contains(request.name))
        return Failure{"EXISTS", "filter " + quoted(request.name) + " exists; drop it first, or take another name"};
    if (dropping_.contains(request.name))
        return Failure{"BUSY", "filter " + quoted(request.name) + " is just being dropped; try again"};
    if (filters_.size() + dropping_.size() >= SHMBLOOM_SLOT_COUNT)
        return Failure{"NOSPC", "an instance has at most " + std::to_string(SHMBLOOM_SLOT_COUNT) +
                                    " filters; drop one, or start another instance"};
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
                      .generation = 0,
                      .lineage = 0,
                      .segment = {},
                      .making = 0,
                      .doubts = {},
                      .live_since = 0};
    if (!request.nothing_exists_yet)
        filter->record.doubts[SHMBLOOM_DOUBT_WARMING] = {unix_seconds(), "its source has not been declared complete"};
    filters_.emplace(request.name, filter);
    // Before anything is written: what does not fit leaves no trace.
    memory_.run([this, filter, done, bytes = geometry.segment_bytes] {
        auto refusal = memory_refusal(bytes, options_.shm_reserve_bytes);
        post_([this, filter, done, refusal] {
            if (!refusal)
                return make_segment(filter, done);
            forget(filter);
            done(Failure{"NOMEM", "filter " + quoted(filter->record.name) + " " + *refusal});
        });
    });
}

// The registry names the segment as `making` before it exists, so that a crash leaves none that nobody knows.
void Instance::make_segment(const FilterPtr &filter, Done done) {
    filter->record.making = registry_.next_generation++;
    control_->set_next_generation(registry_.next_generation);
    const auto given_up = std::make_shared<bool>(false);
    writer_.commit({.durable =
                        [this, filter, done, given_up] {
                            if (*given_up)
                                return;
                            crash_point("create.making");
                            memory_.run(
                                [this, filter, done, identity = filter->identity(registry_, filter->record.making)] {
                                    auto segment = std::make_shared<std::unique_ptr<Segment>>();
                                    std::string error;
                                    try {
                                        *segment = std::make_unique<Segment>(Segment::Create{}, identity);
                                    } catch (const std::system_error &failure) {
                                        error = failure.what();
                                    }
                                    crash_point("create.made");
                                    post_([this, filter, done, segment, error] {
                                        segment_made(filter, std::move(*segment), error, done);
                                    });
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

void Instance::segment_made(const FilterPtr &filter, std::unique_ptr<Segment> segment, const std::string &error,
                            Done done) {
    if (!segment) {
        forget(filter);
        return done(Failure{"NOMEM", "filter " + quoted(filter->record.name) + " was not created: " + error});
    }
    FilterRecord &record = filter->record;
    record.generation = record.lineage = std::exchange(record.making, 0);
    record.segment = segment->id();
    record.live_since = record.doubts.empty() ? unix_seconds() : 0;
    filter->huge_page_bytes = segment->huge_page_bytes();
    filter->segment = std::move(segment);
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
    if (filter->changing)
        return done(being_changed(name));
    filter->gates(*control_).end();
    control_->raise_name_counter();
    crash_point("drop.gates");
    const EndingSegment ending{.filter_uuid = filter->record.uuid,
                               .filter_name = name,
                               .generation = filter->record.generation,
                               .segment = filter->record.segment,
                               .gate_ended = true};
    registry_.ending.push_back(ending);
    filters_.erase(found);
    dropping_.insert(name);
    writer_.commit({.durable =
                        [this, ending, done] {
                            crash_point("drop.durable");
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

} // namespace shmbloom
