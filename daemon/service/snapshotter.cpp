#include "service/snapshotter.h"

#include <algorithm>
#include <cstring>

#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

constexpr std::size_t kKept = 2; // of a filter: a bad one yields to the older
constexpr std::uint64_t kPauseAfterFailure_s = 5; // no use in filling the log

} // namespace

struct Snapshotter::Job {
    FilterPtr filter;
    Pace pace;
    Done done;
    std::shared_ptr<const Build> build; // null: of the filter as it is
    BuildDone build_done;
    SnapshotRecord record;
    std::atomic<bool> cancelled = false;
    std::shared_ptr<Segment> segment;
    SnapshotIdentity identity;
    SnapshotEnd end;
    std::uint64_t hashes_before = 0; // of the journal, that this snapshot makes needless
    UniqueFd folder;                 // before the writer, which uses it
    std::unique_ptr<SnapshotWriter> writer;
    std::vector<SnapshotRecord> replaced;
};

Snapshotter::~Snapshotter() {
    if (running_)
        running_->cancelled = true;
}

void Snapshotter::take(const FilterPtr &filter, Pace pace, Done done) {
    const auto job = std::make_shared<Job>();
    job->filter = filter;
    job->pace = pace;
    job->done = std::move(done);
    waiting_.push_back(job);
    if (!running_)
        begin_next();
}

void Snapshotter::take_build(const FilterPtr &filter, const std::shared_ptr<const Build> &build, BuildDone done) {
    const auto job = std::make_shared<Job>();
    job->filter = filter;
    job->pace = Pace::full;
    job->build = build;
    job->build_done = std::move(done);
    waiting_.push_back(job);
    if (!running_)
        begin_next();
}

void Snapshotter::when_idle(std::function<void()> idle) {
    if (!running_ && waiting_.empty())
        return idle();
    idle_.push_back(std::move(idle));
}

bool Snapshotter::is_waiting(const Filter &filter) const {
    const auto is_its = [&](const JobPtr &job) { return job->filter.get() == &filter && !job->build; };
    return (running_ && is_its(running_)) || std::ranges::any_of(waiting_, is_its);
}

template <class Is> void Snapshotter::cancel_if(Is is) {
    if (running_ && is(*running_))
        running_->cancelled = true;
    for (const JobPtr &job : waiting_)
        if (is(*job))
            job->cancelled = true;
}

void Snapshotter::cancel(const Filter &filter) {
    cancel_if([&](const Job &job) { return job.filter.get() == &filter; });
}

void Snapshotter::cancel_build(const std::shared_ptr<const Build> &build) {
    cancel_if([&](const Job &job) { return job.build == build; });
}

SnapshotIdentity Snapshotter::identity_of(const Job &job) {
    const FilterRecord &record = job.filter->record;
    SnapshotIdentity identity{.state_uuid = host_.registry.state_uuid,
                              .filter_uuid = record.uuid,
                              .filter_number = record.number,
                              .number = host_.registry.next_snapshot_number++,
                              .generation = record.generation,
                              .lineage = record.lineage,
                              .s = host_.journal.next(),
                              .begun = unix_seconds(),
                              .source_begun = record.source_begun,
                              .bulk_acts = record.bulk_acts,
                              .hash_list_complete = record.hash_list.complete,
                              .hash_domain = job.filter->identity(host_.registry, record.generation).hash_domain(),
                              .normalization = record.normalization,
                              .key_type = record.key_type,
                              .capacity = record.capacity,
                              .fpr = record.fpr,
                              .shape = record.shape};
    if (job.build) {
        const Build &build = *job.build;
        identity.generation = build.generation;
        identity.lineage = build.lineage;
        identity.source_begun = build.source_begun;
        identity.bulk_acts = record.bulk_acts + 1;
        identity.hash_list_complete = build.hash_list.complete;
        identity.capacity = build.capacity;
        identity.fpr = build.fpr;
        identity.shape = build.shape;
    }
    return identity;
}

