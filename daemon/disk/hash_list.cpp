#include "disk/hash_list.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include "shmbloom/key.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

constexpr std::uint64_t kMagic = 0x31687368626D6873; // the bytes "shmbhsh1"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChunkHashes = 65536;
constexpr std::uint64_t kSortedAtOnce = (std::uint64_t{64} << 20) / 8;

struct Header {
    std::uint64_t magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t zero = 0;
    std::uint8_t filter_uuid[SHMBLOOM_UUID_BYTES]{};
    std::uint64_t number = 0;
    std::uint64_t zeros[2]{};
    std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 64);

struct Chunk {
    std::uint64_t count;
    std::uint64_t checksum;
};

Header make_header(const Uuid &filter, std::uint64_t number) {
    Header header;
    std::ranges::copy(filter.bytes, header.filter_uuid);
    header.number = number;
    header.checksum = XXH3_64bits(&header, offsetof(Header, checksum));
    return header;
}

bool read_all(int fd, void *bytes, std::size_t size, std::uint64_t offset) {
    for (auto *at = static_cast<char *>(bytes); size > 0;) {
        const ssize_t n = ::pread(fd, at, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        offset += static_cast<std::uint64_t>(n);
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

} // namespace

std::string hash_list_name(std::uint64_t number) {
    return std::to_string(number) + ".hashes";
}

HashListWriter::HashListWriter(UniqueFd folder, std::string folder_path, const Uuid &filter, std::uint64_t number)
    : folder_{std::move(folder)}, folder_path_{std::move(folder_path)}, number_{number} {
    const std::string temporary = hash_list_name(number_) + ".new";
    if (disk().unlink(folder_.get(), temporary.c_str()) != 0 && errno != ENOENT)
        throw_errno("remove what was left at", folder_path_ + "/" + temporary);
    fd_ = open_on_disk(folder_.get(), temporary, O_WRONLY | O_CREAT | O_EXCL, 0600, folder_path_ + "/" + temporary);
    to_remove_ = temporary;
    const Header header = make_header(filter, number_);
    seed_ = header.checksum;
    write_at(fd_.get(), std::as_bytes(std::span{&header, 1}), 0, folder_path_ + "/" + to_remove_);
    offset_ = sizeof header;
    pending_.reserve(kChunkHashes);
}

HashListWriter::~HashListWriter() {
    // When this fails, a file stays that the registry does not name: a start removes it.
    if (!to_remove_.empty())
        disk().unlink(folder_.get(), to_remove_.c_str());
}

void HashListWriter::write(std::span<const std::uint64_t> hashes) {
    while (!hashes.empty()) {
        const std::size_t n = std::min(hashes.size(), kChunkHashes - pending_.size());
        pending_.insert(pending_.end(), hashes.begin(), hashes.begin() + static_cast<std::ptrdiff_t>(n));
        hashes = hashes.subspan(n);
        if (pending_.size() == kChunkHashes)
            write_chunk();
    }
}

void HashListWriter::write_chunk() {
    const std::string path = folder_path_ + "/" + to_remove_;
    const Chunk chunk{pending_.size(),
                      XXH3_64bits_withSeed(pending_.data(), pending_.size() * 8, seed_ + chunks_)};
    write_at(fd_.get(), std::as_bytes(std::span{&chunk, 1}), offset_, path);
    write_at(fd_.get(), std::as_bytes(std::span{pending_}), offset_ + sizeof chunk, path);
    offset_ += sizeof chunk + pending_.size() * 8;
    hashes_ += pending_.size();
    chunks_++;
    pending_.clear();
}

HashFileRecord HashListWriter::finish() {
    if (!pending_.empty())
        write_chunk();
    const Chunk end{0, XXH3_64bits_withSeed(&hashes_, sizeof hashes_, seed_ + chunks_)};
    write_at(fd_.get(), std::as_bytes(std::span{&end, 1}), offset_, folder_path_ + "/" + to_remove_);
    sync_to_disk(fd_.get(), folder_path_ + "/" + to_remove_);
    crash_point("hash_list.synced");
    const std::string name = hash_list_name(number_);
    if (disk().rename(folder_.get(), to_remove_.c_str(), name.c_str()) != 0)
        throw_errno("rename into place", folder_path_ + "/" + name);
    to_remove_ = name;
    sync_to_disk(folder_.get(), folder_path_);
    to_remove_.clear();
    return {number_, hashes_};
}

std::string read_hash_list(int folder, const std::string &folder_path, const Uuid &filter, const HashFileRecord &file,
                           const UseHashes &use) {
    const std::string name = hash_list_name(file.number), path = "'" + folder_path + "/" + name + "' ";
    const UniqueFd fd{::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (fd.get() < 0)
        return path + "cannot be opened: " + std::strerror(errno);
    Header header;
    const Header expected = make_header(filter, file.number);
    if (!read_all(fd.get(), &header, sizeof header, 0) || std::memcmp(&header, &expected, sizeof header) != 0)
        return path + "does not begin as the hash list of this filter";
    std::vector<std::uint64_t> hashes;
    std::uint64_t offset = sizeof header, total = 0;
    for (std::uint64_t i = 0;; i++) {
        Chunk chunk{};
        if (!read_all(fd.get(), &chunk, sizeof chunk, offset) || chunk.count > kChunkHashes)
            return path + "ends early, or is damaged at byte " + std::to_string(offset);
        if (chunk.count == 0)
            return chunk.checksum == XXH3_64bits_withSeed(&total, sizeof total, expected.checksum + i) &&
                           total == file.hashes
                       ? ""
                       : path + "has " + std::to_string(total) + " hashes instead of " + std::to_string(file.hashes);
        hashes.resize(chunk.count);
        if (!read_all(fd.get(), hashes.data(), chunk.count * 8, offset + sizeof chunk) ||
            XXH3_64bits_withSeed(hashes.data(), chunk.count * 8, expected.checksum + i) != chunk.checksum)
            return path + "is damaged at byte " + std::to_string(offset);
        use(hashes);
        total += chunk.count;
        offset += sizeof chunk + chunk.count * 8;
    }
}

// By value, a range at a time: what falls into one range is sorted in memory, and the files are read once for each.
std::string compact_hash_lists(int folder, const std::string &folder_path, const Uuid &filter,
                               const std::vector<HashFileRecord> &files, HashListWriter &writer) {
    std::uint64_t total = 0;
    for (const HashFileRecord &file : files)
        total += file.hashes;
    // Hashes are spread evenly, give or take a little.
    const std::uint64_t ranges = total / (kSortedAtOnce - kSortedAtOnce / 8) + 1;
    std::vector<std::uint64_t> sorted;
    for (std::uint64_t range = 0; range < ranges; range++) {
        sorted.clear();
        for (const HashFileRecord &file : files) {
            const std::string wrong =
                read_hash_list(folder, folder_path, filter, file, [&](std::span<const std::uint64_t> hashes) {
                    for (const std::uint64_t hash : hashes)
                        if (shmbloom_multiply_high(hash, ranges) == range)
                            sorted.push_back(hash);
                });
            if (!wrong.empty())
                return wrong;
        }
        std::ranges::sort(sorted);
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        writer.write(sorted);
    }
    return "";
}

} // namespace shmbloom
