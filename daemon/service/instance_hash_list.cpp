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

std::uint64_t hashes_in(const std::vector<HashFileRecord> &files) {
    std::uint64_t sum = 0;
    for (const HashFileRecord &file : files)
        sum += file.hashes;
    return sum;
}

} // namespace

std::shared_ptr<NewHashList> Instance::new_hash_list(const FilterRecord &record) {
    return std::make_shared<NewHashList>(lister_, post_, state_, record.uuid, registry_.next_snapshot_number++);
}

// Once a second.
void Instance::look_after_hash_list(const FilterPtr &filter) {
    const HashListRecord &list = filter->record.hash_list;
    if (!filter->record.growable || !list.complete || filter->listing || filter->build || filter->changing ||
        filter->has_bulk() || journal_->failing() || registry_.degraded.since != 0)
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
                 lineage = record.lineage, number = registry_.next_snapshot_number++] {
        std::string trouble;
        HashFileRecord file;
        try {
            const std::string folder = to_string(uuid);
            HashListWriter writer{state_.open_subfolder(folder), state_.path() + "/" + folder, uuid, number};
            trouble = replay_adds(place, filter_number, from, to, [&](std::span<const std::uint64_t> hashes) {
                writer.write(hashes);
                file.hashes += hashes.size();
            });
            if (trouble.empty() && file.hashes != 0)
                file = writer.finish();
        } catch (const std::system_error &failure) {
            trouble = failure.what();
        }
        crash_point("hash_list.taken");
        post_([this, filter, lineage, file, trouble, to] {
            filter->listing = false;
            if (is_list_of(filter, lineage))
                return taken_from_journal(filter, file, trouble, to);
            if (trouble.empty())
                forget_hash_files(filter->record, {file});
        });
    });
}

// Whether what was written for it belongs to it still. Not if it was dropped, or has another content by now or soon: keys
// that are deleted there would come back when it grows.
bool Instance::is_list_of(const FilterPtr &filter, std::uint64_t lineage) const {
    return filter->is_published() && !filter->build && filter->record.lineage == lineage;
}

void Instance::taken_from_journal(const FilterPtr &filter, const HashFileRecord &file, const std::string &trouble, Lsn to) {
    HashListRecord &list = filter->record.hash_list;
    if (!trouble.empty())
        return log::error("adds of filter '" + filter->record.name +
                          "' cannot be taken into its hash list, the journal is kept for it: " + trouble);
    if (file.hashes != 0)
        list.files.push_back(file);
    list.through = to;
    writer_.commit({.durable = [] { crash_point("hash_list.named"); }, .failed = nullptr});
}

void Instance::compact(const FilterPtr &filter) {
    filter->listing = true;
    const FilterRecord &record = filter->record;
    lister_.run([this, filter, uuid = record.uuid, lineage = record.lineage, files = record.hash_list.files,
                 number = registry_.next_snapshot_number++] {
        std::string trouble;
        HashFileRecord file;
        try {
            const std::string folder_name = to_string(uuid), path = state_.path() + "/" + folder_name;
            const UniqueFd folder = state_.open_subfolder(folder_name);
            HashListWriter writer{state_.open_subfolder(folder_name), path, uuid, number};
            trouble = compact_hash_lists(folder.get(), path, uuid, files, writer);
            if (trouble.empty())
                file = writer.finish();
        } catch (const std::system_error &failure) {
            trouble = failure.what();
        }
        crash_point("hash_list.compacted");
        post_([this, filter, lineage, files, file, trouble] {
            filter->listing = false;
            if (is_list_of(filter, lineage))
                return compacted(filter, files, file, trouble);
            if (trouble.empty())
                forget_hash_files(filter->record, {file});
        });
    });
}

void Instance::compacted(const FilterPtr &filter, const std::vector<HashFileRecord> &replaced, const HashFileRecord &file,
                         const std::string &trouble) {
    HashListRecord &list = filter->record.hash_list;
    if (!trouble.empty()) {
        log::error("the hash list of filter '" + filter->record.name + "' is damaged, it cannot grow until it is rebuilt: " +
                   trouble);
        list.complete = false;
        return writer_.commit({.durable = [] {}, .failed = nullptr});
    }
    std::erase_if(list.files, [&](const HashFileRecord &old) { return std::ranges::find(replaced, old) != replaced.end(); });
    list.files.insert(list.files.begin(), file);
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
