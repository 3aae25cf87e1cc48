#include "service/restore.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <sys/stat.h>

#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

std::vector<Uuid> states_of(const Registry &registry) {
    std::vector<Uuid> states = registry.earlier_state_uuids;
    states.push_back(registry.state_uuid);
    return states;
}

// A frame of the future was written before the clock was set back: when that was nobody knows.
std::uint64_t known_past(std::uint64_t seconds) {
    return seconds <= unix_seconds() ? seconds : 0;
}

void doubt(FilterRecord &record, std::uint32_t bit, const std::string &text) {
    record.doubts[bit] = {unix_seconds(), text};
    record.live_since = 0;
    log::error("filter '" + record.name + "' is " + (bit == SHMBLOOM_DOUBT_LOSSY ? "lossy: " : "damaged: ") + text);
}

} // namespace

Restore::Restore(const StateFolder &state, Registry &registry, Lsn durable)
    : state_{state}, registry_{registry}, folder_{state.open_subfolder("journal")},
      folder_path_{state.path() + "/journal"}, begun_ns_{boottime_ns()} {
    for (const FilterRecord &record : registry_.filters)
        sweep(record);
    for (const DroppedFilter &dropped : registry_.dropped)
        sweep(dropped.record);
    scan_ = std::make_unique<JournalScan>(folder_.get(), folder_path_, registry_.journal.files, states_of(registry_));
    for (const Lsn lsn : {durable, registry_.journal.end})
        scan_->is_durable_below(lsn);
    for (const FilterRecord &record : registry_.filters) {
        scan_->is_used_below(record.created);
        for (const SnapshotRecord &snapshot : record.snapshots)
            scan_->is_durable_below(snapshot.end);
    }
    if (registry_.clean_stop)
        scan_->is_complete();
    if (const std::string failed = scan_->sync_all(); !failed.empty())
        degrade(failed);
}

void Restore::degrade(const std::string &why) {
    log::error("what a former daemon wrote to the journal may not be on the disk (" + why +
               "): full snapshots of every filter follow");
    if (registry_.degraded.since == 0)
        registry_.degraded = {unix_seconds(), why};
}

void Restore::plan(Filter &filter, bool unclean) {
    Lost &lost = lost_[&filter];
    lost.filter = &filter;
    FilterRecord &record = filter.record;
    choose(lost, record.snapshots.size());
    lost.is_but_the_last_second = unclean && record.durability == SHMBLOOM_DURABILITY_LOGGED &&
                                  registry_.degraded.since == 0 &&
                                  (record.doubt_bits() & ~std::uint32_t{SHMBLOOM_DOUBT_PAUSED}) == 0;
    if (unclean && record.durability == SHMBLOOM_DURABILITY_LOGGED)
        doubt(record, SHMBLOOM_DOUBT_LOSSY,
              "the machine was restarted without a clean stop, and the adds of its last second were not synced");
    if (registry_.degraded.since != 0)
        doubt(record, SHMBLOOM_DOUBT_LOSSY, "the disk had failed before, and no full snapshot had followed: " +
                                                registry_.degraded.text);
}

// The newest usable one of the first `newer_than`; else from its creation on.
void Restore::choose(Lost &lost, std::size_t newer_than) {
    const FilterRecord &record = lost.filter->record;
    lost.snapshot.reset();
    lost.from = record.created;
    const std::string name = to_string(record.uuid);
    while (newer_than-- > 0) {
        const SnapshotRecord &listed = record.snapshots[newer_than];
        std::string reason;
        try {
            const UniqueFd folder = state_.open_subfolder(name);
            lost.snapshot = SnapshotFile::open(folder.get(), snapshot_name(listed.number), state_.path() + "/" + name,
                                               reason);
        } catch (const std::system_error &error) {
            reason = error.what();
        }
        if (lost.snapshot && is_usable(*lost.snapshot, record, listed, reason)) {
            lost.from = lost.snapshot->identity().s;
            return;
        }
        lost.snapshot.reset();
        lost.trouble += (lost.trouble.empty() ? "" : "; ") + reason;
        log::error("filter '" + record.name + "': a snapshot cannot be used, an older one or the journal alone must do: " +
                   reason);
    }
}

