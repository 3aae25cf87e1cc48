#include "standalone_filter.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <time.h>
#include <unistd.h>

#include "shmbloom/version.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 // Linux 6.1; glibc 2.36 does not name it yet
#endif

namespace shmbloom::bench {

namespace {

constexpr std::uint64_t kGeneration = 1;
constexpr std::uint64_t kSeed = 0x0123456789ABCDEF;
constexpr std::uint64_t kDomain = 0x1122334455667788;

[[noreturn]] void refuse(const std::string &what, int error = errno) {
    throw std::system_error(error, std::generic_category(), what);
}

struct Identity {
    std::uint8_t state_uuid[SHMBLOOM_UUID_BYTES];
    std::uint8_t filter_uuid[SHMBLOOM_UUID_BYTES];
};

// Not random: process id and a count, so that a segment left behind by a kill shows whose it was.
Identity identity_of(std::uint32_t serial) {
    Identity identity;
    const auto pid = static_cast<std::uint32_t>(::getpid());
    for (unsigned i = 0; i < 4; i++) {
        identity.state_uuid[i] = static_cast<std::uint8_t>(pid >> (24 - 8 * i));
        identity.state_uuid[4 + i] = static_cast<std::uint8_t>(serial >> (24 - 8 * i));
    }
    std::memset(identity.state_uuid + 8, 0xBE, 8);
    std::memset(identity.filter_uuid, 0xF1, sizeof identity.filter_uuid);
    return identity;
}

std::string hex(const std::uint8_t *bytes, std::size_t size) {
    std::string text;
    char two[3];
    for (std::size_t i = 0; i < size; i++) {
        std::snprintf(two, sizeof two, "%02x", bytes[i]);
        text += two;
    }
    return text;
}

std::string segment_name_of(std::uint32_t serial) {
    const Identity identity = identity_of(serial);
    std::string filter = hex(identity.filter_uuid, SHMBLOOM_UUID_BYTES);
    for (const std::size_t dash : {8u, 13u, 18u, 23u})
        filter.insert(dash, "-");
    return "/shmbloom." + hex(identity.state_uuid, 8) + "." + filter + "." + std::to_string(kGeneration);
}

// 32 hexadecimal digits with dashes between them.
void read_boot_id(std::uint8_t *boot_id) {
    std::FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        refuse("open '/proc/sys/kernel/random/boot_id'");
    char text[64] = "";
    const bool read = std::fgets(text, sizeof text, file) != nullptr;
    std::fclose(file);
    const char *digits = text;
    for (unsigned i = 0; read && i < SHMBLOOM_UUID_BYTES; i++, digits += 2) {
        digits += *digits == '-';
        unsigned byte = 0;
        std::sscanf(digits, "%2x", &byte);
        boot_id[i] = static_cast<std::uint8_t>(byte);
    }
}

std::uint64_t boottime_ns() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

geometry::Geometry planned(std::uint64_t n, double p, geometry::LayoutChoice layout) {
    auto result = geometry::plan(n, p, layout);
    if (const auto *error = std::get_if<std::string>(&result))
        throw std::invalid_argument(*error);
    return std::get<geometry::Geometry>(result);
}

std::uint32_t next_serial() {
    static std::atomic<std::uint32_t> serial{0};
    return serial++;
}

int create(const std::string &path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (fd < 0)
        refuse("create '" + path + "'");
    return fd;
}

int create_shared(const std::string &name) {
    const int fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640);
    if (fd < 0)
        refuse("create '" + name + "'");
    return fd;
}

// Maps `size` bytes of fd at a multiple of 2 MiB; nullptr when the OS refuses.
std::byte *map_aligned(int fd, std::size_t size) {
    constexpr std::size_t huge = SHMBLOOM_HUGE_PAGE_BYTES;
    void *reserved = ::mmap(nullptr, size + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserved == MAP_FAILED)
        return nullptr;
    // What is reserved around it costs addresses only, and a benchmark ends soon.
    const auto at = (reinterpret_cast<std::uintptr_t>(reserved) + huge - 1) / huge * huge;
    void *memory = ::mmap(reinterpret_cast<void *>(at), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte *>(memory);
}

} // namespace

TemporaryFolder::TemporaryFolder() : path_{"/tmp/shmbloom-bench-" + std::to_string(::getpid()) + "-XXXXXX"} {
    if (!::mkdtemp(path_.data()))
        refuse("make a folder '" + path_ + "'");
}

TemporaryFolder::~TemporaryFolder() {
    ::unlink((path_ + "/control").c_str());
    ::rmdir(path_.c_str());
}

MappedFile::MappedFile(int fd, std::size_t size, const std::string &name) : size_{size} {
    struct stat status {};
    int error = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
    if (error == 0 && (::fchmod(fd, 0640) != 0 || ::fstat(fd, &status) != 0 || !(data_ = map_aligned(fd, size))))
        error = errno;
    ::close(fd);
    if (error != 0)
        refuse("allocate and map '" + name + "'", error);
    dev_ = status.st_dev;
    inode_ = status.st_ino;
}

MappedFile::~MappedFile() {
    ::munmap(data_, size_);
}

SharedObject::SharedObject(std::string name, std::size_t size)
    : name_{std::move(name)}, file_{create_shared(name_), size, name_} {}

SharedObject::~SharedObject() {
    ::shm_unlink(name_.c_str());
}

StandaloneFilter::StandaloneFilter(std::uint64_t n, double p, geometry::LayoutChoice layout)
    : serial_{next_serial()}, geometry_{planned(n, p, layout)},
      segment_{segment_name_of(serial_), geometry_.segment_bytes}, control_{create(folder_.path() + "/control"),
                                                                            SHMBLOOM_CONTROL_BYTES, "control"} {
    write_segment(n, p);
    write_control(n, p);
    set_doubts(0);
}

std::uint64_t StandaloneFilter::hash(const void *key, std::size_t size) const {
    return shmbloom_hash_bytes(key, size, 0, kSeed);
}

std::uint64_t StandaloneFilter::hash_domain() const {
    return shmbloom_hash_domain(kDomain, SHMBLOOM_HASH_XXH3_64, 0, SHMBLOOM_KEY_TYPE_BYTES);
}

std::uint64_t *StandaloneFilter::words() const {
    return reinterpret_cast<std::uint64_t *>(segment_.file().data() + geometry_.bits_offset);
}

void StandaloneFilter::set_doubts(std::uint64_t doubts) {
    const std::uint64_t gate = kGeneration << SHMBLOOM_GENERATION_SHIFT | doubts;
    auto *header = reinterpret_cast<shmbloom_segment_header *>(segment_.file().data());
    auto *slot = reinterpret_cast<shmbloom_slot *>(control_.data() + SHMBLOOM_CONTROL_HEADER_BYTES);
    shmbloom_store_gate(&header->gate, gate);
    shmbloom_store_gate(&slot->gate, gate);
}

void StandaloneFilter::write_segment(std::uint64_t n, double p) {
    // Refused (an old kernel, no huge pages): small pages, and the benchmark shows it.
    if (geometry_.bits_bytes >= SHMBLOOM_HUGE_FROM_BYTES)
        ::madvise(segment_.file().data(), geometry_.segment_bytes, MADV_COLLAPSE);
    const Identity identity = identity_of(serial_);
    auto *header = reinterpret_cast<shmbloom_segment_header *>(segment_.file().data());
    header->magic = SHMBLOOM_SEGMENT_MAGIC;
    header->version = SHMBLOOM_FORMAT_VERSION;
    header->header_bytes = SHMBLOOM_SEGMENT_HEADER_BYTES;
    std::memcpy(header->state_uuid, identity.state_uuid, SHMBLOOM_UUID_BYTES);
    std::memcpy(header->filter_uuid, identity.filter_uuid, SHMBLOOM_UUID_BYTES);
    header->generation = kGeneration;
    header->lineage = kGeneration;
    header->seed = kSeed;
    header->domain = kDomain;
    header->hash_id = SHMBLOOM_HASH_XXH3_64;
    header->key_type = SHMBLOOM_KEY_TYPE_BYTES;
    header->layout = geometry_.shape.layout;
    header->capacity = n;
    header->fpr = p;
    header->size = geometry_.shape.size;
    header->probes = geometry_.shape.probes;
    header->bits_offset = geometry_.bits_offset;
    header->bits_bytes = geometry_.bits_bytes;
    header->segment_bytes = geometry_.segment_bytes;
    header->checksum = shmbloom_header_checksum(header);
}

void StandaloneFilter::write_control(std::uint64_t n, double p) {
    const Identity identity = identity_of(serial_);
    auto *header = reinterpret_cast<shmbloom_control_header *>(control_.data());
    header->magic = SHMBLOOM_CONTROL_MAGIC;
    header->version = SHMBLOOM_FORMAT_VERSION;
    header->header_bytes = SHMBLOOM_CONTROL_HEADER_BYTES;
    read_boot_id(header->boot_id);
    std::memcpy(header->state_uuid, identity.state_uuid, SHMBLOOM_UUID_BYTES);
    std::memset(header->control_uuid, 0xC0, SHMBLOOM_UUID_BYTES);
    std::memcpy(header->writer, SHMBLOOM_VERSION, sizeof SHMBLOOM_VERSION);
    header->slot_count = SHMBLOOM_SLOT_COUNT;
    header->slot_bytes = SHMBLOOM_SLOT_BYTES;
    header->slots_offset = SHMBLOOM_CONTROL_HEADER_BYTES;
    header->next_generation = kGeneration + 1;
    header->heartbeat_ns = boottime_ns();

    auto *slot = reinterpret_cast<shmbloom_slot *>(control_.data() + SHMBLOOM_CONTROL_HEADER_BYTES);
    std::memcpy(slot->uuid, identity.filter_uuid, SHMBLOOM_UUID_BYTES);
    std::strcpy(slot->name, kName);
    slot->seed = kSeed;
    slot->hash_domain = hash_domain();
    slot->generation = kGeneration;
    slot->dev = segment_.file().dev();
    slot->inode = segment_.file().inode();
    slot->capacity = n;
    slot->fpr = p;
    slot->layout = geometry_.shape.layout;
    slot->durability = SHMBLOOM_DURABILITY_MEMORY;
    slot->lineage = kGeneration;
}

} // namespace shmbloom::bench
