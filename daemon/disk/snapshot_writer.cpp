#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <vector>

#include "disk/snapshot.h"
#include "disk/snapshot_format.h"
#include "geometry/geometry.h"
#include "shmbloom/version.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

// Write-out is started each time so much was written: the last sync finds at most twice as much to do.
constexpr std::uint64_t kWriteOutBytes = 8u << 20;
// So many checksums are kept before they are written: of 8 TiB they have 64 MiB. A write each 64 MiB of bits is
// nothing, and a test can afford it.
constexpr std::size_t kTableBlock = 64;
constexpr std::uint64_t kSecond = 1'000'000'000;
// A stop of the daemon waits no longer than this for a slow copy.
constexpr std::uint64_t kSleepMax = kSecond / 20;

SnapshotHeader make_header(const SnapshotIdentity &identity, std::uint64_t bits_bytes) {
    SnapshotHeader header{};
    header.magic = kSnapshotMagic;
    header.version = kSnapshotVersion;
    header.header_bytes = sizeof header;
    std::ranges::copy(identity.state_uuid.bytes, header.state_uuid);
    std::ranges::copy(identity.filter_uuid.bytes, header.filter_uuid);
    static_assert(sizeof SHMBLOOM_VERSION <= sizeof header.writer);
    std::memcpy(header.writer, SHMBLOOM_VERSION, sizeof SHMBLOOM_VERSION);
    header.filter_number = identity.filter_number;
    header.number = identity.number;
    header.generation = identity.generation;
    header.lineage = identity.lineage;
    header.s = identity.s;
    header.begun = identity.begun;
    header.source_begun = identity.source_begun;
    header.bulk_acts = identity.bulk_acts;
    header.hash_domain = identity.hash_domain;
    header.hash_id = SHMBLOOM_HASH_XXH3_64;
    header.normalization = identity.normalization;
    header.key_type = identity.key_type;
    header.hash_list_complete = identity.hash_list_complete ? 1 : 0;
    header.capacity = identity.capacity;
    header.fpr = identity.fpr;
    header.layout = identity.shape.layout;
    header.probes = identity.shape.probes;
    header.size = identity.shape.size;
    header.bits_bytes = bits_bytes;
    header.chunk_bytes = kSnapshotChunkBytes;
    header.checksum = snapshot_header_checksum(header);
    return header;
}

std::uint64_t monotonic_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

SnapshotPlaces places_of(const shmbloom_shape &shape) {
    return {geometry::place(shape).bits_bytes, kSnapshotChunkBytes};
}

// Lets so many bytes a second through. Deadlines are absolute, so late wake-ups do not add up.
class Pace {
  public:
    explicit Pace(std::uint64_t bytes_per_second) : bytes_per_second_{bytes_per_second}, due_{monotonic_ns()} {}

    // After `bytes`: waits until they may have taken so long. False: cancelled.
    bool wait(std::uint64_t bytes, const std::atomic<bool> &cancelled) {
        if (bytes_per_second_ == 0)
            return !cancelled;
        // What a slow disk has lost is not made up for in one burst: at most a second of it.
        const std::uint64_t now = monotonic_ns();
        due_ = std::max(due_, now - std::min(now, kSecond)) + bytes * kSecond / bytes_per_second_;
        while (!cancelled && monotonic_ns() < due_)
            sleep_until(std::min(due_, monotonic_ns() + kSleepMax));
        return !cancelled;
    }

  private:
    static void sleep_until(std::uint64_t deadline) {
        const timespec at{static_cast<time_t>(deadline / kSecond), static_cast<long>(deadline % kSecond)};
        ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr); // a signal only makes the caller look again
    }

    const std::uint64_t bytes_per_second_;
    std::uint64_t due_;
};

// Copies words that others set meanwhile into memory of our own. Relaxed loads, one by one, are enough, and no moment
// at which all of them were so is needed: a bit goes from 0 to 1 only, so each load gives at least what the word held
// when the copy began, and that is all that is asked for. (An add before S happens before the copy: this thread was
// told S by the one that applied it.) A bit that comes later is in the copy or not; its frame is at or after S, and
// replay sets it. No word says anything about another one, so their order does not matter.
std::uint64_t copy_chunk(std::uint64_t *to, const std::uint64_t *from, std::size_t size) {
    shmbloom_copy_from_shared(to, from, size);
    std::uint64_t bits_set = 0;
    for (std::size_t i = 0; i < size / 8; i++)
        bits_set += static_cast<std::uint64_t>(std::popcount(to[i]));
    return bits_set;
}

} // namespace

std::string snapshot_name(std::uint64_t number) {
    return std::to_string(number) + ".snapshot";
}

struct SnapshotWriter::Parts {
    Parts(int in_folder, std::string in_path, const SnapshotIdentity &identity);
    ~Parts();

    void write_table();
    void write_out_until(std::uint64_t end);

    const int folder;
    const std::string folder_path;
    const std::string name;
    const std::string temporary;
    const std::string path; // of the temporary one
    const SnapshotPlaces places;
    const SnapshotHeader header;
    UniqueFd fd;
    std::string to_remove; // the name that the file has while it must not stay; empty: none

    SnapshotEndChecksum end_checksum;
    std::vector<std::uint64_t> table; // what is not written yet
    std::uint64_t table_written = 0;  // entries
    std::uint64_t written_out = 0;    // up to here write-out was started, a multiple of kWriteOutBytes
    std::uint64_t bits_set = 0;
    bool is_copied = false;
};

