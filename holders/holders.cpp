#include "holders/holders.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>

namespace shmbloom::holders {

namespace {

constexpr const char *kProc = "/proc";
constexpr std::string_view kDeleted = " (deleted)";
constexpr std::size_t kFieldsBeforePath = 5; // range, rights, offset, device, inode

class File {
  public:
    explicit File(const std::string &path) : fd_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {}
    ~File() {
        if (fd_ >= 0)
            ::close(fd_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    int fd() const { return fd_; }

  private:
    int fd_;
};

struct CloseFolder {
    void operator()(DIR *folder) const { ::closedir(folder); }
};

bool may_not_look(int error) {
    return error == EACCES || error == EPERM;
}

// The next word and the rest of `line` behind it, without the blanks between.
std::string_view take_word(std::string_view &line) {
    const std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(word.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return word;
}

std::optional<std::uint64_t> read_number(std::string_view text, int base) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    const bool whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
    return whole ? std::optional{number} : std::nullopt;
}

// A segment may be mapped in several parts, and twice: what counts is the segment.
void note(std::vector<Holder> &holders, std::size_t first, const Holder &part) {
    for (std::size_t i = first; i < holders.size(); ++i)
        if (holders[i].generation == part.generation) {
            holders[i].bytes = std::max(holders[i].bytes, part.bytes);
            return;
        }
    holders.push_back(part);
}

// The kernel gives whole lines only as long as they fit; a line in two reads is put together here. Returns errno.
template <class Use>
int for_each_line(int fd, Use use) {
    std::array<char, 16384> buffer; // NOLINT: read() fills it
    std::string begun;
    for (;;) {
        const ssize_t n = ::read(fd, buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : 0;
        std::string_view text{buffer.data(), static_cast<std::size_t>(n)};
        for (std::size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1)) {
            if (begun.empty())
                use(text.substr(0, end));
            else
                use(std::string_view{begun.append(text.substr(0, end))});
            begun.clear();
        }
        begun.append(text);
    }
}

void look_at(pid_t pid, std::string_view name, Found &found) {
    const File maps{std::string{kProc} + "/" + std::to_string(pid) + "/maps"};
    if (maps.fd() < 0) {
        found.unreadable += may_not_look(errno) ? 1 : 0;
        return;
    }
    const std::size_t first = found.holders.size();
    const int error = for_each_line(maps.fd(), [&](std::string_view line) {
        Holder holder{pid, 0, 0};
        if (read_maps_line(line, name, &holder))
            note(found.holders, first, holder);
    });
    found.unreadable += may_not_look(error) ? 1 : 0;
}

std::vector<pid_t> list_processes() {
    std::vector<pid_t> pids;
    const std::unique_ptr<DIR, CloseFolder> folder{::opendir(kProc)};
    while (folder != nullptr) {
        const dirent *entry = ::readdir(folder.get()); // NOLINT: this stream is this thread's alone
        if (entry == nullptr)
            break;
        const auto pid = read_number(entry->d_name, 10);
        if (pid)
            pids.push_back(static_cast<pid_t>(*pid));
    }
    std::sort(pids.begin(), pids.end());
    return pids;
}

} // namespace

bool read_maps_line(std::string_view line, std::string_view name, Holder *holder) {
    // Most lines are of something else: this is all they cost.
    if (line.find(name) == std::string_view::npos)
        return false;
    std::array<std::string_view, kFieldsBeforePath> fields;
    for (std::string_view &field : fields)
        field = take_word(line);
    if (line.ends_with(kDeleted))
        line.remove_suffix(kDeleted.size());
    if (!line.starts_with(name))
        return false;
    const std::string_view range = fields[0];
    const auto begin = read_number(range.substr(0, range.find('-')), 16);
    const auto end = read_number(range.substr(std::min(range.find('-') + 1, range.size())), 16);
    const auto offset = read_number(fields[2], 16);
    const auto generation = read_number(line.substr(name.size()), 10);
    if (!begin || !end || !offset || !generation || *end < *begin)
        return false;
    holder->generation = *generation;
    holder->bytes = *offset + (*end - *begin);
    return true;
}

Found find(std::string_view state_prefix, std::string_view filter_uuid_text) {
    const std::string name =
        "/dev/shm/shmbloom." + std::string{state_prefix} + "." + std::string{filter_uuid_text} + ".";
    Found found;
    for (const pid_t pid : list_processes())
        look_at(pid, name, found);
    std::sort(found.holders.begin(), found.holders.end(), [](const Holder &a, const Holder &b) {
        return a.pid != b.pid ? a.pid < b.pid : a.generation < b.generation;
    });
    return found;
}

} // namespace shmbloom::holders
