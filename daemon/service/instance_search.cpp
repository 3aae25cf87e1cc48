// Whether the journal holds a hash: read on the helper thread, newest file first.
#include <algorithm>

#include "disk/journal_format.h"
#include "disk/journal_reader.h"
#include "service/instance.h"

namespace shmbloom {
namespace {

// The last one in a file. Nothing when it is gone: trimmed meanwhile.
std::optional<Instance::JournalHit> search_file(int folder, const std::string &folder_path, std::uint64_t number,
                                                std::uint64_t filter_number, std::uint64_t hash) {
    std::string reason;
    const auto reader = JournalReader::open(folder, folder_path, number, reason);
    std::optional<Instance::JournalHit> hit;
    while (const auto frame = reader ? reader->next() : std::nullopt) {
        if (frame->type != journal_format::kAdds || frame->filter_number != filter_number)
            continue;
        const auto found = std::ranges::find(frame->hashes.rbegin(), frame->hashes.rend(), hash);
        if (found != frame->hashes.rend())
            hit = {.lsn = frame->end() - 1 - static_cast<Lsn>(found - frame->hashes.rbegin()),
                   .time_ns = frame->time_ns,
                   .file = number};
    }
    return hit;
}

} // namespace

void Instance::search_journal(std::string_view name, std::uint64_t hash_domain, std::uint64_t hash, SearchDone done) {
    const Filter *const filter = find(name);
    if (filter == nullptr)
        return done(not_found(name), std::nullopt);
    if (this->hash_domain(*filter) != hash_domain)
        return done(stale(name), std::nullopt);
    std::vector<std::uint64_t> numbers;
    for (const JournalFiles::File &file : journal_->files().all())
        numbers.push_back(file.record.number);
    memory_.run([this, numbers, number = filter->record.number, hash, done = std::move(done)] {
        std::optional<JournalHit> hit;
        for (auto file = numbers.rbegin(); !hit && file != numbers.rend(); ++file)
            hit = search_file(journal_folder_.get(), state_.path() + "/journal", *file, number, hash);
        post_([done, hit] { done(std::nullopt, hit); });
    });
}

} // namespace shmbloom
