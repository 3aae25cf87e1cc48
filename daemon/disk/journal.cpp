#include "disk/journal.h"

#include <algorithm>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "disk/journal_format.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

namespace format = journal_format;

constexpr std::size_t kGroupBytes = std::size_t{8} << 20; // so that those who wait for the first need not wait for all

// Runs it; what the disk said when it failed.
template <class Act>
std::optional<DiskError> try_disk(const Act &act) {
    try {
        act();
    } catch (const std::system_error &error) {
        return DiskError{error.code().value(), error.what()};
    }
    return std::nullopt;
}

} // namespace

Journal::Journal(Settings settings, Host host)
    : settings_{std::move(settings)}, host_{std::move(host)}, next_{settings_.next}, chain_end_{settings_.after},
      written_chain_end_{chain_end_}, durable_chain_end_{chain_end_}, written_{next_}, durable_{next_},
      said_durable_{next_}, next_file_bytes_{settings_.first_file_bytes} {
    for (const JournalFiles::File &file : settings_.found)
        files_.begin(file);
}

void Journal::make_file() {
    if (making_ || ready_ || folder_lost_)
        return;
    making_ = true;
    maker_.run([this, folder = folder_number_, number = settings_.next_number++, bytes = next_file_bytes_] {
        FilePtr file;
        const auto error = try_disk([&] {
            file = std::make_shared<JournalFile>(settings_.folder, settings_.folder_path, settings_.state_uuid, number,
                                                 bytes);
        });
        crash_point("journal.file_made");
        host_.post([this, folder, file, error] {
            if (folder != folder_number_)
                return made_elsewhere();
            if (error)
                return making_failed(*error);
            // The registry names a file before it takes a frame. A write that fails may still succeed later.
            host_.name_file(file->record(), [this, folder, file](const std::optional<DiskError> &unnamed) {
                if (folder != folder_number_)
                    return made_elsewhere();
                if (unnamed)
                    return making_failed(*unnamed);
                file_made(file);
            });
        });
    });
}

void Journal::file_made(const FilePtr &file) {
    crash_point("journal.file_named");
    making_ = false;
    next_file_bytes_ = std::min(2 * file->bytes(), settings_.file_bytes_max);
    if (!ready_) // else named late, after it was given up for another
        ready_ = file;
    if (!current_)
        failing_.reset();
    begin_group();
}

// In a folder that was lost meanwhile.
void Journal::made_elsewhere() {
    making_ = false;
    if (!current_)
        make_file();
}

// While the current file has room this harms nobody.
void Journal::making_failed(const DiskError &error) {
    making_ = false;
    make_failed_ = true;
    next_file_bytes_ = settings_.first_file_bytes; // of a full disk as little as will do
    const bool is_needed = !current_ || (!pending_.empty() && current_->room() < pending_.front().bytes());
    if (is_needed && !writing_)
        fail(error);
}

Lsn Journal::append(std::uint64_t filter_number, std::span<const std::uint64_t> hashes) {
    const bool joins = !pending_.empty() && pending_.back().type == format::kAdds &&
                       pending_.back().filter_number == filter_number &&
                       pending_.back().hashes.size() + hashes.size() <= format::kHashesMax;
    if (!joins)
        pending_.push_back({.type = format::kAdds,
                            .flags = std::exchange(flags_, std::uint8_t{0}),
                            .filter_number = filter_number,
                            .first = next_,
                            .after = chain_end_,
                            .durable = 0,
                            .time_ns = unix_ns(),
                            .hashes = {}});
    pending_.back().hashes.insert(pending_.back().hashes.end(), hashes.begin(), hashes.end());
    next_ += hashes.size();
    chain_end_ = next_;
    return next_;
}

void Journal::append_marker() {
    pending_.push_back({.type = format::kMarker,
                        .flags = std::exchange(flags_, std::uint8_t{0}),
                        .filter_number = 0,
                        .first = next_,
                        .after = chain_end_,
                        .durable = 0,
                        .time_ns = unix_ns(),
                        .hashes = {}});
    chain_end_ = next_;
}

void Journal::when_written(Lsn end, Done done) {
    if (end <= written_)
        return done(std::nullopt);
    wait_written_.push_back({end, std::move(done)});
    begin_group();
}

void Journal::when_synced(Lsn end, Done done) {
    if (end <= durable_)
        return done(std::nullopt);
    // The frames may be under way without a sync.
    if (pending_.empty())
        append_marker();
    wait_synced_.push_back({end, std::move(done)});
    begin_group();
}

void Journal::sync_all(Done done) {
    if (failing_)
        return done(failing_);
    when_synced(next_, std::move(done));
}

void Journal::begin_group() {
    if (writing_ || pending_.empty())
        return;
    if ((!current_ || current_->room() < pending_.front().bytes()) && !move_to_next_file())
        return;
    if (!make_failed_ && current_->room() < current_->bytes() / 2)
        make_file();
    write_group(take_group());
}

