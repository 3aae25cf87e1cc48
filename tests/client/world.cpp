#include "world.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace shmbloom::test {
namespace {

void check(bool ok, const std::string &what) {
    if (!ok)
        throw std::runtime_error{what + ": " + std::strerror(errno)};
}

void fill_uuid(std::uint8_t *uuid) {
    static std::random_device random;
    for (std::size_t i = 0; i < SHMBLOOM_UUID_BYTES; i++)
        uuid[i] = static_cast<std::uint8_t>(random());
}

std::string hex(const std::uint8_t *bytes, std::size_t begin, std::size_t end) {
    std::string text;
    char digits[3];
    for (std::size_t i = begin; i < end; i++) {
        std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
        text += digits;
    }
    return text;
}

std::string text_of(const std::uint8_t *u) {
    return hex(u, 0, 4) + "-" + hex(u, 4, 6) + "-" + hex(u, 6, 8) + "-" + hex(u, 8, 10) + "-" + hex(u, 10, 16);
}

void read_boot_id(std::uint8_t *uuid) {
    FILE *file = std::fopen("/proc/sys/kernel/random/boot_id", "r");
    check(file != nullptr, "boot_id");
    for (std::size_t i = 0; i < SHMBLOOM_UUID_BYTES; i++) {
        unsigned value = 0;
        check(std::fscanf(file, i == 4 || i == 6 || i == 8 || i == 10 ? "-%2x" : "%2x", &value) == 1, "boot_id");
        uuid[i] = static_cast<std::uint8_t>(value);
    }
    std::fclose(file);
}

std::uint64_t round_up(std::uint64_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
}

} // namespace

Segment::Segment(const std::string &name, const shmbloom_segment_header &header)
    : name_{name}, fd_{::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640)}, bytes_{header.segment_bytes},
      bits_offset_{header.bits_offset} {
    check(fd_ >= 0, name);
    check((errno = ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes_))) == 0, "posix_fallocate");
    void *base = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    check(base != MAP_FAILED, "mmap");
    base_ = static_cast<char *>(base);
    std::memcpy(base_, &header, sizeof header);
    seal();
}

Segment::~Segment() {
    ::munmap(base_, bytes_);
    ::close(fd_);
    remove_name();
}

shmbloom_segment_header *Segment::header() const {
    return reinterpret_cast<shmbloom_segment_header *>(base_);
}

std::uint64_t *Segment::words() const {
    return reinterpret_cast<std::uint64_t *>(base_ + bits_offset_);
}

void Segment::seal() {
    header()->checksum = shmbloom_header_checksum(header());
}

void Segment::corrupt_byte(std::size_t offset) {
    base_[offset] = static_cast<char>(base_[offset] ^ 0x5A);
}

void Segment::remove_name() {
    ::shm_unlink(name_.c_str());
}

World::World() : folder_{"/tmp/shmbloom-test-" + std::to_string(::getpid()) + "-XXXXXX"} {
    check(::mkdtemp(folder_.data()) != nullptr, folder_);
    ::chmod(folder_.c_str(), 0755);
    map_control(true);
    shmbloom_control_header *h = control();
    h->magic = SHMBLOOM_CONTROL_MAGIC;
    h->version = SHMBLOOM_FORMAT_VERSION;
    h->header_bytes = SHMBLOOM_CONTROL_HEADER_BYTES;
    read_boot_id(h->boot_id);
    fill_uuid(h->state_uuid);
    const pid_t pid = ::getpid(); // whose names these are, should they be left behind
    std::memcpy(h->state_uuid, &pid, sizeof pid);
    fill_uuid(h->control_uuid);
    h->slot_count = SHMBLOOM_SLOT_COUNT;
    h->slot_bytes = SHMBLOOM_SLOT_BYTES;
    h->slots_offset = SHMBLOOM_CONTROL_HEADER_BYTES;
    h->daemon_pid = 4711;
}

World::~World() {
    ::munmap(control_, SHMBLOOM_CONTROL_BYTES);
    for (void *control : old_controls_)
        ::munmap(control, SHMBLOOM_CONTROL_BYTES);
    ::unlink(control_path().c_str());
    ::unlink((folder_ + "/socket").c_str());
    ::rmdir(folder_.c_str());
}

