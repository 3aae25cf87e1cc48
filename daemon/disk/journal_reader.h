// Reads one file of the journal, whatever is in it: every frame that is whole, past whatever is not.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "disk/journal_file.h"
#include "disk/lsn.h"
#include "sys/unique_fd.h"
#include "sys/uuid.h"

namespace shmbloom {

// A frame as it lies in the reader's memory, until the next call.
struct JournalFrameView {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::uint64_t filter_number = 0;
    Lsn first = 0;
    Lsn after = 0;
    Lsn durable = 0;
    std::uint64_t time_ns = 0;
    std::span<const std::uint64_t> hashes;

    Lsn end() const { return first + hashes.size(); }
};

class JournalReader {
  public:
    // Null when there is no such file, or it is not a file of a journal; `reason` says what, with the path.
    static std::unique_ptr<JournalReader> open(int folder, const std::string &folder_path, std::uint64_t number,
                                               std::string &reason);

    const std::string &path() const { return path_; }
    const Uuid &state_uuid() const { return state_uuid_; }
    JournalFileRecord record() const { return record_; }
    int fd() const { return fd_.get(); }

    std::optional<JournalFrameView> next();
    void rewind(); // also what was counted

    // Of what was read so far: where the first byte stands that is neither of a frame nor zero, and how many there are.
    std::optional<std::uint64_t> first_bad() const { return first_bad_; }
    std::uint64_t bad_bytes() const { return bad_bytes_; }
    const std::string &read_error() const { return read_error_; }

  private:
    JournalReader() = default;
    bool read_header(std::string &reason);
    bool have(std::size_t bytes); // from offset_ on, in the window
    std::optional<JournalFrameView> frame_here();
    void skip_to_magic();
    void note_bad(std::uint64_t bytes);
    const std::byte *here() const { return window_.data() + (offset_ - window_start_); }

    std::string path_;
    UniqueFd fd_;
    Uuid state_uuid_;
    JournalFileRecord record_;
    std::uint64_t size_ = 0, start_ = 0, offset_ = 0;
    std::uint64_t window_start_ = 0;
    std::vector<std::byte> window_;
    std::size_t window_bytes_ = 65536; // of the next window: a look at the first frame shall be cheap
    std::optional<std::uint64_t> first_bad_;
    std::uint64_t bad_bytes_ = 0;
    std::string read_error_;
};

} // namespace shmbloom