bool Restore::is_usable(const SnapshotFile &file, const FilterRecord &record, const SnapshotRecord &listed,
                        std::string &reason) const {
    const SnapshotIdentity &identity = file.identity();
    const std::string what = "'" + state_.path() + "/" + to_string(record.uuid) + "/" + snapshot_name(listed.number) + "' ";
    const auto states = states_of(registry_);
    if (identity.filter_uuid != record.uuid || identity.number != listed.number || identity.s != listed.s ||
        std::ranges::find(states, identity.state_uuid) == states.end())
        reason = what + "is another snapshot than the registry names";
    else if (identity.lineage != record.lineage)
        reason = what + "is of another lineage";
    else if (identity.bulk_acts < record.bulk_acts)
        reason = what + "lacks what was loaded or imported since";
    else if (identity.shape.layout != record.shape.layout || identity.shape.probes != record.shape.probes ||
             identity.shape.size != record.shape.size || identity.normalization != record.normalization ||
             identity.key_type != record.key_type)
        reason = what + "has another geometry than the filter";
    else
        return true;
    return false;
}

void Restore::fill(Filter &filter) {
    const auto found = lost_.find(&filter);
    if (found == lost_.end() || !filter.segment)
        return;
    Lost &lost = found->second;
    while (lost.snapshot) {
        std::string reason;
        if (lost.snapshot->read_into(filter.segment->words(), reason))
            return;
        log::error("filter '" + filter.record.name + "': " + reason);
        lost.trouble += (lost.trouble.empty() ? "" : "; ") + reason;
        std::fill_n(filter.segment->words(), filter.segment->bits_bytes() / 8, std::uint64_t{0});
        const std::uint64_t bad = lost.snapshot->identity().number;
        const auto &snapshots = filter.record.snapshots;
        const auto listed = std::ranges::find(snapshots, bad, &SnapshotRecord::number);
        choose(lost, static_cast<std::size_t>(listed - snapshots.begin()));
    }
}

void Restore::replay() {
    Lsn from = UINT64_MAX;
    std::map<std::uint64_t, Lost *> by_number;
    for (auto &[filter, lost] : lost_) {
        from = std::min(from, lost.from);
        if (filter->segment)
            by_number[filter->record.number] = &lost;
    }
    scan_->read(from, [&](const JournalFrameView &frame) {
        next_filter_number_ = std::max(next_filter_number_, frame.filter_number + 1);
        const auto found = by_number.find(frame.filter_number);
        if (found == by_number.end() || frame.end() <= found->second->from)
            return;
        Lost &lost = *found->second;
        lost.bits_added += lost.filter->segment->add_alone(frame.hashes); // its gate is 0 until this start opens it
        lost.replayed += frame.hashes.size();
    });
    for (auto &[filter, lost] : lost_)
        judge(lost);
    registry_.next_filter_number = std::max(registry_.next_filter_number, next_filter_number_);
    // What was adopted is whole, but could not be restored: not before it has a full snapshot. The registry forgets the file.
    const std::vector<JournalFileRecord> there = scan_->named();
    const std::vector<std::string> unused = scan_->unused();
    for (const JournalFileRecord &file : registry_.journal.files)
        if (std::ranges::find(there, file) == there.end() &&
            std::ranges::find(unused, std::to_string(file.number)) == unused.end())
            degrade("'" + folder_path_ + "/" + std::to_string(file.number) + "' is missing or cannot be read");
    registry_.journal.files = scan_->named();
    registry_.journal.next_number = std::max(registry_.journal.next_number, scan_->next_number());
}

