#include "store/shared_memory.h"

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/mman.h>

#include "shmbloom/layout.h"
#include "sys/os_error.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // glibc 2.36 does not name it yet; Linux 6.1
#endif
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace shmbloom {
namespace {

namespace ipc = boost::interprocess;

// posix_fallocate begins again from the start at each EINTR; a timer signal would keep it from ever ending.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t before_;
};

std::size_t round_up(std::size_t n, std::size_t unit) {
    return (n + unit - 1) / unit * unit;
}

// An address that is a multiple of 2 MiB, with `size` bytes behind it reserved. Huge pages need it, and the kernel
// promises no alignment by itself.
void *reserve_aligned(std::size_t size, const std::string &name) {
    constexpr std::size_t unit = SHMBLOOM_HUGE_PAGE_BYTES;
    const std::size_t length = round_up(size, 4096);
    void *const base = ::mmap(nullptr, length + unit, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        throw_errno("reserve addresses for", name);
    const std::size_t head = round_up(reinterpret_cast<std::uintptr_t>(base), unit) - reinterpret_cast<std::uintptr_t>(base);
    std::byte *const aligned = static_cast<std::byte *>(base) + head;
    if (head != 0)
        ::munmap(base, head);
    if (head != unit)
        ::munmap(aligned + length, unit - head);
    return aligned;
}

[[noreturn]] void rethrow(const ipc::interprocess_exception &error, std::string_view what, const std::string &name) {
    throw_errno(error.get_native_error() != 0 ? error.get_native_error() : EIO, what, name);
}

ipc::permissions group_may_read() {
    ipc::permissions permissions;
    permissions.set_permissions(0640);
    return permissions;
}

} // namespace

struct SharedMemory::Region {
    ipc::shared_memory_object object;
    ipc::mapped_region region;
};

SharedMemory::SharedMemory(Create, const std::string &name, std::size_t size, std::size_t huge_from) : size_{size} {
    try {
        region_ = std::make_unique<Region>();
        region_->object = ipc::shared_memory_object{ipc::create_only, name.c_str(), ipc::read_write, group_may_read()};
    } catch (const ipc::interprocess_exception &error) {
        rethrow(error, "create the shared memory", name);
    }
    try {
        const int fd = region_->object.get_mapping_handle().handle;
        const SignalsBlocked blocked;
        if (::ftruncate(fd, static_cast<off_t>(size)) != 0)
            throw_errno("set the size of", name);
        map(fd);
        if (huge_from != 0)
            make_huge(fd, huge_from);
        // Not Boost's truncate: in 1.74 it leaves holes, and a hole met when /dev/shm is full is a SIGBUS.
        if (const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(size)); error != 0)
            throw_errno(error, "allocate " + std::to_string(size) + " bytes for", name);
        populate();
    } catch (...) {
        ipc::shared_memory_object::remove(name.c_str());
        throw;
    }
}

SharedMemory::SharedMemory(Attach, const std::string &name) {
    try {
        region_ = std::make_unique<Region>();
        region_->object = ipc::shared_memory_object{ipc::open_only, name.c_str(), ipc::read_write};
        ipc::offset_t size = 0;
        if (!region_->object.get_size(size) || size <= 0)
            throw_errno(EBADMSG, "use the empty shared memory", name);
        size_ = static_cast<std::size_t>(size);
    } catch (const ipc::interprocess_exception &error) {
        rethrow(error, "open the shared memory", name);
    }
    const int fd = region_->object.get_mapping_handle().handle;
    // Before it is mapped, since that fills holes with zeros.
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw_errno("look at the shared memory", name);
    has_holes_ = static_cast<std::uint64_t>(status.st_blocks) * 512 < size_;
    map(fd);
    populate();
}

SharedMemory::~SharedMemory() = default;

void SharedMemory::map(int fd) {
    id_ = file_id(fd);
    const std::string name = region_->object.get_name();
    void *const address = reserve_aligned(size_, name);
    try {
        region_->region =
            ipc::mapped_region{region_->object, ipc::read_write, 0, size_, address, MAP_SHARED | MAP_FIXED};
    } catch (const ipc::interprocess_exception &error) {
        ::munmap(address, size_);
        rethrow(error, "map the shared memory", name);
    }
    data_ = static_cast<std::byte *>(region_->region.get_address());
}

// The pages are there: enter them now, so that no add waits for a page fault. Refusal (old kernel) is fine.
void SharedMemory::populate() {
    ::madvise(data_, size_, MADV_POPULATE_READ);
}

// While nearly nothing is allocated yet: huge pages come cleared, and little has to be copied into them, which takes a
// fraction of the time. One small page in each, since the kernel leaves what is empty as it is.
void SharedMemory::make_huge(int fd, std::size_t from) {
    const std::size_t end = size_ / SHMBLOOM_HUGE_PAGE_BYTES * SHMBLOOM_HUGE_PAGE_BYTES;
    for (std::size_t at = from; at < end; at += SHMBLOOM_HUGE_PAGE_BYTES)
        if (::posix_fallocate(fd, static_cast<off_t>(at), 4096) != 0)
            return; // who asks for all of it is told why
    if (end > from)
        ::madvise(data_ + from, end - from, MADV_COLLAPSE);
}

std::size_t SharedMemory::huge_page_bytes() const {
    if (size_ < SHMBLOOM_HUGE_PAGE_BYTES)
        return 0; // without a walk through every page of this process
    std::ifstream maps{"/proc/self/smaps"};
    char begin[32];
    std::snprintf(begin, sizeof begin, "%lx-", reinterpret_cast<unsigned long>(data_));
    constexpr std::string_view key = "ShmemPmdMapped:";
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.starts_with(begin))
            here = true;
        else if (here && line.starts_with(key))
            return std::stoull(line.substr(key.size())) * 1024;
    }
    return 0;
}

std::optional<FileId> shared_memory_id(const std::string &name) {
    const UniqueFd fd{::shm_open(name.c_str(), O_RDONLY, 0)};
    if (fd)
        return file_id(fd.get());
    if (errno == ENOENT)
        return std::nullopt;
    throw_errno("open the shared memory", name);
}

bool remove_shared_memory(const std::string &name, FileId id) {
    try {
        return shared_memory_id(name) == id && ::shm_unlink(name.c_str()) == 0;
    } catch (const std::system_error &) {
        return false;
    }
}

bool remove_unfinished_shared_memory(const std::string &name) {
    const UniqueFd fd{::shm_open(name.c_str(), O_RDONLY, 0)};
    struct stat status {};
    return fd && ::fstat(fd.get(), &status) == 0 && status.st_uid == ::geteuid() && ::shm_unlink(name.c_str()) == 0;
}

} // namespace shmbloom
