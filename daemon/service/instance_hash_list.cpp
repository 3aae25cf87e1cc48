// The hash lists of growable filters: what loads and rebuilds bring goes into files at once, adds when the journal is to be
// trimmed, and too many files become one without duplicates.
#include <algorithm>

#include "service/instance.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

constexpr std::uint64_t kKeptInJournal = (std::uint64_t{32} << 20) / 8; // LSNs of the instance
constexpr std::size_t kFilesMax = 8;
constexpr std::uint64_t kDuplicatesAllowed = 1'000'000;
constexpr std::uint64_t kPause_s = 10; // after something went wrong
constexpr unsigned kUnreadableMax = 3; // in a row; a read error may pass

std::uint64_t hashes_in(const std::vector<HashFileRecord> &files) {
    std::uint64_t sum = 0;
    for (const HashFileRecord &file : files)
        sum += file.hashes;
    return sum;
}

// What a helper thread made of a hash list, or why not.
struct NewFile {
    std::vector<HashFileRecord> files; // one, or none
    std::string unreadable;            // what it was to be made from
    std::string unwritten;
};

template <typename Act>
std::string failure_of(const Act &act) {
    try {
        act();
        return "";
    } catch (const std::system_error &failure) {
        return failure.what();
    }
}

} // namespace

std::shared_ptr<NewHashList> Instance::new_hash_list(const FilterRecord &record) {
    return std::make_shared<NewHashList>(lister_, post_, state_, record.uuid, registry_.next_snapshot_number++);
}

