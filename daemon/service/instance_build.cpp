// A new generation beside the present one, and the switch to it. In this order: the registry names the segment as making;
// it is made; adds go into both; it is filled; its snapshot is on the disk; the registry commits to it and names the old
// one as ending; control's gate speaks of it, the old segment's gate is 0, only then is the old one no longer fed; the old
// name goes. Whoever dies in between leaves a start either of the two, never something in the middle.
#include <algorithm>

#include "service/call_once.h"
#include "service/disk_failure.h"
#include "service/instance.h"
#include "service/names.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"
#include "sys/memory.h"

namespace shmbloom {
namespace {

std::string name_of(const Filter &filter) {
    return "filter '" + filter.record.name + "'";
}

Failure was_stopped(const Build &build) {
    return {"ERR", "the " + std::string{build.kind_text()} + " was stopped; nothing changed"};
}

} // namespace

Failure Instance::is_being_built(const Filter &filter) const {
    const Build &build = *filter.build;
    return {"BUSY", "a " + std::string{build.kind_text()} + " of " + name_of(filter) + " is under way since " +
                        time_text(build.since) + (build.by.empty() ? "" : ", begun by " + build.by) +
                        "; wait for its end, or stop it where it was begun"};
}

bool Instance::is_current(const FilterPtr &filter, const BuildPtr &build) const {
    return filter->build == build && !build->is_cancelled;
}

SegmentIdentity Instance::identity_of(const Filter &filter, const Build &build) const {
    SegmentIdentity identity = filter.identity(registry_, build.generation);
    identity.lineage = build.lineage;
    identity.capacity = build.capacity;
    identity.fpr = build.fpr;
    identity.shape = build.shape;
    return identity;
}

Instance::BuildPtr Instance::new_build(const Filter &filter, Build::Kind kind, std::string by) const {
    const FilterRecord &record = filter.record;
    const auto build = std::make_shared<Build>();
    build->kind = kind;
    build->by = std::move(by);
    build->since = unix_seconds();
    build->capacity = record.capacity;
    build->fpr = record.fpr;
    build->layout_asked = record.layout_asked;
    build->shape = record.shape;
    build->source_begun = record.source_begun;
    build->hash_list = record.hash_list;
    build->is_logged = record.durability == SHMBLOOM_DURABILITY_LOGGED;
    return build;
}

// `fed`: the segment stands, and every add from now on goes into it too.
void Instance::begin_build(const FilterPtr &filter, const BuildPtr &build, Done fed) {
    fed = once(std::move(fed));
    filter->build = build;
    build->generation = filter->record.making = registry_.next_generation++;
    if (build->lineage == 0)
        build->lineage = build->generation;
    control_->set_next_generation(registry_.next_generation);
    writer_.commit({.durable =
                        [this, filter, build, fed] {
                            if (!is_current(filter, build))
                                return fed(was_stopped(*build));
                            crash_point("build.making");
                            build->is_being_made = true;
                            memory_.run([this, filter, build, fed, identity = identity_of(*filter, *build)] {
                                const Made made = make_checked(identity);
                                crash_point("build.made");
                                post_([this, filter, build, fed, made] { feed_both(filter, build, made, fed); });
                            });
                        },
                    .failed =
                        [this, filter, build, fed](const std::string &error) {
                            end_build(filter, build);
                            fed(Failure{"IO", "nothing changed: the registry cannot be written: " + error});
                        }});
}

// On the helper thread.
Instance::Made Instance::make_checked(const SegmentIdentity &identity) const {
    if (auto refusal = memory_refusal(geometry::place(identity.shape).segment_bytes, options_.shm_reserve_bytes)) {
        Made made;
        made.error = *refusal;
        return made;
    }
    return make(identity, nullptr);
}

void Instance::feed_both(const FilterPtr &filter, const BuildPtr &build, const Made &made, const Done &fed) {
    build->is_being_made = false;
    if (!is_current(filter, build)) {
        if (made.segment)
            remove_shared_memory(made.segment->name(), made.segment->id());
        if (filter->record.making == build->generation) {
            filter->record.making = 0;
            writer_.commit({.durable = [] {}, .failed = nullptr});
        }
        return fed(was_stopped(*build));
    }
    if (!made.segment) {
        end_build(filter, build);
        return fed(Failure{made.word, "the new generation of " + name_of(*filter) + " " + made.error});
    }
    build->segment = made.segment;
    build->huge_page_bytes = made.huge_page_bytes;
    build->fed_from = journal_->next();
    fed(std::nullopt);
}

// Runs `fill` on a thread once every add of before is in the journal's files; it returns what went wrong, or "".
void Instance::fill_build(const FilterPtr &filter, const BuildPtr &build, FillBuild fill) {
    const auto run = [this, filter, build, fill = std::move(fill)](const std::optional<DiskError> &error) {
        if (error) {
            build->is_unwritten = true;
            return filled(filter, build, error->text);
        }
        // The registry names by now whatever file holds an add of before.
        builder_.run([this, filter, build, fill, place = journal_place()] {
            const std::string trouble = build->is_cancelled ? "stopped" : fill(place);
            crash_point("build.filled");
            post_([this, filter, build, trouble] { filled(filter, build, trouble); });
        });
    };
    if (!filter->record.is_journalled())
        return run(std::nullopt);
    journal_->when_written(build->fed_from, run);
}

void Instance::filled(const FilterPtr &filter, const BuildPtr &build, const std::string &trouble) {
    if (!is_current(filter, build))
        return;
    build->trouble = trouble;
    build->is_filled = true;
    went_on(*build);
}

// Something that the end of a build may wait for is done.
void Instance::went_on(Build &build) const {
    if (build.is_filled && build.jobs == 0 && build.when_filled)
        std::exchange(build.when_filled, nullptr)();
}

// `go_on` is told why it did not come to that.
void Instance::when_filled(const FilterPtr &filter, const BuildPtr &build, Done go_on) const {
    build->when_filled = [this, filter, build, go_on = std::move(go_on)] {
        if (!is_current(filter, build))
            return go_on(was_stopped(*build));
        go_on(std::nullopt);
    };
    went_on(*build);
}

// Adds of the journal, on the builder's thread.
std::string Instance::replay_into(const BuildPtr &build, std::uint64_t filter_number, const JournalPlace &place) {
    std::uint64_t replayed = 0, fresh = 0;
    const std::string trouble = replay_adds(place, filter_number, build->replay_from, build->fed_from, build->is_logged,
                                            [&](std::span<const std::uint64_t> hashes) {
                                                fresh += build->segment->set(hashes);
                                                replayed += hashes.size();
                                            });
    post_([build, replayed, fresh] {
        build->replayed = replayed;
        build->bits_set += fresh;
    });
    return trouble;
}

JournalPlace Instance::journal_place() const {
    std::vector<Uuid> states = registry_.earlier_state_uuids;
    states.push_back(registry_.state_uuid);
    return {journal_folder_.get(), state_.path() + "/journal", registry_.journal.files, states};
}

// Nothing changed: the filter is what it was. `build` is no reference, as it may be the filter's own, which goes here.
void Instance::end_build(const FilterPtr &filter, BuildPtr build) {
    if (filter->build != build)
        return;
    build->is_cancelled = true;
    filter->build.reset();
    if (!build->is_being_made) // else it is named until it can be removed
        filter->record.making = 0;
    snapshotter_->cancel_build(build);
    if (build->segment)
        remove_shared_memory(build->segment->name(), build->segment->id());
    // What it wrote is named nowhere; only the space is to be had again. (An unfinished list goes with its writer.)
    if (build->kind == Build::Kind::rebuild)
        forget_hash_files(filter->record, build->hash_list.files);
    build->list.reset();
    if (build->when_filled) // who waits for the end is told
        post_(std::exchange(build->when_filled, nullptr));
    for (auto &go_on : std::exchange(filter->after_change, {})) // and who waits to switch
        post_(std::move(go_on));
    writer_.commit({.durable = [] {}, .failed = nullptr});
}

// What is in it is acknowledged when its snapshot is on the disk.
void Instance::switch_when_kept(const FilterPtr &filter, const BuildPtr &build, Done done) {
    if (!filter->record.is_journalled())
        return commit_switch(filter, build, std::nullopt, std::move(done));
    snapshotter_->take_build(filter, build,
                             [this, filter, build, done = std::move(done)](const std::string &error,
                                                                           const SnapshotRecord &snapshot) {
                                 if (!is_current(filter, build))
                                     return done(was_stopped(*build));
                                 if (error.empty())
                                     return commit_switch(filter, build, snapshot, done);
                                 end_build(filter, build);
                                 done(not_kept("nothing changed: no snapshot of the new generation", error));
                             });
}

void Instance::commit_switch(const FilterPtr &filter, const BuildPtr &build, std::optional<SnapshotRecord> snapshot,
                             Done caller) {
    const Done done = once(std::move(caller));
    if (filter->changing) // a pause, a resume, the end of a load: soon over
        return filter->after_change.push_back([this, filter, build, snapshot, done] {
            if (is_current(filter, build))
                return commit_switch(filter, build, snapshot, done);
            done(was_stopped(*build));
        });
    FilterRecord &record = filter->record;
    filter->changing = true;
    snapshotter_->cancel(*filter);
    registry_.ending.push_back({.filter_uuid = record.uuid,
                                .filter_name = record.name,
                                .generation = record.generation,
                                .segment = record.segment});
    const auto replaced = std::make_shared<FilterRecord>(record);
    if (build->kind != Build::Kind::copy) {
        keep_previous(record, *build, filter->estimated_keys());
        record.snapshots.clear();
        if (snapshot)
            record.snapshots.push_back(*snapshot);
        record.bulk_acts = snapshot ? snapshot->bulk_acts : record.bulk_acts;
        filter->hashes_since_snapshot = snapshot ? journal_->next() - snapshot->s : 0;
    }
    record.capacity = build->capacity;
    record.fpr = build->fpr;
    record.layout_asked = build->layout_asked;
    record.shape = build->shape;
    record.source_begun = build->source_begun;
    if (build->kind == Build::Kind::rebuild || build->kind == Build::Kind::rollback)
        filter->bulk_noted = record.bulk_unkept = false; // its snapshot has all bits there are
    // What it grew out of may have gone on meanwhile.
    if (build->kind == Build::Kind::rebuild || build->kind == Build::Kind::rollback)
        record.hash_list = build->hash_list;
    record.generation = std::exchange(record.making, 0);
    record.lineage = build->lineage;
    record.segment = build->segment->id();
    for (std::uint32_t bit = 1; bit <= build->ends; bit <<= 1)
        if ((build->ends & bit) != 0)
            record.doubts.erase(bit);
    record.doubts.insert(build->brings.begin(), build->brings.end());
    record.live_since = record.doubts.empty() ? unix_seconds() : 0;
    filter->huge_page_bytes = build->huge_page_bytes;
    // After a failed write either generation may be what the disk says: both are fed until a later one succeeds.
    writer_.commit({.durable =
                        [this, filter, build, replaced, done] {
                            crash_point("switch.durable");
                            open_switched(*filter, *build);
                            remove_replaced(*replaced, filter->record);
                            filter->changing = false;
                            done(std::nullopt);
                        },
                    .failed =
                        [filter, done](const std::string &error) {
                            done(Failure{"IO", name_of(*filter) + " is switched when the registry can be written, which "
                                                                  "is tried every second: " +
                                                   error});
                        }});
}

// Control's gate to the new generation, then the old segment's to 0; only then is the old one no longer fed.
void Instance::open_switched(Filter &filter, const Build &build) {
    const FilterRecord &record = filter.record;
    // `paused` is the one doubt that somebody else sets: whoever set it on the old one meant the filter.
    std::uint32_t doubts = record.doubt_bits() | (filter.gates(*control_).doubts() & SHMBLOOM_DOUBT_PAUSED);
    const std::shared_ptr<Segment> old = std::exchange(filter.segment, build.segment);
    filter.build.reset();
    filter.bits_set = std::max(build.bits_set, build.kind == Build::Kind::copy ? filter.bits_set : 0);
    const std::uint64_t replaced = control_->write_slot(filter.slot, filter.picture(registry_));
    crash_point("switch.slot");
    doubts |= doubts_of(replaced) & SHMBLOOM_DOUBT_PAUSED;
    filter.gates(*control_).open(record.generation, doubts);
    crash_point("switch.opened");
    control_->raise_name_counter();
    if (old && (doubts_of(__atomic_exchange_n(old->gate(), 0, __ATOMIC_ACQ_REL)) & SHMBLOOM_DOUBT_PAUSED) != 0)
        filter.gates(*control_).doubt(SHMBLOOM_DOUBT_PAUSED);
    crash_point("switch.old_ended");
    if (old)
        remove_shared_memory(old->name(), old->id());
    crash_point("switch.unlinked");
    // Goes to the disk with the next write; a start that still finds it has nothing left to do.
    std::erase_if(registry_.ending, [&](const EndingSegment &ending) { return old && ending.segment == old->id(); });
    filter.warnings &= ~std::uint32_t{SHMBLOOM_WARNING_NAME_LOST | SHMBLOOM_WARNING_FULL};
    filter.may_be_held = true;
    filter.forget_estimates();
    filter.growth_blocked.clear(); // whatever it was, this is another content
    filter.no_growth_before = 0;
    filter.show_status(*control_, registry_);
    log::info(name_of(filter) + " was switched to generation " + std::to_string(record.generation) + " by a " +
              build.kind_text());
}

// For `rollback`. A filter that grew has the same keys as before: what it would roll back to stays.
void Instance::keep_previous(FilterRecord &record, const Build &build, std::uint64_t keys) const {
    if (build.kind == Build::Kind::growth)
        return;
    record.previous.reset();
    if (!record.is_journalled())
        return;
    PreviousGeneration previous{.replaced = unix_seconds(),
                                .generation = record.generation,
                                .lineage = record.lineage,
                                .capacity = record.capacity,
                                .fpr = record.fpr,
                                .layout_asked = record.layout_asked,
                                .shape = record.shape,
                                .created = record.created,
                                .bulk_acts = record.bulk_acts,
                                .source_begun = record.source_begun,
                                .keys = keys,
                                .bulk_since = false,
                                .snapshots = {},
                                .hash_list = record.hash_list,
                                .doubts = record.doubts};
    previous.doubts.erase(SHMBLOOM_DOUBT_PAUSED);
    if (!record.snapshots.empty())
        previous.snapshots = {record.snapshots.back()};
    record.previous = std::move(previous);
}

// Files that the record of before named and that of now does not.
void Instance::remove_replaced(const FilterRecord &before, const FilterRecord &now) {
    std::vector<std::uint64_t> snapshots;
    std::vector<HashFileRecord> lists;
    for (const SnapshotRecord &snapshot : all_snapshots(before))
        if (const auto kept = all_snapshots(now);
            std::ranges::find(kept, snapshot.number, &SnapshotRecord::number) == kept.end())
            snapshots.push_back(snapshot.number);
    for (const HashFileRecord &file : all_hash_files(before))
        if (const auto kept = all_hash_files(now); std::ranges::find(kept, file) == kept.end())
            lists.push_back(file);
    forget_hash_files(before, lists);
    if (snapshots.empty())
        return;
    memory_.run([this, snapshots, folder_name = to_string(before.uuid)] {
        try {
            const UniqueFd folder = state_.open_subfolder(folder_name);
            for (const std::uint64_t number : snapshots)
                disk().unlink(folder.get(), snapshot_name(number).c_str());
        } catch (const std::system_error &error) {
            log::warning("replaced snapshots are left behind: " + std::string{error.what()});
        }
    });
}

} // namespace shmbloom
