// The journal of an instance: every acknowledged add, in order. The loop appends; one helper thread writes and syncs,
// another makes the next file ahead of need. Frames that arrive while a sync runs form the next group, so that one sync
// serves all who wait. Used by the loop's thread only.
//
// What an acknowledgement waits for is the caller's choice: `written`, which outlives this process, or `synced`, which
// outlives the machine's power.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "disk/journal_file.h"
#include "disk/journal_files.h"
#include "sys/helper_thread.h"

namespace shmbloom {

struct DiskError {
    int error; // errno
    std::string text;
};

class Journal {
  public:
    using Post = std::function<void(std::function<void()>)>; // onto the loop, from any thread
    using Done = std::function<void(const std::optional<DiskError> &)>;

    struct Settings {
        int folder = -1; // open as long as the journal lives; replace_folder makes the same number lead elsewhere
        std::string folder_path;
        Uuid state_uuid;
        std::uint64_t next_number = 1; // of a file
        Lsn next = 1;
        Lsn after = 1; // end of the last frame found
        std::vector<JournalFiles::File> found; // of before, in order
        std::uint64_t first_file_bytes = std::uint64_t{4} << 20; // each next one twice as large, up to:
        std::uint64_t file_bytes_max = std::uint64_t{64} << 20;
    };
    struct Host {
        Post post;
        // The registry shall name the file; `named` is called when it durably does, or with the error.
        std::function<void(const JournalFileRecord &, Done named)> name_file;
        std::function<void(Lsn durable)> durable; // everything below is synced; before anybody is told so
        std::function<void(const std::string &why)> sync_failed; // what the disk holds of before is not known
    };

    Journal(Settings settings, Host host);

    // Makes a file, if there is none, so that the first add need not wait for it.
    void prepare() {
        if (!current_)
            make_file();
    }

    // Why nothing can be appended now; nullopt: it can.
    const std::optional<DiskError> &failing() const { return failing_; }
    // Appends; returns the end LSN. Only while not failing. At most 65,536 hashes.
    Lsn append(std::uint64_t filter_number, std::span<const std::uint64_t> hashes);
    void when_written(Lsn end, Done done);
    void when_synced(Lsn end, Done done);
    void sync_all(Done done); // everything appended so far

    Lsn next() const { return next_; }
    Lsn durable() const { return durable_; } // every LSN below is synced
    Lsn written() const { return written_; } // every LSN below is in a file, if that is still there
    // The same, as far as frames on the disk cover every LSN: what may be held against a later start.
    Lsn proven() const { return durable_chain_end_; }

    // Once a second: what was only written is synced; what a frame says of durability is completed; a failing disk is tried
    // again.
    void tick();

    // The folder is not the one any more that a start would read. As after a failed sync nothing of before is trusted; and
    // nothing is appended until `open` has made another one. To be called again, each second, until is_folder_lost() is over.
    // `open` runs on a helper thread and throws std::system_error.
    void replace_folder(const std::string &why, std::function<UniqueFd()> open);
    bool is_folder_lost() const { return folder_lost_; }

    const JournalFiles &files() const { return files_; } // those that took a frame
    void forget_file(std::uint64_t number) { files_.forget(number); }

  private:
    struct Waiter {
        Lsn end;
        Done done;
    };
    using FilePtr = std::shared_ptr<JournalFile>;

    struct Outcome { // of a group
        bool synced = false;
        std::optional<DiskError> write_error, sync_error;
    };

    void make_file(); // ahead of need
    void append_marker();
    void begin_group();
    bool move_to_next_file();
    std::vector<JournalFrame> take_group();
    void write_group(std::vector<JournalFrame> frames);
    void group_ended(Lsn end, Lsn said_durable, const Outcome &outcome);
    void file_made(const FilePtr &file);
    void made_elsewhere();
    void making_failed(const DiskError &error);
    void start_over(const DiskError &error);
    void folder_replaced(const std::optional<DiskError> &error);
    void fail(const DiskError &error);
    static void tell(std::deque<Waiter> &waiters, Lsn end);

    Settings settings_;
    Host host_;
    JournalFiles files_;
    Lsn next_;
    // Ends of the last frame that was appended and did not fail, was written, was synced: what the next one comes after.
    // They are no LSNs below which all is so: what a start found abandoned lies between them and those.
    Lsn chain_end_, written_chain_end_, durable_chain_end_;
    Lsn written_; // every LSN below is written, or abandoned
    Lsn durable_;
    Lsn said_durable_; // what the newest frame says of it
    std::uint64_t next_file_bytes_;
    std::deque<JournalFrame> pending_;
    std::deque<Waiter> wait_written_, wait_synced_;
    std::uint8_t flags_ = 0; // of the next frame
    bool sync_due_ = false;
    bool writing_ = false;
    bool making_ = false;
    bool make_failed_ = false; // since the last tick
    bool folder_lost_ = false, replacing_folder_ = false;
    std::uint64_t folder_number_ = 0; // files that were made in an earlier one are of no use
    std::optional<DiskError> failing_;
    FilePtr current_, ready_;
    FilePtr retired_; // its last frames are not synced yet
    HelperThread maker_, disk_; // last: their jobs use all of the above
};

} // namespace shmbloom