SnapshotWriter::Parts::Parts(int in_folder, std::string in_path, const SnapshotIdentity &identity)
    : folder{in_folder}, folder_path{std::move(in_path)}, name{snapshot_name(identity.number)},
      temporary{name + ".new"}, path{folder_path + "/" + temporary}, places{places_of(identity.shape)},
      header{make_header(identity, places.bits_bytes)}, end_checksum{header.checksum} {
    table.reserve(kTableBlock);
    // What a crash has left under this name, not to be written into: it may have another mode, or another link.
    if (disk().unlink(folder, temporary.c_str()) != 0 && errno != ENOENT)
        throw_errno("remove what was left at", path);
    fd = open_on_disk(folder, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600, path);
    to_remove = temporary;
}

SnapshotWriter::Parts::~Parts() {
    // When this fails, a file stays that the registry does not name: it is no snapshot, and a start removes it.
    if (!to_remove.empty())
        disk().unlink(folder, to_remove.c_str());
}

void SnapshotWriter::Parts::write_table() {
    end_checksum.add_table(table.data(), table.size());
    write_at(fd.get(), std::as_bytes(std::span{table}), places.table_offset() + 8 * table_written, path);
    table_written += table.size();
    table.clear();
}

// Starts write-out of what is before `end` and waits for what was started the last time. So the last sync finds little
// to do, the disk's queue stays short for the journal, and pages that nobody will read do not push out pages that are
// read.
void SnapshotWriter::Parts::write_out_until(std::uint64_t end) {
    const auto call = [this](std::uint64_t offset, unsigned flags) {
        // The kernel tells a failed write to the first who asks, and the last sync would not hear of it again: so this
        // one must be believed.
        if (::sync_file_range(fd.get(), static_cast<off_t>(offset), kWriteOutBytes, flags) != 0)
            throw_errno("write out", path);
    };
    for (; written_out + kWriteOutBytes <= end; written_out += kWriteOutBytes) {
        call(written_out, SYNC_FILE_RANGE_WRITE);
        if (written_out == 0)
            continue;
        const std::uint64_t before = written_out - kWriteOutBytes;
        call(before, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
        // No more than a hint, so it may fail.
        ::posix_fadvise(fd.get(), static_cast<off_t>(before), kWriteOutBytes, POSIX_FADV_DONTNEED);
    }
}

SnapshotWriter::SnapshotWriter(int folder, std::string folder_path, const SnapshotIdentity &identity)
    : parts_{std::make_unique<Parts>(folder, std::move(folder_path), identity)} {
    write_at(parts_->fd.get(), std::as_bytes(std::span{&parts_->header, 1}), 0, parts_->path);
}

SnapshotWriter::~SnapshotWriter() = default;

bool SnapshotWriter::copy(const std::uint64_t *words, std::uint64_t bytes_per_second,
                          const std::atomic<bool> &cancelled) {
    Parts &p = *parts_;
    // Called once: a second copy would count and hash on top of the first.
    assert(p.table_written == 0 && p.table.empty());
    const auto buffer = std::make_unique_for_overwrite<std::uint64_t[]>(p.places.chunk_size(0) / 8);
    Pace pace{bytes_per_second};
    for (std::uint64_t i = 0; i < p.places.chunk_count(); i++) {
        if (cancelled)
            return false;
        const std::size_t size = p.places.chunk_size(i);
        p.bits_set += copy_chunk(buffer.get(), words + i * (kSnapshotChunkBytes / 8), size);
        // Both of the private copy: in shared memory a bit could come between them.
        p.table.push_back(snapshot_chunk_checksum(buffer.get(), size, p.header.checksum, i));
        write_at(p.fd.get(), std::as_bytes(std::span{buffer.get(), size / 8}), p.places.chunk_offset(i), p.path);
        if (p.table.size() == kTableBlock)
            p.write_table();
        p.write_out_until(p.places.chunk_offset(i) + size);
        if (!pace.wait(size, cancelled))
            return false;
    }
    p.is_copied = true;
    return true;
}

void SnapshotWriter::finish(const SnapshotEnd &end) {
    Parts &p = *parts_;
    // A cancelled copy has holes.
    assert(p.is_copied);
    p.write_table();
    SnapshotFooter footer{.magic = kSnapshotFooterMagic,
                          .end = end.end,
                          .adds_acknowledged = end.adds_acknowledged,
                          .adds_new = end.adds_new,
                          .bits_set = p.bits_set,
                          .chunk_count = p.places.chunk_count(),
                          .zero = 0,
                          .checksum = 0};
    footer.checksum = p.end_checksum.finish(footer);
    write_at(p.fd.get(), std::as_bytes(std::span{&footer, 1}), p.places.footer_offset(), p.path);
    crash_point("snapshot.copied");
    sync_to_disk(p.fd.get(), p.path);
    crash_point("snapshot.synced");
    if (disk().rename(p.folder, p.temporary.c_str(), p.name.c_str()) != 0)
        throw_errno("rename into place", p.folder_path + "/" + p.name);
    // Until its name is on the disk as well, nobody may name it in the registry.
    p.to_remove = p.name;
    crash_point("snapshot.renamed");
    sync_to_disk(p.folder, p.folder_path);
    p.to_remove.clear();
    ::posix_fadvise(p.fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

std::uint64_t SnapshotWriter::file_bytes() const {
    return parts_->places.file_bytes();
}

std::uint64_t SnapshotWriter::bits_set() const {
    return parts_->bits_set;
}

} // namespace shmbloom
