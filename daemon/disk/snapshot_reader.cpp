#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/stat.h>

#include "disk/snapshot.h"
#include "disk/snapshot_format.h"
#include "geometry/geometry.h"

namespace shmbloom {
namespace {

// 64 bits a key are more than any rate takes (43), at the greatest capacity: 8 TiB.
constexpr std::uint64_t kBitsMax = 64 * geometry::kCapacityMax;
constexpr std::uint64_t kBlockBits = 512;
// So many checksums, 4 KiB, are read at once: a claim of 8 TiB takes no more memory than one of 8 KiB.
constexpr std::size_t kTableBlock = 512;
// How far the disk reads ahead: a few times what it has in flight at once.
constexpr std::uint64_t kReadAheadBytes = 8u << 20;

// All of it, or what is wrong: nothing when it went well.
std::string read_at(int fd, void *to, std::size_t size, std::uint64_t offset) {
    auto *at = static_cast<std::byte *>(to);
    while (size > 0) {
        const ssize_t n = ::pread(fd, at, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return std::string{"cannot be read: "} + std::strerror(errno);
        if (n == 0)
            return "became shorter while it was read";
        at += n;
        offset += static_cast<std::size_t>(n);
        size -= static_cast<std::size_t>(n);
    }
    return "";
}

shmbloom_shape shape_of(const SnapshotHeader &header) {
    return {header.layout, header.probes, header.size};
}

bool is_shape_in_range(const shmbloom_shape &shape) {
    if (shape.layout == SHMBLOOM_LAYOUT_CLASSIC)
        return shape.probes >= 1 && shape.probes <= SHMBLOOM_PROBES_MAX && shape.size >= 64 && shape.size <= kBitsMax;
    return shape.layout == SHMBLOOM_LAYOUT_BLOCKED && (shape.probes == 2 || shape.probes == 3) && shape.size >= 1 &&
           shape.size <= kBitsMax / kBlockBits;
}

bool are_keys_in_range(const SnapshotHeader &header) {
    const std::uint32_t known = header.key_type == SHMBLOOM_KEY_TYPE_U64
                                    ? SHMBLOOM_NORMALIZE_TRIM
                                    : SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER;
    return header.hash_id == SHMBLOOM_HASH_XXH3_64 && header.key_type <= SHMBLOOM_KEY_TYPE_U64 &&
           (header.normalization & ~known) == 0;
}

bool is_in_range(const SnapshotHeader &header) {
    const shmbloom_shape shape = shape_of(header);
    return header.header_bytes == sizeof header && header.hash_list_complete <= 1 && header.generation >= 1 &&
           header.generation <= SHMBLOOM_GENERATION_MAX && header.lineage >= 1 && header.lineage <= header.generation &&
           header.capacity >= 1 && header.capacity <= geometry::kCapacityMax && header.fpr >= geometry::kFprMin &&
           header.fpr <= geometry::kFprMax && are_keys_in_range(header) &&
           header.chunk_bytes % kSnapshotChunkBytesMin == 0 && header.chunk_bytes >= kSnapshotChunkBytesMin &&
           header.chunk_bytes <= kSnapshotChunkBytesMax && is_shape_in_range(shape) &&
           header.bits_bytes == geometry::place(shape).bits_bytes;
}

std::string writer_of(const SnapshotHeader &header) {
    std::string writer{header.writer, ::strnlen(header.writer, sizeof header.writer)};
    // It goes into a log line, before any checksum: no newline, no escape sequence.
    std::ranges::replace_if(
        writer, [](char c) { return c < ' ' || c > '~'; }, '?');
    return writer;
}

std::string check_header(const SnapshotHeader &header) {
    if (header.magic != kSnapshotMagic)
        return "is no snapshot";
    if (header.version != kSnapshotVersion)
        return "is of format " + std::to_string(header.version) + ", written by shmbloomd " + writer_of(header) +
               "; this one reads format " + std::to_string(kSnapshotVersion);
    if (header.checksum != snapshot_header_checksum(header))
        return "is damaged: its header fails the checksum";
    if ((header.incompat & ~kSnapshotKnownIncompat) != 0)
        return "was written by a newer shmbloomd (" + writer_of(header) + "), which this one does not understand";
    if (!is_in_range(header))
        return "cannot be used: its header holds a number out of range";
    return "";
}

SnapshotIdentity identity_of(const SnapshotHeader &header) {
    SnapshotIdentity identity;
    std::ranges::copy(header.state_uuid, identity.state_uuid.bytes.begin());
    std::ranges::copy(header.filter_uuid, identity.filter_uuid.bytes.begin());
    identity.filter_number = header.filter_number;
    identity.number = header.number;
    identity.generation = header.generation;
    identity.lineage = header.lineage;
    identity.s = header.s;
    identity.begun = header.begun;
    identity.source_begun = header.source_begun;
    identity.bulk_acts = header.bulk_acts;
    identity.hash_list_complete = header.hash_list_complete != 0;
    identity.hash_domain = header.hash_domain;
    identity.normalization = header.normalization;
    identity.key_type = header.key_type;
    identity.capacity = header.capacity;
    identity.fpr = header.fpr;
    identity.shape = shape_of(header);
    return identity;
}

SnapshotEnd end_of(const SnapshotFooter &footer) {
    return {footer.end, footer.adds_acknowledged, footer.adds_new};
}

// The checksums from chunk 0 on, a block at a time.
class Table {
  public:
    Table(int fd, const SnapshotPlaces &places) : fd_{fd}, places_{places} {}

    // The next ones; none behind the last, or when `reason` says that they cannot be read.
    std::span<const std::uint64_t> next(std::string &reason) {
        const std::uint64_t count = std::min<std::uint64_t>(block_.size(), places_.chunk_count() - at_);
        reason = read_at(fd_, block_.data(), 8 * count, places_.table_offset() + 8 * at_);
        if (!reason.empty())
            return {};
        at_ += count;
        return {block_.data(), count};
    }

  private:
    const int fd_;
    const SnapshotPlaces places_;
    std::uint64_t at_ = 0;
    std::array<std::uint64_t, kTableBlock> block_;
};

// Opens without ever waiting (a fifo would) and without following a link out of the folder.
UniqueFd open_regular_file(int folder, const std::string &name, std::uint64_t &size, std::string &reason) {
    UniqueFd fd{::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    struct stat status {};
    if (!fd && errno == ELOOP)
        reason = "is a symbolic link";
    else if (!fd || ::fstat(fd.get(), &status) != 0)
        reason = std::string{"cannot be opened: "} + std::strerror(errno);
    else if (!S_ISREG(status.st_mode))
        reason = "is no regular file";
    size = static_cast<std::uint64_t>(status.st_size);
    return fd;
}

} // namespace

struct SnapshotFile::Parts {
    // What is wrong; empty when everything but the bits is as it must be.
    std::string check(int folder, const std::string &name);
    std::string check_end() const;
    template <typename Use>
    bool read_chunks(std::string &reason, const Use &use) const;

    std::string path;
    UniqueFd fd;
    std::uint64_t size = 0;
    SnapshotHeader header{};
    SnapshotFooter footer{};
    SnapshotPlaces places{};
};

std::string SnapshotFile::Parts::check(int folder, const std::string &name) {
    std::string reason;
    fd = open_regular_file(folder, name, size, reason);
    if (!reason.empty())
        return reason;
    if (size < sizeof header)
        return "is damaged: it has " + std::to_string(size) + " bytes, fewer than a header";
    if (reason = read_at(fd.get(), &header, sizeof header, 0); !reason.empty())
        return reason;
    if (reason = check_header(header); !reason.empty())
        return reason;
    places = {header.bits_bytes, header.chunk_bytes};
    if (size != places.file_bytes())
        return "is damaged: it has " + std::to_string(size) + " bytes instead of " +
               std::to_string(places.file_bytes());
    if (reason = read_at(fd.get(), &footer, sizeof footer, places.footer_offset()); !reason.empty())
        return reason;
    return check_end();
}

std::string SnapshotFile::Parts::check_end() const {
    SnapshotEndChecksum checksum{header.checksum};
    Table table{fd.get(), places};
    std::string reason;
    for (auto block = table.next(reason); !block.empty(); block = table.next(reason))
        checksum.add_table(block.data(), block.size());
    if (!reason.empty())
        return reason;
    if (footer.magic != kSnapshotFooterMagic || footer.checksum != checksum.finish(footer))
        return "is damaged: its table of checksums or its footer fails the checksum";
    if (footer.chunk_count != places.chunk_count() || footer.bits_set > 8 * header.bits_bytes)
        return "cannot be used: its footer holds a number out of range";
    return "";
}

// Calls `use(i, size, checksum)` for each chunk; it returns what is wrong, or nothing.
template <typename Use>
bool SnapshotFile::Parts::read_chunks(std::string &reason, const Use &use) const {
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    Table table{fd.get(), places};
    std::span<const std::uint64_t> checksums;
    std::uint64_t ahead = 0;
    std::string wrong;
    for (std::uint64_t i = 0; wrong.empty() && i < places.chunk_count(); i++) {
        if (const std::uint64_t offset = places.chunk_offset(i); ahead < offset + kReadAheadBytes / 2) {
            ::posix_fadvise(fd.get(), static_cast<off_t>(offset), kReadAheadBytes, POSIX_FADV_WILLNEED);
            ahead = offset + kReadAheadBytes;
        }
        if (i % kTableBlock == 0)
            checksums = table.next(wrong);
        if (wrong.empty())
            wrong = use(i, places.chunk_size(i), checksums[i % kTableBlock]);
    }
    if (!wrong.empty())
        reason = "the snapshot '" + path + "' " + wrong;
    return wrong.empty();
}

std::unique_ptr<SnapshotFile> SnapshotFile::open(int folder, const std::string &name, const std::string &folder_path,
                                                 std::string &reason) {
    auto parts = std::make_unique<Parts>();
    parts->path = folder_path + "/" + name;
    if (const std::string wrong = parts->check(folder, name); !wrong.empty()) {
        reason = "the snapshot '" + parts->path + "' " + wrong;
        return nullptr;
    }
    return std::unique_ptr<SnapshotFile>{new SnapshotFile{std::move(parts)}};
}

SnapshotFile::SnapshotFile(std::unique_ptr<Parts> parts)
    : parts_{std::move(parts)}, identity_{identity_of(parts_->header)}, end_{end_of(parts_->footer)} {}

SnapshotFile::~SnapshotFile() = default;

std::uint64_t SnapshotFile::bits_bytes() const {
    return parts_->header.bits_bytes;
}

std::uint64_t SnapshotFile::bits_set() const {
    return parts_->footer.bits_set;
}

bool SnapshotFile::read_into(std::uint64_t *words, std::string &reason) const {
    const Parts &p = *parts_;
    return p.read_chunks(reason, [&](std::uint64_t i, std::size_t size, std::uint64_t checksum) -> std::string {
        // Straight to where they belong: nobody reads there yet, and a detour costs as much as the checksum.
        std::uint64_t *const to = words + i * (p.places.chunk_bytes / 8);
        if (std::string wrong = read_at(p.fd.get(), to, size, p.places.chunk_offset(i)); !wrong.empty())
            return wrong;
        if (snapshot_chunk_checksum(to, size, p.header.checksum, i) != checksum)
            return "is damaged: chunk " + std::to_string(i) + " fails its checksum";
        return "";
    });
}

bool SnapshotFile::merge_into(std::uint64_t *words, std::string &reason) const {
    const Parts &p = *parts_;
    const auto buffer =
        std::make_unique_for_overwrite<std::uint64_t[]>(std::min(p.places.chunk_bytes, p.places.bits_bytes) / 8);
    return p.read_chunks(reason, [&](std::uint64_t i, std::size_t size, std::uint64_t checksum) -> std::string {
        if (std::string wrong = read_at(p.fd.get(), buffer.get(), size, p.places.chunk_offset(i)); !wrong.empty())
            return wrong;
        // Before a bit of it is set: what is set in a live filter stays.
        if (snapshot_chunk_checksum(buffer.get(), size, p.header.checksum, i) != checksum)
            return "is damaged: chunk " + std::to_string(i) + " fails its checksum";
        std::uint64_t *const to = words + i * (p.places.chunk_bytes / 8);
        for (std::size_t j = 0; j < size / 8; j++)
            shmbloom_set_word(&to[j], buffer[j]); // writes only where a bit is missing
        return "";
    });
}

} // namespace shmbloom
