// One file of the journal, as it is written. See journal_format.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "disk/lsn.h"
#include "sys/disk.h"
#include "sys/uuid.h"

namespace shmbloom {

// What the registry says of a file.
struct JournalFileRecord {
    std::uint64_t number = 0;
    std::uint64_t id = 0;

    friend bool operator==(const JournalFileRecord &, const JournalFileRecord &) = default;
};

// Adds of one filter that stand together.
struct JournalFrame {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::uint64_t filter_number = 0;
    Lsn first = 0;
    Lsn after = 0;   // end of the frame before
    Lsn durable = 0; // synced below, before this was written
    std::uint64_t time_ns = 0;
    std::vector<std::uint64_t> hashes;

    Lsn end() const { return first + hashes.size(); }
    std::size_t bytes() const;
};

class JournalFile {
  public:
    // Makes file `number` in the journal's folder, zeroed and synced, so that writing into it needs no room and no change
    // of the file system's own books. Throws std::system_error; then it is removed again.
    JournalFile(int folder, const std::string &folder_path, const Uuid &state_uuid, std::uint64_t number,
                std::uint64_t bytes);

    JournalFileRecord record() const { return {number_, id_}; }
    const std::string &path() const { return path_; }
    std::uint64_t room() const { return bytes_ - offset_; }
    std::uint64_t bytes() const { return bytes_; }

    // Writes frames behind those that are there. Throws; then the next ones go to the same place.
    void write(const std::vector<JournalFrame> &frames);
    void sync(); // what was written before. Throws

  private:
    void write_zeros();
    void write_header(const Uuid &state_uuid);

    std::string path_;
    std::uint64_t number_;
    std::uint64_t id_;
    std::uint64_t bytes_;
    std::uint64_t offset_;
    UniqueFd fd_;
    std::vector<std::byte> buffer_;
};

} // namespace shmbloom