// Once a second.
void Instance::look_after_hash_list(const FilterPtr &filter) {
    const HashListRecord &list = filter->record.hash_list;
    if (!filter->record.growable || !list.complete || filter->listing || filter->build || filter->changing ||
        filter->has_bulk() || journal_->failing() || registry_.degraded.since != 0 ||
        boottime_ns() / 1'000'000'000 < filter->no_listing_before)
        return;
    if (filter->listed_at == 0) // a start is no reason
        filter->listed_at = boottime_ns() / 1'000'000'000;
    const bool is_due = journal_->durable() > list.through + kKeptInJournal ||
                        (journal_->durable() > list.through &&
                         filter->listed_at + options_.journal_retention.seconds < boottime_ns() / 1'000'000'000);
    if (is_due)
        take_from_journal(filter);
    else if (list.files.size() > kFilesMax ||
             hashes_in(list.files) > 2 * filter->estimated_keys() + kDuplicatesAllowed)
        compact(filter);
}

// So that the journal need not be kept for it.
void Instance::take_from_journal(const FilterPtr &filter) {
    const FilterRecord &record = filter->record;
    filter->listing = true;
    filter->listed_at = boottime_ns() / 1'000'000'000;
    const Lsn from = record.hash_list.through, to = journal_->durable();
    lister_.run([this, filter, from, to, place = journal_place(), uuid = record.uuid, filter_number = record.number,
                 is_logged = record.durability == SHMBLOOM_DURABILITY_LOGGED, lineage = record.lineage,
                 number = registry_.next_snapshot_number++] {
        NewFile made;
        try {
            const std::string folder = to_string(uuid);
            HashListWriter writer{state_.open_subfolder(folder), state_.path() + "/" + folder, uuid, number};
            std::uint64_t hashes = 0;
            const auto write = [&](std::span<const std::uint64_t> some) {
                hashes += some.size();
                if (made.unwritten.empty())
                    made.unwritten = failure_of([&] { writer.write(some); });
            };
            made.unreadable = replay_adds(place, filter_number, from, to, is_logged, write);
            if (made.unreadable.empty() && made.unwritten.empty() && hashes != 0)
                made.files = {writer.finish()};
        } catch (const std::system_error &failure) {
            made.unwritten = failure.what();
        }
        crash_point("hash_list.taken");
        post_([this, filter, lineage, made, to] {
            filter->listing = false;
            if (!is_list_of(filter, lineage))
                return forget_hash_files(filter->record, made.files);
            if (is_list_in_trouble(filter, made.unreadable, made.unwritten))
                return;
            HashListRecord &list = filter->record.hash_list;
            list.files.insert(list.files.end(), made.files.begin(), made.files.end());
            list.through = to;
            writer_.commit({.durable = [] { crash_point("hash_list.named"); }, .failed = nullptr});
        });
    });
}

// Whether what was written for it belongs to it still. Not if it was dropped, or has another content by now or soon: keys
// that are deleted there would come back when it grows.
bool Instance::is_list_of(const FilterPtr &filter, std::uint64_t lineage) const {
    return filter->is_published() && !filter->build && filter->record.lineage == lineage;
}

// Says so, once each. What cannot be read again and again is lost: the list is incomplete, and neither the journal nor
// anything else is kept for it any more.
bool Instance::is_list_in_trouble(const FilterPtr &filter, const std::string &unreadable,
                                  const std::string &unwritten) {
    if (unreadable.empty() && unwritten.empty()) {
        filter->list_trouble.clear();
        filter->list_unreadable = 0;
        return false;
    }
    const std::string name = "the hash list of filter '" + filter->record.name + "'";
    filter->no_listing_before = boottime_ns() / 1'000'000'000 + kPause_s;
    if (unwritten.empty() && ++filter->list_unreadable >= kUnreadableMax) {
        log::error(name + " is incomplete: " + unreadable + "; the filter cannot grow until 'shmbloomctl rebuild " +
                   filter->record.name + "' from its source makes the list whole");
        filter->record.hash_list.complete = false;
        writer_.commit({.durable = [] {}, .failed = nullptr});
        return true;
    }
    // Whatever file it is this time.
    const std::string trouble = unwritten.empty() ? "cannot be read" : "cannot be written";
    if (std::exchange(filter->list_trouble, trouble) != trouble)
        log::error(name + " " + trouble + ": " + (unwritten.empty() ? unreadable : unwritten) +
                   "; this is tried again, and nothing is lost until then");
    return true;
}

void Instance::compact(const FilterPtr &filter) {
    filter->listing = true;
    const FilterRecord &record = filter->record;
    lister_.run([this, filter, uuid = record.uuid, lineage = record.lineage, files = record.hash_list.files,
                 number = registry_.next_snapshot_number++] {
        NewFile made;
        try {
            const std::string folder_name = to_string(uuid), path = state_.path() + "/" + folder_name;
            const UniqueFd folder = state_.open_subfolder(folder_name);
            HashListWriter writer{state_.open_subfolder(folder_name), path, uuid, number};
            made.unreadable = compact_hash_lists(folder.get(), path, uuid, files, writer);
            if (made.unreadable.empty())
                made.files = {writer.finish()};
        } catch (const std::system_error &failure) {
            made.unwritten = failure.what();
        }
        crash_point("hash_list.compacted");
        post_([this, filter, lineage, files, made] {
            filter->listing = false;
            if (!is_list_of(filter, lineage))
                return forget_hash_files(filter->record, made.files);
            if (!is_list_in_trouble(filter, made.unreadable, made.unwritten))
                compacted(filter, files, made.files.front());
        });
    });
}

void Instance::compacted(const FilterPtr &filter, const std::vector<HashFileRecord> &replaced,
                         const HashFileRecord &file) {
    std::vector<HashFileRecord> &files = filter->record.hash_list.files;
    std::erase_if(files, [&](const HashFileRecord &old) { return std::ranges::find(replaced, old) != replaced.end(); });
    files.insert(files.begin(), file);
    writer_.commit({.durable = [this, filter, replaced] { forget_hash_files(filter->record, replaced); },
                    .failed = nullptr});
}

void Instance::forget_hash_files(const FilterRecord &record, const std::vector<HashFileRecord> &files) {
    if (files.empty())
        return;
    lister_.run([this, files, folder_name = to_string(record.uuid)] {
        try {
            const UniqueFd folder = state_.open_subfolder(folder_name);
            for (const HashFileRecord &file : files)
                disk().unlink(folder.get(), hash_list_name(file.number).c_str());
        } catch (const std::system_error &error) {
            log::warning("files of a hash list are left behind: " + std::string{error.what()});
        }
    });
}

} // namespace shmbloom
