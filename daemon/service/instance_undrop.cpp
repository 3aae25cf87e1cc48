// What was dropped comes back: the same filter by uuid and number, a new generation, the bits of its last good
// snapshot. Adds of meanwhile went nowhere, so it is lossy. In the order of a create: registry, segment's gate,
// control's gate.
#include <algorithm>

#include "disk/snapshot.h"
#include "service/call_once.h"
#include "service/instance.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/log.h"

namespace shmbloom {

// For `undrop`; the filter's memory is kept for so long.
void Instance::keep_bits(const FilterPtr &filter) {
    const Uuid uuid = filter->record.uuid;
    keeping_.insert(uuid);
    snapshotter_->take(filter, Snapshotter::Pace::slow, [this, uuid](const std::string &) {
        keeping_.erase(uuid);
        for (const auto &undrop_again : std::exchange(undrop_waits_, {}))
            undrop_again();
    });
}

Failure Instance::none_is_kept(const std::string &name) const {
    std::string names;
    for (const DroppedFilter &kept : registry_.dropped)
        if (!kept.record.snapshots.empty())
            names += (names.empty() ? "'" : ", '") + kept.record.name + "'";
    return {"NOTFOUND", "no dropped filter '" + name.substr(0, 64) + "' is kept" +
                            (names.empty() ? ", nor any other" : "; kept are " + names) +
                            ": a day long, from when its bits are on the disk"};
}

void Instance::undrop(const std::string &name, Done caller) {
    const Done done = once(std::move(caller));
    if (auto failure = check_new(name))
        return done(std::move(failure));
    auto &dropped = registry_.dropped;
    const auto newest =
        std::ranges::find(dropped.rbegin(), dropped.rend(), name, [](const auto &kept) { return kept.record.name; });
    if (newest != dropped.rend() && keeping_.contains(newest->record.uuid))
        return undrop_waits_.push_back([this, name, done] { undrop(name, done); });
    if (newest == dropped.rend() || newest->record.snapshots.empty())
        return done(none_is_kept(name));
    // Not to be forgotten, as too old, while this is under way: to the end, as if dropped now.
    std::rotate(std::next(newest).base(), newest.base(), dropped.end());
    dropped.back().since = unix_seconds();

    const auto filter = std::make_shared<Filter>();
    FilterRecord &record = filter->record = dropped.back().record;
    record.generation = record.making = 0;
    record.segment = {};
    record.live_since = 0;
    record.previous.reset();
    record.hash_list.complete = false; // the journal was not kept for it
    record.doubts.erase(SHMBLOOM_DOUBT_PARTIAL);
    record.doubts[SHMBLOOM_DOUBT_LOSSY] = {unix_seconds(), "it was dropped, and adds of meanwhile went nowhere"};
    if (record.is_journalled())
        journal_->prepare();
    begin_making(
        filter, [this, kept = record](Segment &segment) { return fill_from_snapshots(kept, segment); },
        [this, filter, done](std::optional<Failure> failure) {
            if (!failure && filter->record.is_journalled())
                snapshotter_->take(filter, Snapshotter::Pace::slow, [](const std::string &) {});
            if (!failure)
                log::info("filter '" + filter->record.name + "' is back from its drop, with the bits of a snapshot");
            done(std::move(failure));
        });
}

// On the helper thread. The newest of which every byte is right.
std::string Instance::fill_from_snapshots(const FilterRecord &record, Segment &segment) const {
    const std::string folder_name = to_string(record.uuid), folder_path = state_.path() + "/" + folder_name;
    std::string reasons;
    UniqueFd folder;
    try {
        folder = state_.open_subfolder(folder_name);
    } catch (const std::system_error &error) {
        return error.what();
    }
    for (auto listed = record.snapshots.rbegin(); listed != record.snapshots.rend(); ++listed) {
        std::string reason;
        const auto file = SnapshotFile::open(folder.get(), snapshot_name(listed->number), folder_path, reason);
        if (file && (file->identity().filter_uuid != record.uuid || file->identity().number != listed->number ||
                     !(file->identity().shape == record.shape)))
            reason = "'" + folder_path + "/" + snapshot_name(listed->number) + "' is another snapshot";
        else if (file && file->read_into(segment.words(), reason))
            return "";
        std::fill_n(segment.words(), segment.bits_bytes() / 8, std::uint64_t{0});
        log::error("filter '" + record.name + "': " + reason);
        reasons += (reasons.empty() ? "" : "; ") + reason;
    }
    return reasons;
}

} // namespace shmbloom