// Unfinished copies, and those that the registry never named, or no longer.
void Restore::sweep(const FilterRecord &record) const {
    const std::string path = state_.path() + "/" + to_string(record.uuid);
    std::set<std::string> kept;
    for (const SnapshotRecord &snapshot : all_snapshots(record))
        kept.insert(snapshot_name(snapshot.number));
    for (const HashFileRecord &file : all_hash_files(record))
        kept.insert(hash_list_name(file.number));
    std::error_code missing;
    std::vector<std::string> gone;
    for (const auto &entry : std::filesystem::directory_iterator{path, missing}) {
        const std::string name = entry.path().filename().string();
        if (!kept.contains(name) && (name.ends_with(".snapshot") || name.ends_with(".snapshot.new") ||
                                     name.ends_with(".hashes") || name.ends_with(".hashes.new")))
            gone.push_back(name);
    }
    if (gone.empty())
        return;
    const UniqueFd folder = state_.open_subfolder(to_string(record.uuid));
    for (const std::string &name : gone)
        disk().unlink(folder.get(), name.c_str());
}

void Restore::judge(Lost &lost) {
    Filter &filter = *lost.filter;
    FilterRecord &record = filter.record;
    if (!filter.segment)
        return;
    std::string damage = scan_->damage(lost.from);
    if (damage.empty() && next_filter_number_ > registry_.next_filter_number)
        damage = "the journal has adds to a filter that the registry does not know: the registry is an older one";
    if (!damage.empty() || record.bulk_acts > (lost.snapshot ? lost.snapshot->identity().bulk_acts : 0))
        doubt(record, SHMBLOOM_DOUBT_DAMAGED,
              damage + (damage.empty() || lost.trouble.empty() ? "" : "; ") + lost.trouble);
    else if (record.durability == SHMBLOOM_DURABILITY_LOGGED && scan_->has_abandoned(lost.from))
        doubt(record, SHMBLOOM_DOUBT_LOSSY, "the disk failed to sync adds that were acknowledged before");
    if (lost.is_but_the_last_second && (record.doubt_bits() & SHMBLOOM_DOUBT_DAMAGED) == 0 &&
        !scan_->has_abandoned(lost.from))
        filter.complete_until = known_past(scan_->synced_until_ns() / 1'000'000'000);
    filter.bits_set = (lost.snapshot ? lost.snapshot->bits_set() : 0) + lost.bits_added;
    filter.hashes_since_snapshot = lost.replayed;
    if (lost.snapshot) {
        record.adds_acknowledged = std::max(record.adds_acknowledged, lost.snapshot->end().adds_acknowledged);
        record.adds_new = std::max(record.adds_new, lost.snapshot->end().adds_new);
    }
    log::info("filter '" + record.name + "' restored from " +
              (lost.snapshot ? "snapshot " + std::to_string(lost.snapshot->identity().number) + " and " : "") +
              std::to_string(lost.replayed) + " adds of the journal");
}

// No daemon appends to a file of another, so those without a frame are of no use to anybody.
void Restore::remove_unused_files() const {
    if (scan_->unused().empty())
        return;
    const UniqueFd folder = state_.open_subfolder("journal");
    for (const std::string &name : scan_->unused())
        disk().unlink(folder.get(), name.c_str());
}

Journal::Settings Restore::settings() const {
    Journal::Settings settings;
    settings.next = scan_->next();
    settings.after = scan_->chain_end();
    for (const auto &[record, first] : scan_->first_lsns()) {
        struct stat status {};
        ::fstatat(folder_.get(), std::to_string(record.number).c_str(), &status, 0);
        const auto last_used = std::min(static_cast<std::uint64_t>(status.st_mtime), unix_seconds());
        settings.found.push_back({record, first, last_used, static_cast<std::uint64_t>(status.st_size)});
    }
    return settings;
}

std::string Restore::report() const {
    const JournalScan::Counts &counts = scan_->counts();
    std::string text = "journal: " + std::to_string(counts.files) + " files, " + std::to_string(counts.frames) +
                       " frames read, " + std::to_string(counts.torn_bytes) + " bytes torn or damaged, next LSN " +
                       std::to_string(scan_->next()) + "; " + std::to_string(lost_.size()) + " filters restored in " +
                       std::to_string((boottime_ns() - begun_ns_) / 1'000'000) + " ms";
    for (const std::string &fault : scan_->faults())
        text += "; " + fault;
    return text;
}

} // namespace shmbloom
