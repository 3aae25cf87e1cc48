// A snapshot from elsewhere, or from before: ORed into a filter, or a new filter. Its bits come without frames in the
// journal, so the registry counts the act before a bit is set, and only a full snapshot that holds them is
// acknowledged: without that, a restore says `damaged` rather than forget them.
#include <algorithm>
#include <fcntl.h>

#include "disk/snapshot.h"
#include "service/call_once.h"
#include "service/instance.h"
#include "service/names.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

std::string shape_text(const shmbloom_shape &shape) {
    const bool blocked = shape.layout == SHMBLOOM_LAYOUT_BLOCKED;
    return std::string{layout_text(shape.layout)} + ", " + std::to_string(shape.probes) + " probes, " +
           std::to_string(shape.size) + (blocked ? " blocks" : " bits");
}

} // namespace

Failure other_domain(const SnapshotIdentity &identity, std::uint64_t here) {
    return {"STALE", "the snapshot's hash domain is " + to_hex(identity.hash_domain) + ", here it is " + to_hex(here) +
                         ": its keys were hashed with another seed, normalisation or key type, and would not be found"};
}

void Instance::import(const std::string &name, const std::string &file, Done caller) {
    const Done done = once(std::move(caller));
    if (!is_filter_name(name) || !is_instance_name(file))
        return done(Failure{"RANGE", "SB.IMPORT wants the name of a filter, and that of a file in the state folder's "
                                     "import/, 1 to 32 characters of A-Z a-z 0-9 _ -"});
    open_imported(file, [this, name, done](const SnapshotPtr &opened, const std::string &reason) {
        if (!opened)
            return done(Failure{"RANGE", "not imported: " + reason});
        import_opened(name, opened, done);
    });
}

// The file is open then, and its name of no more use: whatever follows, nothing is left behind.
void Instance::open_imported(const std::string &file, Opened done) {
    if (!is_instance_name(file))
        return done(nullptr, "a file in the state folder's import/ has a name of 1 to 32 characters of A-Z a-z 0-9 _ -");
    memory_.run([this, file, done = std::move(done)] {
        SnapshotPtr opened;
        std::string reason;
        try {
            const UniqueFd folder = state_.open_subfolder("import");
            opened = SnapshotFile::open(folder.get(), file, state_.path() + "/import", reason);
            disk().unlink(folder.get(), file.c_str());
        } catch (const std::system_error &error) {
            reason = error.what();
        }
        post_([opened, reason, done] { done(opened, reason); });
    });
}

void Instance::import_opened(const std::string &name, const SnapshotPtr &file, Done done) {
    const auto found = filters_.find(name);
    if (found == filters_.end())
        return import_as_new(name, file, std::move(done));
    if (!found->second->is_published() || found->second->changing)
        return done(being_changed(name));
    if (found->second->build)
        return done(is_being_built(*found->second));
    import_into(found->second, file, std::move(done));
}

void Instance::import_as_new(const std::string &name, const SnapshotPtr &file, Done done) {
    const SnapshotIdentity &identity = file->identity();
    const std::uint64_t here =
        shmbloom_hash_domain(registry_.domain, SHMBLOOM_HASH_XXH3_64, identity.normalization, identity.key_type);
    if (identity.hash_domain != here)
        return done(other_domain(identity, here));
    if (auto failure = check_new(name))
        return done(std::move(failure));
    const auto filter = std::make_shared<Filter>();
    FilterRecord &record = filter->record;
    record.uuid = Uuid::random();
    record.number = registry_.next_filter_number++;
    record.name = name;
    record.capacity = identity.capacity;
    record.fpr = identity.fpr;
    record.layout_asked = layout_text(identity.shape.layout);
    record.shape = identity.shape;
    record.normalization = identity.normalization;
    record.key_type = identity.key_type;
    record.durability = SHMBLOOM_DURABILITY_DURABLE;
    record.created = journal_->next();
    count_bulk_act(record, identity.source_begun != 0 ? identity.source_begun : unix_seconds());
    record.source_begun = identity.source_begun;
    record.doubts[SHMBLOOM_DOUBT_WARMING] = {unix_seconds(), "imported; its source has not been declared complete"};
    journal_->prepare();
    begin_making(
        filter,
        [file](Segment &segment) {
            std::string reason;
            file->read_into(segment.words(), reason);
            return reason;
        },
        [this, filter, done](std::optional<Failure> failure) {
            if (failure)
                return done(std::move(failure));
            filter->changing = true;
            imported(filter, "", done);
        });
}

void Instance::import_into(const FilterPtr &filter, const SnapshotPtr &file, Done done) {
    const FilterRecord &record = filter->record;
    const SnapshotIdentity &identity = file->identity();
    if (!filter->segment)
        return done(Failure{"NOMEM", "filter '" + record.name + "' has no memory for its bits"});
    if (identity.hash_domain != hash_domain(*filter))
        return done(other_domain(identity, hash_domain(*filter)));
    if (!(identity.shape == record.shape))
        return done(Failure{"RANGE", "the snapshot has another geometry than filter '" + record.name +
                                         "': " + shape_text(identity.shape) + " against " + shape_text(record.shape) +
                                         "; import it under a new name"});
    filter->changing = true;
    count_bulk_act(filter->record, identity.source_begun != 0 ? identity.source_begun : unix_seconds());
    filter->record.hash_list.complete = false; // bits without their hashes
    const auto given_up = std::make_shared<bool>(false);
    writer_.commit({.durable =
                        [this, filter, file, done, given_up] {
                            crash_point("import.noted");
                            if (!*given_up)
                                return merge(filter, file, done);
                            // Counted late and for nothing: a snapshot that has the count is whole again.
                            if (filter->record.is_journalled())
                                snapshotter_->take(filter, Snapshotter::Pace::slow, [](const std::string &) {});
                        },
                    .failed =
                        [filter, done, given_up](const std::string &error) {
                            *given_up = true;
                            filter->changing = false;
                            done(Failure{"IO", "not imported, the registry cannot be written: " + error});
                        }});
}

void Instance::merge(const FilterPtr &filter, const SnapshotPtr &file, Done done) {
    memory_.run([this, filter, segment = filter->segment, file, done] {
        std::string reason;
        file->merge_into(segment->words(), reason);
        const std::uint64_t bits_set = segment->count_bits();
        crash_point("import.merged");
        post_([this, filter, bits_set, reason, done] {
            // Adds of meanwhile are in one of the two, or in neither by a handful: it is for estimates.
            filter->bits_set = std::max(filter->bits_set, bits_set);
            imported(filter, reason, done);
        });
    });
}

// Also when a part of the bits could not be read: what was set is to be in a snapshot, as the registry counts it.
void Instance::imported(const FilterPtr &filter, const std::string &error, Done done) {
    const auto end = [this, filter, error, done](const std::string &not_kept) {
        filter->changing = false;
        if (filter->is_published())
            filter->show_status(*control_, registry_);
        const std::string name = "filter '" + filter->record.name + "'";
        if (!error.empty())
            return done(Failure{"RANGE", "not all was imported into " + name + ": " + error});
        if (!not_kept.empty())
            return done(Failure{"IO", "imported into " + name +
                                          ", but a restart of the machine makes it damaged until a "
                                          "full snapshot is on the disk, and that failed: " +
                                          not_kept});
        log::info("a snapshot was imported into " + name);
        done(std::nullopt);
    };
    if (!filter->record.is_journalled())
        return end("");
    snapshotter_->take(filter, Snapshotter::Pace::full, end);
}

} // namespace shmbloom