// Between two batches: every add below S = next has its bits set, since the loop appends and sets in one go.
void Snapshotter::begin_next() {
    if (waiting_.empty()) {
        for (const auto &idle : std::exchange(idle_, {}))
            idle();
        return;
    }
    const JobPtr job = running_ = waiting_.front();
    waiting_.pop_front();
    Filter &filter = *job->filter;
    const FilterRecord &record = filter.record;
    job->segment = job->build ? job->build->segment : filter.recorded_segment();
    if (job->cancelled || !job->segment)
        return host_.post([this, job] { ended(job, "the filter has no memory, or is gone"); });
    job->identity = identity_of(*job);
    job->end.adds_acknowledged = record.adds_acknowledged;
    job->end.adds_new = record.adds_new;
    job->hashes_before = filter.hashes_since_snapshot;
    copier_.run([this, job] {
        std::string error;
        try {
            const std::string folder = to_string(job->identity.filter_uuid);
            job->folder = host_.state.open_subfolder(folder);
            job->writer = std::make_unique<SnapshotWriter>(job->folder.get(), host_.state.path() + "/" + folder,
                                                           job->identity);
            if (!job->writer->copy(job->segment->words(), job->pace == Pace::slow ? kBytesPerSecond : 0,
                                   job->cancelled))
                error = "cancelled";
        } catch (const std::system_error &failure) {
            error = failure.what();
        }
        host_.post([this, job, error] { copied(job, error); });
    });
}

// Whatever is in the copy is in the journal, and that is on the disk before the snapshot has a name: else LSNs could be
// given out a second time, below S, where no replay would look for them.
void Snapshotter::copied(const JobPtr &job, const std::string &error) {
    if (!error.empty() || job->cancelled)
        return ended(job, error.empty() ? "cancelled" : error);
    const Lsn end = host_.journal.next();
    host_.journal.sync_all([this, job, end](const std::optional<DiskError> &failed) {
        if (failed)
            return ended(job, failed->text);
        write_end(job, end);
    });
}

void Snapshotter::write_end(const JobPtr &job, Lsn end) {
    job->end.end = end;
    copier_.run([this, job] {
        std::string error;
        try {
            job->writer->finish(job->end);
        } catch (const std::system_error &failure) {
            error = failure.what();
        }
        host_.post([this, job, error] { name(job, error); });
    });
}

void Snapshotter::name(const JobPtr &job, const std::string &error) {
    if (!error.empty() || job->cancelled)
        return ended(job, error.empty() ? "cancelled" : error);
    Filter &filter = *job->filter;
    const SnapshotIdentity &identity = job->identity;
    job->record = {.number = identity.number,
                   .s = identity.s,
                   .end = job->end.end,
                   .begun = identity.begun,
                   .lineage = identity.lineage,
                   .bulk_acts = identity.bulk_acts,
                   .bytes = job->writer->file_bytes()};
    if (job->build)
        return ended(job, "");
    std::vector<SnapshotRecord> &kept = filter.record.snapshots;
    kept.push_back(job->record);
    while (kept.size() > kKept) {
        job->replaced.push_back(kept.front());
        kept.erase(kept.begin());
    }
    host_.naming(filter);
    filter.hashes_since_snapshot -= std::min(filter.hashes_since_snapshot, job->hashes_before);
    host_.writer.commit({.durable =
                             [this, job] {
                                 crash_point("snapshot.named");
                                 remove_older(job);
                                 ended(job, "");
                                 host_.taken();
                             },
                         .failed = [this, job](const std::string &failure) { ended(job, failure); }});
}

void Snapshotter::remove_older(const JobPtr &job) {
    if (!job->replaced.empty())
        copier_.run([job] {
            for (const SnapshotRecord &record : job->replaced)
                disk().unlink(job->folder.get(), snapshot_name(record.number).c_str());
        });
}

void Snapshotter::ended(const JobPtr &job, const std::string &error) {
    if (running_ != job)
        return; // the registry was written late, and it had been given up
    running_ = nullptr;
    job->segment.reset();
    if (!error.empty() && !job->cancelled) {
        job->filter->no_snapshot_before = unix_seconds() + kPauseAfterFailure_s;
        log::error("no snapshot of filter '" + job->filter->record.name + "': " + error +
                   "; the journal is kept for it meanwhile");
    }
    copier_.run([job] { job->writer.reset(); }); // removes what is unfinished
    if (job->cancelled && !job->build &&
        job->filter->is_published()) // of the generation before a switch: of this one, then
        return take(job->filter, job->pace, std::exchange(job->done, nullptr));
    if (job->build)
        std::exchange(job->build_done, nullptr)(error, job->record);
    else
        std::exchange(job->done, nullptr)(error);
    if (!running_)
        begin_next();
}

} // namespace shmbloom
