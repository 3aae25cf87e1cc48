#include "disk_books.h"

#include <algorithm>

namespace shmbloom::test {
namespace {

// Which of the changes since the last sync reached the disk. Each by itself is what a disk may do; the others are what it
// mostly does, and what many independent draws would hardly ever give.
enum class Kept { nothing, everything, up_to_a_moment, each_by_itself };

Kept some_way(Random &random) {
    return static_cast<Kept>(below(random, 4));
}

} // namespace

void FileBook::adopt(std::string_view content) {
    durable_size_ = content.size();
    for (std::size_t at = 0; at < content.size(); at += kSectorBytes) {
        Sector sector{};
        std::ranges::copy(content.substr(at, kSectorBytes), sector.begin());
        if (sector != Sector{}) // a journal is mostly room for more
            sectors_[at / kSectorBytes].durable = sector;
    }
}

void FileBook::write(std::uint64_t offset, std::string_view bytes, Moment now) {
    resize(std::max(size(), offset + bytes.size()), now);
    while (!bytes.empty()) {
        const std::uint64_t number = offset / kSectorBytes;
        const std::size_t at = offset % kSectorBytes;
        const std::size_t count = std::min(bytes.size(), kSectorBytes - at);
        const auto found = sectors_.find(number);
        Sector sector = found == sectors_.end() ? Sector{} : found->second.current();
        std::ranges::copy(bytes.substr(0, count), sector.begin() + static_cast<std::ptrdiff_t>(at));
        set_sector(number, sector, now);
        bytes.remove_prefix(count);
        offset += count;
    }
}

// What is durable already is nothing new, above all the zeros that a journal is filled with. What is not must be noted even
// if it is the same again: after a failed sync that is what saves it.
void FileBook::set_sector(std::uint64_t number, const Sector &bytes, Moment now) {
    const auto found = sectors_.find(number);
    if (found == sectors_.end() ? bytes == Sector{} : found->second.later.empty() && found->second.durable == bytes)
        return;
    sectors_[number].later.push_back({now, false, bytes});
    dirty_.insert(number);
}

void FileBook::resize(std::uint64_t new_size, Moment now) {
    if (new_size == size())
        return;
    // What is cut off reads as zeros should the file grow again.
    for (auto i = sectors_.lower_bound(new_size / kSectorBytes); i != sectors_.end(); ++i) {
        const std::uint64_t begin = i->first * kSectorBytes;
        const std::uint64_t kept = new_size > begin ? new_size - begin : 0;
        Sector sector = i->second.current();
        std::fill(sector.begin() + static_cast<std::ptrdiff_t>(kept), sector.end(), '\0');
        set_sector(i->first, sector, now);
    }
    sizes_.push_back({now, new_size});
}

void FileBook::sync(Moment before) {
    for (auto i = dirty_.begin(); i != dirty_.end();) {
        History &history = sectors_[*i];
        const auto newest = std::find_if(history.later.rbegin(), history.later.rend(), [&](const Version &version) {
            return version.when < before && !version.forgotten;
        });
        if (newest != history.later.rend()) {
            history.durable = newest->bytes;
            history.later.erase(history.later.begin(), newest.base());
        }
        i = history.later.empty() ? dirty_.erase(i) : std::next(i);
    }
    // Sizes are never forgotten: the inode is written with the next change of anything in it.
    while (!sizes_.empty() && sizes_.front().when < before) {
        durable_size_ = sizes_.front().size;
        sizes_.erase(sizes_.begin());
    }
}

void FileBook::forget(Moment before) {
    for (const std::uint64_t number : dirty_)
        for (Version &version : sectors_[number].later)
            version.forgotten |= version.when < before;
}

FileImage FileBook::durable() const {
    FileImage image{durable_size_, {}};
    for (const auto &[number, history] : sectors_)
        if (number * kSectorBytes < image.size)
            image.sectors.emplace_back(number, &history.durable);
    return image;
}

// Anything between durable and now, and most often one of the sizes that the file had.
std::uint64_t FileBook::some_size(Random &random) const {
    const std::uint64_t which = below(random, sizes_.size() + 2);
    if (which < sizes_.size())
        return sizes_[which].size;
    if (which == sizes_.size())
        return durable_size_;
    const std::uint64_t least = std::min(durable_size_, size()), most = std::max(durable_size_, size());
    return least + below(random, most - least + 1);
}

FileImage FileBook::some_of_it(Random &random) const {
    const Kept way = some_way(random);
    if (way == Kept::nothing)
        return durable();
    FileImage image{way == Kept::everything ? size() : some_size(random), {}};
    Moment last = 0;
    if (way == Kept::up_to_a_moment && !dirty_.empty()) {
        const auto &later = sectors_.at(*std::next(dirty_.begin(), static_cast<long>(below(random, dirty_.size())))).later;
        last = later[below(random, later.size())].when;
    }
    for (const auto &[number, history] : sectors_) {
        std::size_t kept = history.later.size();
        if (way == Kept::each_by_itself && kept > 0)
            kept = below(random, kept + 1);
        if (way == Kept::up_to_a_moment)
            while (kept > 0 && history.later[kept - 1].when > last)
                kept--;
        if (number * kSectorBytes < image.size)
            image.sectors.emplace_back(number, kept == 0 ? &history.durable : &history.later[kept - 1].bytes);
    }
    return image;
}

void FolderBook::apply(Names &names, const Change &change) {
    // A change removes the entry that it removed when it was made, and no other that a lost change would have replaced.
    if (const auto found = names.find(change.from); found != names.end() && found->second == change.node)
        names.erase(found);
    if (!change.to.empty())
        names[change.to] = change.node;
}

void FolderBook::change(const std::string &from, const std::string &to, const NodePtr &node, Moment now) {
    changes_.push_back({from, to, node, now});
    apply(current_, changes_.back());
}

void FolderBook::sync(Moment before) {
    while (!changes_.empty() && changes_.front().when < before) {
        apply(durable_, changes_.front());
        changes_.erase(changes_.begin());
    }
}

void FolderBook::adopt(const std::string &name, const NodePtr &node) {
    durable_[name] = current_[name] = node;
}

NodePtr FolderBook::find(const std::string &name) const {
    const auto found = current_.find(name);
    return found == current_.end() ? nullptr : found->second;
}

Names FolderBook::some_of_it(Random &random) const {
    const Kept way = some_way(random);
    if (way == Kept::nothing)
        return durable_;
    if (way == Kept::everything)
        return current_;
    Names names = durable_;
    const std::uint64_t first_ones = below(random, changes_.size() + 1);
    for (std::size_t i = 0; i < changes_.size(); i++)
        if (way == Kept::up_to_a_moment ? i < first_ones : below(random, 2) == 0)
            apply(names, changes_[i]);
    return names;
}

} // namespace shmbloom::test
