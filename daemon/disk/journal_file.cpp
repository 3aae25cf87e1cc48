#include "disk/journal_file.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>

#include "disk/journal_format.h"
#include "shmbloom/key.h"
#include "shmbloom/version.h"

namespace shmbloom {

namespace format = journal_format;

std::size_t JournalFrame::bytes() const {
    return sizeof(format::FrameHeader) + 8 * hashes.size();
}

JournalFile::JournalFile(int folder, const std::string &folder_path, const Uuid &state_uuid, std::uint64_t number,
                         std::uint64_t bytes)
    : path_{folder_path + "/" + std::to_string(number)}, number_{number}, id_{random_u64()}, bytes_{bytes},
      offset_{format::kHeaderBytes},
      fd_{open_on_disk(folder, std::to_string(number), O_RDWR | O_CREAT | O_TRUNC, 0600, path_)} {
    try {
        allocate_on_disk(fd_.get(), bytes_, path_);
        write_zeros();
        write_header(state_uuid);
        sync_to_disk(fd_.get(), path_);
        sync_to_disk(folder, folder_path);
    } catch (...) {
        disk().unlink(folder, std::to_string(number).c_str());
        throw;
    }
}

// Allocated blocks alone are "unwritten": the first write into each would change the file system's books at its sync.
void JournalFile::write_zeros() {
    const std::vector<std::byte> zeros(std::min<std::uint64_t>(bytes_, 1 << 20));
    for (std::uint64_t at = 0; at < bytes_; at += zeros.size())
        write_at(fd_.get(), Bytes{zeros}.first(std::min<std::uint64_t>(zeros.size(), bytes_ - at)), at, path_);
}

void JournalFile::write_header(const Uuid &state_uuid) {
    format::FileHeader header{};
    header.magic = format::kMagic;
    header.version = format::kVersion;
    header.header_bytes = format::kHeaderBytes;
    std::ranges::copy(state_uuid.bytes, header.state_uuid);
    header.number = number_;
    header.file_id = id_;
    std::strncpy(header.writer, SHMBLOOM_VERSION, sizeof header.writer - 1);
    header.checksum = XXH3_64bits(&header, offsetof(format::FileHeader, checksum));
    write_at(fd_.get(), std::as_bytes(std::span{&header, 1}), 0, path_);
}

void JournalFile::write(const std::vector<JournalFrame> &frames) {
    buffer_.clear();
    for (const JournalFrame &frame : frames) {
        format::FrameHeader header{};
        header.magic = format::kFrameMagic;
        header.header_bytes = sizeof header;
        header.type = frame.type;
        header.flags = frame.flags;
        header.filter_number = frame.filter_number;
        header.count = static_cast<std::uint32_t>(frame.hashes.size());
        header.first_lsn = frame.first;
        header.after_lsn = frame.after;
        header.durable_lsn = frame.durable;
        header.time_ns = frame.time_ns;
        const auto before = XXH3_64bits_withSeed(&header, offsetof(format::FrameHeader, checksum), id_);
        header.checksum = XXH3_64bits_withSeed(frame.hashes.data(), 8 * frame.hashes.size(), before);
        const Bytes head = std::as_bytes(std::span{&header, 1}), body = std::as_bytes(std::span{frame.hashes});
        buffer_.insert(buffer_.end(), head.begin(), head.end());
        buffer_.insert(buffer_.end(), body.begin(), body.end());
    }
    write_at(fd_.get(), buffer_, offset_, path_);
    offset_ += buffer_.size();
}

void JournalFile::sync() {
    sync_to_disk(fd_.get(), path_);
}

} // namespace shmbloom
