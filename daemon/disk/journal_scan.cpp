#include "disk/journal_scan.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "disk/journal_format.h"
#include "sys/disk.h"

namespace shmbloom {
namespace {

namespace format = journal_format;

// "17", but not "017" or "17.old".
std::optional<std::uint64_t> number_of(const std::string &name) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc{} || end != name.data() + name.size() || std::to_string(number) != name)
        return std::nullopt;
    return number;
}

} // namespace

JournalScan::JournalScan(int folder, const std::string &folder_path, const std::vector<JournalFileRecord> &named,
                         const std::vector<Uuid> &states)
    : folder_{folder}, folder_path_{folder_path} {
    std::vector<std::uint64_t> numbers;
    for (const auto &entry : std::filesystem::directory_iterator{folder_path})
        if (const auto number = number_of(entry.path().filename().string()))
            numbers.push_back(*number);
    for (const JournalFileRecord &record : named)
        if (std::ranges::find(numbers, record.number) == numbers.end())
            lost_.push_back({record.number, "'" + folder_path_ + "/" + std::to_string(record.number) + "' is missing"});
    std::ranges::sort(numbers);
    next_number_ = numbers.empty() ? 1 : numbers.back() + 1;
    for (const std::uint64_t number : numbers)
        open(number, named, states);
    for (const Lost &file : lost_)
        faults_.push_back(file.text);
    look_at_firsts();
}

void JournalScan::open(std::uint64_t number, const std::vector<JournalFileRecord> &named,
                       const std::vector<Uuid> &states) {
    std::string reason;
    File file;
    file.reader = JournalReader::open(folder_, folder_path_, number, reason);
    if (file.reader && std::ranges::find(states, file.reader->state_uuid()) == states.end()) {
        reason = "'" + file.reader->path() + "' belongs to another state folder";
        file.reader.reset();
    }
    const bool is_number_named = std::ranges::find(named, number, &JournalFileRecord::number) != named.end();
    if (!file.reader) {
        if (is_number_named)
            lost_.push_back({number, reason});
        else
            faults_.push_back(reason);
        return;
    }
    file.is_named = std::ranges::find(named, file.reader->record()) != named.end();
    if (is_number_named && !file.is_named)
        lost_.push_back({number, "'" + file.reader->path() + "' is another file than the registry names"});
    counts_.files++;
    files_.push_back(std::move(file));
}

void JournalScan::look_at_firsts() {
    for (File &file : files_) {
        const auto frame = file.reader->next();
        if (frame)
            file.first = frame->first;
        file.is_blank = !frame && !file.reader->first_bad() && file.reader->read_error().empty();
        if (frame && !file.is_named)
            faults_.push_back("'" + file.reader->path() +
                              "' has frames, but the registry does not name it: the registry is an older one");
        file.reader->rewind();
    }
}

std::string JournalScan::sync_all() const {
    for (const File &file : files_)
        if (disk().sync(file.reader->fd()) != 0)
            return "cannot sync '" + file.reader->path() + "': " + std::strerror(errno);
    if (disk().sync(folder_) != 0)
        return "cannot sync '" + folder_path_ + "': " + std::strerror(errno);
    return "";
}

void JournalScan::read(Lsn from, const std::function<void(const JournalFrameView &)> &use) {
    for (std::size_t i = 0; i < files_.size(); i++) {
        // All of it lies below, if the next file with a frame begins at or below `from`.
        const auto next = std::find_if(files_.begin() + static_cast<std::ptrdiff_t>(i) + 1, files_.end(),
                                       [](const File &file) { return file.first.has_value(); });
        if (!files_[i].first || (next != files_.end() && *next->first <= from))
            continue;
        if (counts_.frames == 0)
            read_from_ = *files_[i].first;
        read_file(files_[i], use);
    }
}

void JournalScan::read_file(File &file, const std::function<void(const JournalFrameView &)> &use) {
    JournalReader &reader = *file.reader;
    reader.rewind();
    while (const auto frame = reader.next()) {
        counts_.frames++;
        counts_.hashes += frame->hashes.size();
        covered_.add(frame->after, frame->end());
        added_.add(frame->first, frame->end());
        if ((frame->flags & format::kSyncFailedBefore) != 0)
            unsynced_.add(frame->after, frame->first);
        if (!file.is_named)
            strange_.add(frame->first, frame->end());
        end_ = std::max(end_, frame->end());
        durable_ = std::max(durable_, frame->durable);
        if (frame->type != format::kAdds)
            continue;
        last_time_ns_ = std::max(last_time_ns_, frame->time_ns);
        times_[frame->end()] = frame->time_ns;
        while (!times_.empty() && times_.begin()->first <= durable_) {
            synced_until_ns_ = times_.begin()->second; // not the greatest: the clock may have been set back since
            times_.erase(times_.begin());
        }
        use(*frame);
    }
    counts_.torn_bytes += reader.bad_bytes();
    if (const auto bad = reader.first_bad())
        faults_.push_back("'" + reader.path() + "' has " + std::to_string(reader.bad_bytes()) +
                          " bytes that are no frame, from byte " + std::to_string(*bad) + " on");
    if (!reader.read_error().empty()) {
        lost_.push_back({reader.record().number,
                         "'" + reader.path() + "' cannot be read to its end: " + reader.read_error()});
        faults_.push_back(lost_.back().text);
    }
}

bool JournalScan::is_needed(const Lost &file, Lsn from) const {
    return std::ranges::none_of(files_, [&](const File &later) {
        return later.reader->record().number > file.number && later.first && *later.first <= from;
    });
}

std::string JournalScan::damage(Lsn from, Lsn to) const {
    const Lsn missing = covered_.first_missing(from), durable = std::min(durable_, to);
    std::string text;
    if (missing < durable)
        text = "acknowledged adds of the journal are missing from LSN " + std::to_string(missing) + " to " +
               std::to_string(std::min(covered_.next_present(missing).value_or(durable), durable) - 1);
    else if (strange_.has_any(from, std::min(end_, to)))
        text = "the journal has files that the registry does not name";
    else if (std::ranges::any_of(lost_, [&](const Lost &file) { return is_needed(file, from); }))
        text = "a file of the journal is lost";
    else
        return "";
    for (const std::string &fault : faults_)
        text += "; " + fault;
    return text;
}

bool JournalScan::has_abandoned(Lsn from) const {
    for (auto at = unsynced_.next_in(from); at; at = unsynced_.next_in(unsynced_.first_missing(*at)))
        if (!added_.has_all(*at, unsynced_.first_missing(*at)))
            return true;
    return false;
}

std::vector<std::string> JournalScan::unused() const {
    std::vector<std::string> names;
    for (const File &file : files_)
        if (file.is_blank)
            names.push_back(std::to_string(file.reader->record().number));
    return names;
}

std::vector<JournalFileRecord> JournalScan::named() const {
    std::vector<JournalFileRecord> records;
    for (const File &file : files_)
        if (file.is_named && !file.is_blank)
            records.push_back(file.reader->record());
    return records;
}

std::vector<std::pair<JournalFileRecord, Lsn>> JournalScan::first_lsns() const {
    std::vector<std::pair<JournalFileRecord, Lsn>> firsts;
    for (const File &file : files_)
        if (file.first)
            firsts.emplace_back(file.reader->record(), *file.first);
    return firsts;
}

} // namespace shmbloom
