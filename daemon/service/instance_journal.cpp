// The journal's and the snapshots' place in an instance: when snapshots are taken, what is trimmed, and what follows when
// the disk fails.
#include <algorithm>

#include "service/call_once.h"
#include "service/disk_failure.h"
#include "service/instance.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

// Replaying so many takes about a second; see docs/durability.md.
constexpr std::uint64_t kReplayedInFiveSeconds = 100'000'000;
constexpr std::uint64_t kJournalShareBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kDay_s = 86400;
constexpr std::uint64_t kWitness_s = 60; // between two words of the registry on how far the journal was synced

} // namespace

std::unique_ptr<Journal> Instance::make_journal(Journal::Settings settings) {
    settings.folder = journal_folder_.get();
    settings.folder_path = state_.path() + "/journal";
    settings.state_uuid = registry_.state_uuid;
    settings.next_number = registry_.journal.next_number;
    return std::make_unique<Journal>(
        std::move(settings),
        Journal::Host{.post = post_,
                      .name_file =
                          [this](const JournalFileRecord &file, const Journal::Done &named) {
                              registry_.journal.files.push_back(file);
                              registry_.journal.next_number = file.number + 1;
                              writer_.commit({.durable = [named] { named(std::nullopt); },
                                              .failed = [named](const std::string &error) {
                                                  named(DiskError{EIO, "the registry cannot be written: " + error});
                                              }});
                          },
                      .durable = [this](Lsn durable) { control_->set_durable_lsn(durable); },
                      .sync_failed = [this](const std::string &why) { sync_failed(why); }});
}

std::unique_ptr<Snapshotter> Instance::make_snapshotter() {
    return std::make_unique<Snapshotter>(
        Snapshotter::Host{.post = post_,
                          .state = state_,
                          .registry = registry_,
                          .writer = writer_,
                          .journal = *journal_,
                          .naming =
                              [this](const Filter &filter) {
                                  for (DroppedFilter &dropped : registry_.dropped)
                                      if (dropped.record.uuid == filter.record.uuid)
                                          dropped.record.snapshots = filter.record.snapshots;
                              },
                          .taken = [this] { snapshot_taken(); }});
}

// Nobody knows what the disk holds of the journal. The bits in memory are right, so they go into new snapshots; until all
// are there, a machine that stops now would lose what was only logged, and whoever has no full snapshot.
void Instance::sync_failed(const std::string &why) {
    log::error("what the disk holds of the journal is not known any more (" + why +
               "): adds that waited were not acknowledged; a new file and full snapshots of every filter follow, and until "
               "they are there a filter that is restored is in doubt");
    trusted_from_ = journal_->next();
    if (registry_.degraded.since == 0)
        registry_.degraded = {unix_seconds(), why};
    writer_.commit({.durable = [] {}, .failed = nullptr});
}

void Instance::snapshot_taken() {
    const auto is_whole = [this](const auto &entry) {
        const FilterRecord &record = entry.second->record;
        return !record.is_journalled() || (!record.snapshots.empty() && record.snapshots.back().s >= trusted_from_);
    };
    if (registry_.degraded.since == 0 || !std::ranges::all_of(filters_, is_whole))
        return;
    log::info("every filter has a full snapshot again, the disk follows");
    registry_.degraded = {};
    writer_.commit({.durable = [] {}, .failed = nullptr});
}

void Instance::look_after_journal() {
    if (!journal_folder_stands())
        return;
    if (std::ranges::any_of(filters_, [](const auto &entry) {
            return entry.second->is_published() && entry.second->record.is_journalled();
        }))
        journal_->prepare();
    journal_->tick();
    for (const auto &[name, filter] : filters_)
        if (filter->is_published()) {
            if (filter->segment && !snapshotter_->is_waiting(*filter) && wants_snapshot(*filter))
                snapshotter_->take(filter, Snapshotter::Pace::slow, [](const std::string &) {});
            look_after_hash_list(filter);
            forget_previous(filter);
        }
    if (const std::uint64_t now = unix_seconds(); now >= next_witness_) {
        next_witness_ = now + kWitness_s;
        if (journal_->proven() > registry_.journal.end)
            writer_.commit({.durable = [] {}, .failed = nullptr});
    }
    snapshot_taken(); // also when the last filter that lacked one was dropped
    trim_journal();
    forget_dropped();
}

