#include "disk/journal_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

#include "disk/journal_format.h"
#include "shmbloom/key.h"

namespace shmbloom {
namespace {

namespace format = journal_format;

constexpr std::size_t kWindowBytes = std::size_t{4} << 20; // some frames of the largest size

// What the header says of itself; whether its hashes are whole is the checksum's to say.
bool is_plausible(const format::FrameHeader &header) {
    return header.magic == format::kFrameMagic && header.header_bytes == sizeof header && header.flags <= format::kSyncFailedBefore &&
           header.zero == 0 && header.count <= format::kHashesMax && header.first_lsn >= header.after_lsn &&
           header.first_lsn >= 1 && header.first_lsn < Lsn{1} << 62 && header.after_lsn >= 1 &&
           header.durable_lsn <= header.first_lsn;
}

bool is_known(std::uint8_t type) {
    return type == format::kAdds || type == format::kMarker || (type & format::kMayBeSkipped) != 0;
}

} // namespace

std::unique_ptr<JournalReader> JournalReader::open(int folder, const std::string &folder_path, std::uint64_t number,
                                                   std::string &reason) {
    std::unique_ptr<JournalReader> reader{new JournalReader};
    reader->path_ = folder_path + "/" + std::to_string(number);
    reader->record_.number = number;
    reader->fd_ = UniqueFd{
        ::openat(folder, std::to_string(number).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (!reader->fd_) {
        reason = "'" + reader->path_ + "' cannot be opened: " + std::strerror(errno);
        return nullptr;
    }
    return reader->read_header(reason) ? std::move(reader) : nullptr;
}

bool JournalReader::read_header(std::string &reason) {
    struct stat status {};
    format::FileHeader header{};
    if (::fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        reason = "'" + path_ + "' is not a file";
        return false;
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (::pread(fd_.get(), &header, sizeof header, 0) != sizeof header || header.magic != format::kMagic ||
        header.checksum != XXH3_64bits(&header, offsetof(format::FileHeader, checksum)) ||
        header.number != record_.number || header.header_bytes != format::kHeaderBytes) {
        reason = "'" + path_ + "' does not begin with the header of a journal's file";
        return false;
    }
    if (header.version != format::kVersion || header.incompat != 0) {
        reason = "'" + path_ + "' was written by a newer shmbloomd";
        return false;
    }
    state_uuid_ = Uuid::from(header.state_uuid);
    record_.id = header.file_id;
    start_ = offset_ = format::kHeaderBytes;
    return true;
}

void JournalReader::rewind() {
    offset_ = start_;
    first_bad_.reset();
    bad_bytes_ = 0;
}

bool JournalReader::have(std::size_t bytes) {
    if (offset_ + bytes > size_)
        return false;
    if (offset_ >= window_start_ && offset_ + bytes <= window_start_ + window_.size())
        return true;
    window_bytes_ = std::min(kWindowBytes, std::max(2 * window_bytes_, bytes));
    window_.resize(std::min<std::uint64_t>(window_bytes_, size_ - offset_));
    window_start_ = offset_;
    std::size_t filled = 0;
    while (filled < window_.size()) {
        const ssize_t n = ::pread(fd_.get(), window_.data() + filled, window_.size() - filled,
                                  static_cast<off_t>(window_start_ + filled));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            read_error_ = std::strerror(errno);
        if (n <= 0)
            break;
        filled += static_cast<std::size_t>(n);
    }
    window_.resize(filled);
    return filled >= bytes;
}

std::optional<JournalFrameView> JournalReader::frame_here() {
    format::FrameHeader header;
    std::memcpy(&header, here(), sizeof header);
    const std::size_t bytes = sizeof header + 8 * std::size_t{header.count};
    if (!is_plausible(header) || !have(bytes))
        return std::nullopt;
    const std::byte *const hashes = here() + sizeof header; // 8-aligned: offsets are, and so is the window
    const auto before = XXH3_64bits_withSeed(&header, offsetof(format::FrameHeader, checksum), record_.id);
    if (header.checksum != XXH3_64bits_withSeed(hashes, 8 * std::size_t{header.count}, before) ||
        !is_known(header.type))
        return std::nullopt;
    return JournalFrameView{.type = header.type,
                            .flags = header.flags,
                            .filter_number = header.filter_number,
                            .first = header.first_lsn,
                            .after = header.after_lsn,
                            .durable = header.durable_lsn,
                            .time_ns = header.time_ns,
                            .hashes = {reinterpret_cast<const std::uint64_t *>(hashes), header.count}};
}

std::optional<JournalFrameView> JournalReader::next() {
    while (have(sizeof(format::FrameHeader))) {
        if (const auto frame = frame_here()) {
            offset_ += sizeof(format::FrameHeader) + 8 * frame->hashes.size();
            return frame;
        }
        skip_to_magic();
    }
    if (offset_ < size_) {
        // Too short for a frame; zeros, unless the file was cut.
        if (have(size_ - offset_) &&
            std::any_of(here(), here() + (size_ - offset_), [](std::byte byte) { return byte != std::byte{}; }))
            note_bad(size_ - offset_);
        offset_ = size_;
    }
    return std::nullopt;
}

// From 8 bytes further on.
void JournalReader::skip_to_magic() {
    do {
        std::uint64_t word;
        std::memcpy(&word, here(), sizeof word);
        if (word != 0)
            note_bad(sizeof word);
        offset_ += sizeof word;
        if (!have(sizeof word))
            return;
        std::memcpy(&word, here(), sizeof word);
        if (static_cast<std::uint32_t>(word) == format::kFrameMagic)
            return;
    } while (true);
}

void JournalReader::note_bad(std::uint64_t bytes) {
    if (!first_bad_)
        first_bad_ = offset_;
    bad_bytes_ += bytes;
}

} // namespace shmbloom
