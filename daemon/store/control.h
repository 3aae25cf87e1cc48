// The control file: what workers map first. One writer, the daemon that holds the lock beside it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "shmbloom/layout.h"
#include "sys/files.h"
#include "sys/uuid.h"

namespace shmbloom {

class Control {
  public:
    struct Create {};

    // Builds `<folder>/control` under another name, every page allocated and every gate 0; `publish` puts it in place.
    // Throws std::system_error.
    Control(Create, const std::string &folder, const Uuid &state_uuid, const Uuid &boot);

    // Maps what stands at `<folder>/control`: null when nothing does, or nothing of this format (`reason` says what).
    static std::unique_ptr<Control> open(const std::string &folder, std::string &reason);

    ~Control();
    Control(const Control &) = delete;
    Control &operator=(const Control &) = delete;

    void publish(); // rename into place. Throws std::system_error

    const std::string &path() const { return path_; }
    FileId id() const { return id_; }
    Uuid uuid() const;
    Uuid state_uuid() const;
    Uuid boot() const;
    bool is_in_place() const; // the path still leads to this file

    std::uint64_t next_generation() const;
    void set_next_generation(std::uint64_t generation);
    // Every LSN of the journal below it is synced: what a start without the journal would still know.
    std::uint64_t durable_lsn() const;
    void set_durable_lsn(std::uint64_t lsn);
    void set_daemon_pid(std::uint64_t pid);
    void beat(); // heartbeat: now
    void raise_name_counter(); // after a name came, went or was made anew

    shmbloom_slot *slot(std::size_t index) const;
    std::optional<std::size_t> free_slot() const;

    // (Re)writes a slot whose filter changes: gate 0, fence, all else, gate left 0 for Gates::open. Returns the gate that
    // stood there: an operator may have set `paused` in it a moment ago.
    std::uint64_t write_slot(std::size_t index, const shmbloom_slot &content);
    // What `status` shows: everything from `capacity` on. Changes no gate and no identity.
    void write_status(std::size_t index, const shmbloom_slot &content);
    void end_all_gates();

  private:
    Control(std::string path, UniqueFd fd, void *memory);
    shmbloom_control_header *header() const { return static_cast<shmbloom_control_header *>(memory_); }

    std::string path_;
    std::string temporary_; // empty once published
    UniqueFd fd_;
    void *memory_;
    FileId id_;
};

} // namespace shmbloom
