#include "memory_view.h"

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shmbloom::test {

struct MemoryView::Mapping {
    void *base = MAP_FAILED;
    std::size_t size = 0;

    explicit Mapping(const std::string &path) {
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        struct stat status {};
        if (fd >= 0 && ::fstat(fd, &status) == 0) {
            size = static_cast<std::size_t>(status.st_size);
            base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        }
        if (fd >= 0)
            ::close(fd);
        if (base == MAP_FAILED)
            throw std::runtime_error{"cannot map " + path};
    }
    ~Mapping() { ::munmap(base, size); }
    Mapping(const Mapping &) = delete;
    Mapping &operator=(const Mapping &) = delete;
};

MemoryView::MemoryView(const std::string &runtime_dir)
    : control_{std::make_shared<Mapping>(runtime_dir + "/control")} {}

const std::uint8_t *MemoryView::state_uuid() {
    return static_cast<shmbloom_control_header *>(control_->base)->state_uuid;
}

shmbloom_slot &MemoryView::slot(const std::string &name) {
    auto *const slots = reinterpret_cast<shmbloom_slot *>(static_cast<char *>(control_->base) + SHMBLOOM_CONTROL_HEADER_BYTES);
    for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        if (name == std::string{slots[i].name, ::strnlen(slots[i].name, SHMBLOOM_NAME_BYTES)})
            return slots[i];
    throw std::runtime_error{"no slot holds " + name};
}

std::uint64_t *MemoryView::control_gate(const std::string &name) {
    return &slot(name).gate;
}

std::string MemoryView::segment_name(const std::string &name) {
    const shmbloom_slot &found = slot(name);
    std::string text = "shmbloom.";
    char byte[4];
    for (std::size_t i = 0; i < 8; i++) {
        std::snprintf(byte, sizeof byte, "%02x", state_uuid()[i]);
        text += byte;
    }
    text += ".";
    for (std::size_t i = 0; i < SHMBLOOM_UUID_BYTES; i++) {
        std::snprintf(byte, sizeof byte, "%02x", found.uuid[i]);
        text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string{byte};
    }
    return text + "." + std::to_string(found.generation);
}

std::uint64_t *MemoryView::segment_gate(const std::string &name) {
    segment_ = std::make_shared<Mapping>("/dev/shm/" + segment_name(name));
    return &static_cast<shmbloom_segment_header *>(segment_->base)->gate;
}

void pause_gate(std::uint64_t *gate) {
    __atomic_fetch_or(gate, std::uint64_t{SHMBLOOM_DOUBT_PAUSED}, __ATOMIC_RELEASE);
}

std::uint64_t read_gate(const std::uint64_t *gate) {
    return shmbloom_load_gate(gate);
}

} // namespace shmbloom::test