void World::map_control(bool create) {
    const std::string path = control_path() + (create ? "" : ".new");
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    check(fd >= 0, path);
    check((errno = ::posix_fallocate(fd, 0, SHMBLOOM_CONTROL_BYTES)) == 0, "posix_fallocate");
    void *base = ::mmap(nullptr, SHMBLOOM_CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(base != MAP_FAILED, "mmap");
    ::close(fd);
    if (control_ != nullptr) {
        std::memcpy(base, control_, SHMBLOOM_CONTROL_BYTES);
        old_controls_.push_back(control_);
    }
    control_ = static_cast<char *>(base);
}

shmbloom_control_header *World::control() const {
    return reinterpret_cast<shmbloom_control_header *>(control_);
}

shmbloom_slot *World::slot(std::size_t index) const {
    return reinterpret_cast<shmbloom_slot *>(control_ + SHMBLOOM_CONTROL_HEADER_BYTES) + index;
}

std::unique_ptr<Segment> World::make_segment(const Filter &filter) {
    shmbloom_segment_header h{};
    h.magic = SHMBLOOM_SEGMENT_MAGIC;
    h.version = SHMBLOOM_FORMAT_VERSION;
    h.header_bytes = sizeof h;
    std::memcpy(h.state_uuid, control()->state_uuid, sizeof h.state_uuid);
    std::memcpy(h.filter_uuid, filter.uuid, sizeof h.filter_uuid);
    h.generation = h.lineage = filter.generation;
    h.seed = filter.spec.seed;
    h.domain = filter.spec.domain;
    h.hash_id = SHMBLOOM_HASH_XXH3_64;
    h.normalization = filter.spec.normalization;
    h.key_type = filter.spec.key_type;
    h.layout = filter.spec.shape.layout;
    h.capacity = 1000;
    h.fpr = 0.01;
    h.size = filter.spec.shape.size;
    h.probes = filter.spec.shape.probes;
    h.bits_offset = filter.spec.huge ? SHMBLOOM_HUGE_PAGE_BYTES : SHMBLOOM_SEGMENT_HEADER_BYTES;
    h.bits_bytes = shmbloom_shape_bytes(&filter.spec.shape);
    h.segment_bytes = round_up(h.bits_offset + h.bits_bytes);
    return std::make_unique<Segment>("/shmbloom." + hex(h.state_uuid, 0, 8) + "." + text_of(filter.uuid) + "." +
                                         std::to_string(filter.generation),
                                     h);
}

void World::write_slot(const Filter &filter) {
    shmbloom_slot content{};
    struct stat status {};
    check(::fstat(filter.segment->fd(), &status) == 0, "fstat");
    const shmbloom_segment_header &h = *filter.segment->header();
    std::memcpy(content.uuid, filter.uuid, sizeof content.uuid);
    std::memcpy(content.name, filter.name.data(), filter.name.size());
    content.seed = h.seed;
    content.hash_domain = shmbloom_hash_domain(h.domain, h.hash_id, h.normalization, h.key_type);
    content.normalization = h.normalization;
    content.key_type = h.key_type;
    content.generation = filter.generation;
    content.dev = status.st_dev;
    content.inode = status.st_ino;
    content.capacity = h.capacity;
    content.fpr = h.fpr;
    content.layout = h.layout;
    content.durability = SHMBLOOM_DURABILITY_MEMORY;
    content.lineage = h.lineage;
    char *target = reinterpret_cast<char *>(slot(filter));
    set_control_gate(filter, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    constexpr std::size_t begin = offsetof(shmbloom_slot, uuid);
    shmbloom_copy_to_shared(target + begin, reinterpret_cast<const char *>(&content) + begin, sizeof content - begin);
}

Filter &World::create(const std::string &name, const Spec &spec, std::size_t from) {
    auto filter = std::make_unique<Filter>();
    filter->name = name;
    filter->spec = spec;
    fill_uuid(filter->uuid);
    filter->slot = from;
    while (shmbloom_load_gate(&slot(filter->slot)->gate) != 0)
        filter->slot++;
    filter->generation = next_generation_++;
    filter->segment = make_segment(*filter);
    write_slot(*filter);
    set_doubts(*filter, spec.doubts);
    raise_name_counter();
    return *(filters_[name] = std::move(filter));
}

void World::drop(Filter &filter) {
    set_segment_gate(filter, 0);
    set_control_gate(filter, 0);
    raise_name_counter();
    filter.segment->remove_name();
}

Filter *World::find(const std::string &name) const {
    const auto found = filters_.find(name);
    return found == filters_.end() ? nullptr : found->second.get();
}

void World::switch_generation(Filter &filter, const std::function<void()> &fill) {
    auto old = std::move(filter.segment);
    filter.generation = next_generation_++;
    filter.segment = make_segment(filter);
    fill();
    struct stat status {};
    check(::fstat(filter.segment->fd(), &status) == 0, "fstat");
    shmbloom_slot *target = slot(filter);
    shmbloom_store_field(&target->generation, 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    shmbloom_store_field(&target->dev, status.st_dev);
    shmbloom_store_field(&target->inode, status.st_ino);
    shmbloom_store_field(&target->lineage, filter.generation);
    __atomic_store_n(&target->generation, filter.generation, __ATOMIC_RELEASE);
    set_doubts(filter, 0);
    shmbloom_store_gate(&old->header()->gate, 0);
    old->remove_name();
    old_.push_back(std::move(old));
}

void World::set_doubts(const Filter &filter, std::uint64_t doubts) {
    const std::uint64_t gate = filter.generation << SHMBLOOM_GENERATION_SHIFT | doubts;
    set_segment_gate(filter, gate);
    set_control_gate(filter, gate);
}

void World::set_control_gate(const Filter &filter, std::uint64_t gate) {
    shmbloom_store_gate(&slot(filter)->gate, gate);
}

void World::set_segment_gate(const Filter &filter, std::uint64_t gate) {
    shmbloom_store_gate(&filter.segment->header()->gate, gate);
}

void World::raise_name_counter() {
    __atomic_fetch_add(&control()->name_counter, 1, __ATOMIC_RELEASE);
}

void World::add(const Filter &filter, std::string_view key) {
    shmbloom_set_bits(filter.segment->words(), &filter.spec.shape,
                      shmbloom_hash_bytes(key.data(), key.size(), filter.spec.normalization, filter.spec.seed));
}

void World::add(const Filter &filter, std::uint64_t key) {
    shmbloom_set_bits(filter.segment->words(), &filter.spec.shape, shmbloom_hash_number(key, filter.spec.seed));
}

void World::replace_control() {
    map_control(false);
    fill_uuid(control()->control_uuid);
    check(::rename((control_path() + ".new").c_str(), control_path().c_str()) == 0, "rename");
}

void World::remove_control() {
    check(::unlink(control_path().c_str()) == 0, "unlink");
}

void World::truncate_control(std::size_t bytes) {
    check(::truncate(control_path().c_str(), static_cast<off_t>(bytes)) == 0, "truncate");
}

shmbloom_options options_for(const World &world) {
    shmbloom_options options{};
    options.struct_size = sizeof options;
    options.runtime_dir = world.folder().c_str();
    return options;
}

Handle open(const World &world, const std::string &name, std::int32_t add_timeout_ms) {
    shmbloom_options options = options_for(world);
    options.add_timeout_ms = add_timeout_ms;
    return open(name, options);
}

Handle open(const std::string &name, shmbloom_options options) {
    shmbloom_filter *f = nullptr;
    char text[512] = "";
    options.error_text = text;
    options.error_text_size = sizeof text;
    EXPECT_EQ(shmbloom_open(&f, name.c_str(), &options), 0) << text;
    return Handle{f};
}

int open_error(const World &world, const std::string &name, std::string *text) {
    shmbloom_filter *f = nullptr;
    char line[512] = "";
    shmbloom_options options = options_for(world);
    options.error_text = line;
    options.error_text_size = sizeof line;
    const int r = shmbloom_open(&f, name.c_str(), &options);
    if (r == 0)
        shmbloom_close(f);
    else
        EXPECT_EQ(f, nullptr);
    if (text != nullptr)
        *text = line;
    return r;
}

int contains(const Handle &handle, std::string_view key) {
    return shmbloom_contains(handle.get(), key.data(), key.size());
}

shmbloom_info info(const Handle &handle) {
    shmbloom_info ret{};
    ret.struct_size = sizeof ret;
    EXPECT_EQ(shmbloom_get_info(handle.get(), &ret), 0);
    return ret;
}

std::vector<Spec> every_shape() {
    return {Spec{}, Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 40}}, Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 3, 40}},
            Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 1000}, .huge = true},
            Spec{.shape = {SHMBLOOM_LAYOUT_CLASSIC, 64, 1 << 20}},
            // Too large for the plain way.
            Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 40'000}}, Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 3, 40'000}},
            Spec{.shape = {SHMBLOOM_LAYOUT_CLASSIC, 7, 20'000'000}}};
}

bool eventually(const std::function<bool()> &is_so) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{5};
    while (!is_so()) {
        if (std::chrono::steady_clock::now() > deadline)
            return false;
        ::poll(nullptr, 0, 1);
    }
    return true;
}

int in_child(const std::function<int()> &run) {
    const pid_t pid = ::fork();
    if (pid == 0)
        ::_exit(run());
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

} // namespace shmbloom::test
