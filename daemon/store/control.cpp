#include "store/control.h"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

#include "shmbloom/version.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

void *map_control(int fd) {
    void *const memory = ::mmap(nullptr, SHMBLOOM_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

void copy_part(shmbloom_slot *target, const shmbloom_slot &content, std::size_t begin) {
    shmbloom_copy_to_shared(reinterpret_cast<std::byte *>(target) + begin,
                            reinterpret_cast<const std::byte *>(&content) + begin, sizeof content - begin);
}

} // namespace

Control::Control(std::string path, UniqueFd fd, void *memory)
    : path_{std::move(path)}, fd_{std::move(fd)}, memory_{memory}, id_{file_id(fd_.get())} {}

Control::Control(Create, const std::string &folder, const Uuid &state_uuid, const Uuid &boot)
    : path_{folder + "/control"}, temporary_{path_ + ".new"} {
    ::unlink(temporary_.c_str());
    fd_ = UniqueFd{::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640)};
    if (!fd_)
        throw_errno("create", temporary_);
    if (::fchmod(fd_.get(), 0640) != 0)
        throw_errno("set the mode of", temporary_);
    // A hole touched by a reader while the file system is full would be a SIGBUS in the worker.
    if (const int error = ::posix_fallocate(fd_.get(), 0, SHMBLOOM_CONTROL_BYTES); error != 0)
        throw_errno(error, "allocate", temporary_);
    memory_ = map_control(fd_.get());
    if (memory_ == nullptr)
        throw_errno("map", temporary_);
    id_ = file_id(fd_.get());

    shmbloom_control_header content{};
    content.magic = SHMBLOOM_CONTROL_MAGIC;
    content.version = SHMBLOOM_FORMAT_VERSION;
    content.header_bytes = SHMBLOOM_CONTROL_HEADER_BYTES;
    std::ranges::copy(boot.bytes, content.boot_id);
    std::ranges::copy(state_uuid.bytes, content.state_uuid);
    std::ranges::copy(Uuid::random().bytes, content.control_uuid);
    std::memcpy(content.writer, SHMBLOOM_VERSION, sizeof SHMBLOOM_VERSION);
    content.slot_count = SHMBLOOM_SLOT_COUNT;
    content.slot_bytes = SHMBLOOM_SLOT_BYTES;
    content.slots_offset = SHMBLOOM_CONTROL_HEADER_BYTES;
    std::memcpy(memory_, &content, sizeof content);
}

std::unique_ptr<Control> Control::open(const std::string &folder, std::string &reason) {
    const std::string path = folder + "/control";
    UniqueFd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
    if (!fd) {
        reason = errno == ENOENT ? "there is none" : std::string{std::strerror(errno)};
        return nullptr;
    }
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < SHMBLOOM_CONTROL_BYTES) {
        reason = "it is not a control file";
        return nullptr;
    }
    void *const memory = map_control(fd.get());
    if (memory == nullptr) {
        reason = std::strerror(errno);
        return nullptr;
    }
    std::unique_ptr<Control> control{new Control{path, std::move(fd), memory}};
    const shmbloom_control_header *header = control->header();
    if (header->magic != SHMBLOOM_CONTROL_MAGIC || header->version != SHMBLOOM_FORMAT_VERSION ||
        header->header_bytes != SHMBLOOM_CONTROL_HEADER_BYTES || header->incompat != SHMBLOOM_KNOWN_INCOMPAT ||
        header->slot_count != SHMBLOOM_SLOT_COUNT || header->slot_bytes != SHMBLOOM_SLOT_BYTES ||
        header->slots_offset != SHMBLOOM_CONTROL_HEADER_BYTES) {
        reason = "its format is not this daemon's";
        return nullptr;
    }
    return control;
}

Control::~Control() {
    if (memory_ != nullptr)
        ::munmap(memory_, SHMBLOOM_CONTROL_BYTES);
    if (!temporary_.empty())
        ::unlink(temporary_.c_str());
}

void Control::publish() {
    crash_point("control.built");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
        throw_errno("rename into place", path_);
    temporary_.clear();
    crash_point("control.published");
}

Uuid Control::uuid() const {
    return Uuid::from(header()->control_uuid);
}

Uuid Control::state_uuid() const {
    return Uuid::from(header()->state_uuid);
}

Uuid Control::boot() const {
    return Uuid::from(header()->boot_id);
}

bool Control::is_in_place() const {
    try {
        return file_id_at(path_) == id_;
    } catch (const std::system_error &) {
        return false;
    }
}

std::uint64_t Control::next_generation() const {
    return shmbloom_load_field(&header()->next_generation);
}

void Control::set_next_generation(std::uint64_t generation) {
    shmbloom_store_field(&header()->next_generation, generation);
}

std::uint64_t Control::durable_lsn() const {
    return shmbloom_load_field(&header()->applied_lsn);
}

void Control::set_durable_lsn(std::uint64_t lsn) {
    shmbloom_store_field(&header()->applied_lsn, lsn);
}

void Control::set_daemon_pid(std::uint64_t pid) {
    shmbloom_store_field(&header()->daemon_pid, pid);
}

void Control::beat() {
    shmbloom_store_field(&header()->heartbeat_ns, boottime_ns());
}

void Control::raise_name_counter() {
    // Release: whoever sees the new number finds the gate and the name that were stored before it.
    __atomic_fetch_add(&header()->name_counter, 1, __ATOMIC_RELEASE);
}

shmbloom_slot *Control::slot(std::size_t index) const {
    return reinterpret_cast<shmbloom_slot *>(static_cast<std::byte *>(memory_) + SHMBLOOM_CONTROL_HEADER_BYTES) + index;
}

std::optional<std::size_t> Control::free_slot() const {
    for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        if (shmbloom_load_gate(&slot(i)->gate) >> SHMBLOOM_GENERATION_SHIFT == 0)
            return i;
    return std::nullopt;
}

std::uint64_t Control::write_slot(std::size_t index, const shmbloom_slot &content) {
    shmbloom_slot *const target = slot(index);
    const std::uint64_t before = __atomic_exchange_n(&target->gate, 0, __ATOMIC_RELAXED);
    // A reader that sees any new field sees the gate 0 or a later one, and throws its copy away.
    __atomic_thread_fence(__ATOMIC_RELEASE);
    copy_part(target, content, offsetof(shmbloom_slot, uuid));
    return before;
}

void Control::write_status(std::size_t index, const shmbloom_slot &content) {
    copy_part(slot(index), content, offsetof(shmbloom_slot, capacity));
}

void Control::end_all_gates() {
    for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        shmbloom_store_gate(&slot(i)->gate, 0);
}

} // namespace shmbloom