bool Instance::wants_snapshot(const Filter &filter) const {
    const FilterRecord &record = filter.record;
    if (!record.is_journalled() || filter.changing || unix_seconds() < filter.no_snapshot_before)
        return false;
    if (registry_.degraded.since != 0 && (record.snapshots.empty() || record.snapshots.back().s < trusted_from_))
        return true;
    const std::uint64_t share = 8 * filter.hashes_since_snapshot;
    if (share > std::max(filter.segment->bits_bytes() / 2, kJournalShareBytes) ||
        filter.hashes_since_snapshot > kReplayedInFiveSeconds)
        return true;
    if (filter.hashes_since_snapshot == 0 || record.snapshots.empty())
        return false;
    const std::uint64_t begun = record.snapshots.back().begun, now = unix_seconds();
    return begun > now || begun + kDay_s <= now; // of the future: the clock was set back
}

// The names go first, with the snapshots that make the files needless, and the files after: a name without its file would
// be damage, a file without a name is none as long as nobody needs it.
void Instance::trim_journal() {
    if (trimming_)
        return;
    Lsn needed = journal_->next();
    for (const auto &[name, filter] : filters_)
        if (const FilterRecord &record = filter->record; record.is_journalled()) {
            needed = std::min(needed, needed_without_previous(record));
            if (record.previous)
                needed = std::min(needed, needed_by_previous(*record.previous));
            if (filter->build && filter->build->replay_from != 0)
                needed = std::min(needed, filter->build->replay_from);
        }
    const auto files = journal_->files().removable(needed, unix_seconds(), options_.journal_retention);
    if (files.empty())
        return;
    trimming_ = true;
    for (const JournalFileRecord &file : files)
        std::erase(registry_.journal.files, file);
    for (const JournalFiles::File &file : journal_->files().all())
        if (std::ranges::find(files, file.record) != files.end())
            registry_.journal.trimmed_until = std::max(registry_.journal.trimmed_until, file.last_used);
    const auto remove = [this, files] {
        for (const JournalFileRecord &file : files) {
            disk().unlink(journal_folder_.get(), std::to_string(file.number).c_str());
            crash_point("journal.file_removed");
        }
        post_([this, files] {
            trimming_ = false;
            for (const JournalFileRecord &file : files)
                journal_->forget_file(file.number);
        });
    };
    writer_.commit({.durable = [this, remove] { memory_.run(remove); }, .failed = nullptr});
}

void Instance::snapshot(std::string_view name, Done caller) {
    const Done done = once(std::move(caller));
    const auto names = matching(name);
    if (names.empty() && name != "*")
        return done(not_found(name));
    const auto left = std::make_shared<std::size_t>(names.size());
    if (*left == 0)
        return done(std::nullopt);
    for (const std::string &each : names)
        snapshotter_->take(filters_.find(each)->second, Snapshotter::Pace::slow,
                           [done, left, each](const std::string &error) {
                               if (!error.empty())
                                   return done(not_kept("no snapshot of filter '" + each + "'", error));
                               if (--*left == 0)
                                   done(std::nullopt);
                           });
}

// First the journal and the mark, so that a machine that stops in the middle of the copying has lost nothing.
void Instance::stop(std::function<void(const std::string &)> done) {
    for (const auto &[name, filter] : filters_) {
        if (filter->build && !filter->changing)
            end_build(filter, filter->build);
        if (filter->is_published())
            filter->show_status(*control_, registry_);
    }
    control_->set_daemon_pid(0); // nobody is here, whatever the age of the last heartbeat
    journal_->sync_all([this, done = once(std::move(done))](const std::optional<DiskError> &error) {
        if (error)
            return done(error->text);
        mark_clean(done);
    });
}

void Instance::mark_clean(std::function<void(const std::string &)> done) {
    registry_.clean_stop = registry_.degraded.since == 0;
    writer_.commit({.durable =
                        [this, done] {
                            crash_point("stop.clean");
                            for (const auto &[name, filter] : filters_)
                                if (filter->is_published() && filter->segment && filter->record.is_journalled() &&
                                    filter->hashes_since_snapshot > 0)
                                    snapshotter_->take(filter, Snapshotter::Pace::full, [](const std::string &) {});
                            snapshotter_->when_idle([done] { done(""); });
                        },
                    .failed = done});
}

} // namespace shmbloom