// The file before is synced to its end before the new one takes a frame.
bool Journal::move_to_next_file() {
    if (!ready_) {
        make_file();
        return false;
    }
    if (current_ && durable_ < written_)
        retired_ = current_;
    current_ = std::exchange(ready_, nullptr);
    files_.begin({current_->record(), pending_.front().first, unix_seconds(), current_->bytes()});
    return true;
}

std::vector<JournalFrame> Journal::take_group() {
    std::vector<JournalFrame> frames;
    std::size_t bytes = 0;
    const std::size_t most = std::min<std::size_t>(current_->room(), kGroupBytes);
    while (!pending_.empty() && bytes + pending_.front().bytes() <= most) {
        bytes += pending_.front().bytes();
        frames.push_back(std::move(pending_.front()));
        frames.back().durable = durable_;
        pending_.pop_front();
    }
    return frames;
}

void Journal::write_group(std::vector<JournalFrame> frames) {
    writing_ = true;
    const bool sync = std::exchange(sync_due_, false) || !wait_synced_.empty();
    const Lsn end = frames.back().end();
    // A turn of the loop less where nobody waits for it.
    const bool tell_written = !wait_written_.empty();
    disk_.run([this, file = current_, retired = retired_, frames = std::move(frames), sync, tell_written, end,
               said = durable_] {
        Outcome outcome;
        if (retired)
            outcome.sync_error = try_disk([&] { retired->sync(); });
        if (!outcome.sync_error)
            outcome.write_error = try_disk([&] { file->write(frames); });
        crash_point("journal.written");
        if (sync && !outcome.write_error && !outcome.sync_error) {
            if (tell_written)
                host_.post([this, end] {
                    if (!folder_lost_)
                        tell(wait_written_, written_ = end);
                });
            outcome.sync_error = try_disk([&] { file->sync(); });
            outcome.synced = !outcome.sync_error;
            crash_point("journal.synced");
        }
        host_.post([this, end, said, outcome] { group_ended(end, said, outcome); });
    });
}

void Journal::group_ended(Lsn end, Lsn said_durable, const Outcome &outcome) {
    writing_ = false;
    if (folder_lost_)
        return start_over(DiskError{*failing_});
    if (outcome.sync_error)
        return start_over(*outcome.sync_error);
    if (outcome.write_error)
        return fail(*outcome.write_error);
    failing_.reset();
    retired_.reset();
    written_ = written_chain_end_ = end;
    files_.use(unix_seconds());
    said_durable_ = said_durable;
    if (outcome.synced) {
        durable_ = durable_chain_end_ = end;
        host_.durable(durable_);
    }
    tell(wait_written_, written_);
    tell(wait_synced_, durable_);
    begin_group();
}

// The kernel may have thrown away what it could not write, and says so once. Nothing of before is trusted: another file, and
// the bits in memory go into new snapshots.
void Journal::start_over(const DiskError &error) {
    current_.reset();
    retired_.reset();
    host_.sync_failed(error.text);
    written_chain_end_ = durable_chain_end_;
    flags_ = format::kSyncFailedBefore;
    fail(error);
    if (folder_lost_)
        return;
    failing_.reset(); // what comes now goes into another file
    make_file();
}

void Journal::replace_folder(const std::string &why, std::function<UniqueFd()> open) {
    if (!folder_lost_) {
        folder_lost_ = true;
        folder_number_++;
        ready_.reset();
        files_.forget_all();
        const DiskError error{EIO, why};
        if (writing_)
            fail(error); // and the rest when the group has ended
        else
            start_over(error);
    }
    if (writing_ || std::exchange(replacing_folder_, true))
        return;
    maker_.run([this, open = std::move(open)] {
        const auto error = try_disk([&] {
            const UniqueFd another = open();
            if (::dup3(another.get(), settings_.folder, O_CLOEXEC) < 0)
                throw_errno("open", settings_.folder_path);
        });
        crash_point("journal.folder_made");
        host_.post([this, error] { folder_replaced(error); });
    });
}

void Journal::folder_replaced(const std::optional<DiskError> &error) {
    replacing_folder_ = false;
    if (error) {
        failing_ = error;
        return;
    }
    folder_lost_ = false;
    failing_.reset();
    make_file();
}

// Nothing that waits is acknowledged. Its LSNs are never used again: the next frame says that they were abandoned.
void Journal::fail(const DiskError &error) {
    failing_ = error;
    pending_.clear();
    chain_end_ = written_chain_end_;
    for (auto *const waiters : {&wait_written_, &wait_synced_})
        for (const Waiter &waiter : std::exchange(*waiters, {}))
            waiter.done(error);
}

void Journal::tell(std::deque<Waiter> &waiters, Lsn end) {
    while (!waiters.empty() && waiters.front().end <= end) {
        const Done done = std::move(waiters.front().done);
        waiters.pop_front();
        done(std::nullopt);
    }
}

void Journal::tick() {
    make_failed_ = false;
    if (failing_ && !current_ && !ready_)
        return make_file();
    const bool is_said = durable_ == next_ && said_durable_ == next_;
    if ((!is_said || failing_) && pending_.empty() && (current_ || ready_)) {
        append_marker();
        sync_due_ = true;
    }
    begin_group();
}

} // namespace shmbloom
