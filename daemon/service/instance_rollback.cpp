// Rollback: the content before the last switch, and every add since, become a new generation.
#include "service/call_once.h"
#include "service/instance.h"
#include "sys/clock.h"
#include "sys/log.h"

namespace shmbloom {

void Instance::rollback(const std::string &name, bool with_present, const std::string &by, Done caller) {
    const Done done = once(std::move(caller));
    const auto found = filters_.find(name);
    if (found == filters_.end() || !found->second->is_published())
        return done(not_found(name));
    const FilterPtr filter = found->second;
    if (auto failure = may_build(*filter))
        return done(std::move(failure));
    const FilterRecord &record = filter->record;
    if (!record.previous)
        return done(Failure{"NOTFOUND", "filter '" + name + "' has no previous generation: one is kept after a rebuild or a "
                                                            "rollback, for 7 days or until the next one"});
    const PreviousGeneration previous = *record.previous;
    if (with_present && !(previous.shape == record.shape))
        return done(Failure{"RANGE", "the previous generation of filter '" + name +
                                         "' has another geometry than the present one, so they cannot be united; roll back "
                                         "without --union (UNION), or rebuild"});
    if (previous.bulk_since && !with_present)
        return done(Failure{"RANGE",
                            "keys were loaded or imported into filter '" + name +
                                "' since its last switch: a rollback would lose them; say --union (UNION), which keeps "
                                "the present bits too, or rebuild"});
    const BuildPtr build = new_build(*filter, Build::Kind::rollback, by);
    build->capacity = previous.capacity;
    build->fpr = previous.fpr;
    build->layout_asked = previous.layout_asked;
    build->shape = previous.shape;
    build->source_begun = previous.source_begun;
    build->hash_list = previous.hash_list;
    if (with_present)
        build->hash_list.complete = false;
    build->brings = previous.doubts;
    build->replay_from = previous.snapshots.empty() ? previous.created : previous.snapshots.back().s;
    if (auto failure = over_budget(*filter, *build))
        return done(std::move(failure));
    begin_build(filter, build, [this, filter, build, previous, with_present, done](const std::optional<Failure> &failure) {
        if (failure)
            return done(failure);
        fill_build(filter, build, [this, build, previous, with_present, uuid = filter->record.uuid,
                                   number = filter->record.number,
                                   present = filter->segment](const JournalPlace &place) {
            const std::string trouble = fill_from_previous(*build, uuid, previous);
            if (!trouble.empty())
                return trouble;
            if (with_present)
                build->segment->merge(*present);
            const std::string missing = replay_into(build, number, place);
            post_([build, bits_set = build->segment->count_bits()] { build->bits_set = bits_set; });
            return missing;
        });
        when_filled(filter, build, [this, filter, build, done](const std::optional<Failure> &stopped) {
            if (stopped)
                return done(stopped);
            if (build->trouble.empty())
                return switch_when_kept(filter, build, done);
            end_build(filter, build);
            done(Failure{"IO", "nothing changed: the previous generation cannot be brought back: " + build->trouble});
        });
    });
}

// On the builder's thread.
std::string Instance::fill_from_previous(const Build &build, const Uuid &uuid, const PreviousGeneration &previous) const {
    if (previous.snapshots.empty())
        return previous.bulk_acts == 0 ? "" : "it had no snapshot, and bits had come without frames in the journal";
    const std::string folder_name = to_string(uuid), path = state_.path() + "/" + folder_name;
    std::string reason;
    try {
        const UniqueFd folder = state_.open_subfolder(folder_name);
        const SnapshotRecord &listed = previous.snapshots.back();
        if (listed.bulk_acts < previous.bulk_acts)
            return "its last snapshot is older than what was loaded or imported into it";
        const auto file = SnapshotFile::open(folder.get(), snapshot_name(listed.number), path, reason);
        if (file && (file->identity().filter_uuid != uuid || file->identity().number != listed.number ||
                     file->identity().lineage != previous.lineage || !(file->identity().shape == build.shape)))
            reason = "'" + path + "/" + snapshot_name(listed.number) + "' is another snapshot than the registry names";
        else if (file)
            file->merge_into(build.segment->words(), reason); // adds come in meanwhile
    } catch (const std::system_error &error) {
        reason = error.what();
    }
    return reason;
}

// Once a second: after a week, or when it is all that keeps the journal above its limit.
void Instance::forget_previous(const FilterPtr &filter) {
    FilterRecord &record = filter->record;
    if (!record.previous || filter->build || filter->changing)
        return;
    const bool is_old = unix_seconds() >= record.previous->replaced + kPreviousKept_s;
    const bool is_too_much = journal_->files().bytes() > options_.journal_retention.limit_bytes &&
                             !journal_->files().all().empty() &&
                             needed_by_previous(*record.previous) < needed_without_previous(record);
    if (!is_old && !is_too_much)
        return;
    log::info("the previous generation of filter '" + record.name + "' is no longer kept: " +
              (is_old ? "a week has passed" : "the journal for it is above --journal-limit"));
    const auto before = std::make_shared<FilterRecord>(record);
    record.previous.reset();
    writer_.commit({.durable = [this, filter, before] { remove_replaced(*before, filter->record); }, .failed = nullptr});
}

Lsn Instance::needed_by_previous(const PreviousGeneration &previous) {
    const Lsn needed = previous.snapshots.empty() ? previous.created : previous.snapshots.back().s;
    return previous.hash_list.complete ? std::min(needed, previous.hash_list.through) : needed;
}

Lsn Instance::needed_without_previous(const FilterRecord &record) {
    const Lsn needed = record.snapshots.empty() ? record.created : record.snapshots.front().s;
    return record.growable && record.hash_list.complete ? std::min(needed, record.hash_list.through) : needed;
}

} // namespace shmbloom
