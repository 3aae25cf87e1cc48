// Many threads look up while one sets bits and another flips the gates, all through the very mapping that the library
// made: so that tsan sees every pair of accesses. The daemon's is another mapping of the same pages, which hides races.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "world.h"

namespace {

// What the library mapped, by the inode.
struct Mapped {
    ino_t inode;
    char *base;
};
std::mutex mapped_mutex;
std::vector<Mapped> mapped;

} // namespace

extern "C" void *__real_mmap(void *address, std::size_t size, int protection, int flags, int fd, off_t offset);

// In the place of mmap (-Wl,--wrap): gives what the library maps for reading to be written, too.
extern "C" void *__wrap_mmap(void *address, std::size_t size, int protection, int flags, int fd, off_t offset) {
    if (fd < 0 || (flags & MAP_SHARED) == 0 || protection != PROT_READ)
        return __real_mmap(address, size, protection, flags, fd, offset);
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int writable = ::open(path, O_RDWR | O_CLOEXEC);
    void *const base = __real_mmap(address, size, PROT_READ | PROT_WRITE, flags, writable, offset);
    struct stat status {};
    ::fstat(fd, &status);
    ::close(writable);
    const std::lock_guard lock{mapped_mutex};
    mapped.push_back({status.st_ino, static_cast<char *>(base)});
    return base;
}

namespace shmbloom::test {
namespace {

constexpr std::uint64_t kKeys = 20'000;

char *mapping_of(ino_t inode) {
    const std::lock_guard lock{mapped_mutex};
    for (auto at = mapped.rbegin(); at != mapped.rend(); ++at)
        if (at->inode == inode)
            return at->base;
    throw std::runtime_error{"the library has not mapped it"};
}

std::string key_of(std::uint64_t i) {
    return "key " + std::to_string(i);
}

class OneMapping : public testing::Test {
  protected:
    OneMapping() {
        struct stat status {};
        ::stat(world.control_path().c_str(), &status);
        slot = reinterpret_cast<shmbloom_slot *>(
            mapping_of(status.st_ino) +
            (reinterpret_cast<char *>(world.slot(filter)) - reinterpret_cast<char *>(world.control())));
        control = reinterpret_cast<shmbloom_control_header *>(mapping_of(status.st_ino));
        ::fstat(filter.segment->fd(), &status);
        segment = reinterpret_cast<shmbloom_segment_header *>(mapping_of(status.st_ino));
        words = reinterpret_cast<std::uint64_t *>(reinterpret_cast<char *>(segment) +
                                                  filter.segment->header()->bits_offset);
    }

    // As the daemon does; keys below `added` are acknowledged.
    void add_all() {
        for (std::uint64_t i = 0; i < kKeys; i++) {
            const std::string key = key_of(i);
            shmbloom_set_bits(words, &filter.spec.shape,
                              shmbloom_hash_bytes(key.data(), key.size(), filter.spec.normalization, filter.spec.seed));
            added.store(i + 1, std::memory_order_release);
        }
    }

    void set_gates(std::uint64_t doubts) {
        const std::uint64_t gate = filter.generation << SHMBLOOM_GENERATION_SHIFT | doubts;
        shmbloom_store_gate(&segment->gate, gate);
        shmbloom_store_gate(&slot->gate, gate);
    }

    // As the daemon does when a slot is made anew: gate 0, fence, all else, gate.
    void rewrite_slot() {
        shmbloom_slot content;
        shmbloom_copy_from_shared(&content, slot, sizeof content);
        shmbloom_store_field(&slot->gate, 0);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        shmbloom_copy_to_shared(&slot->uuid, &content.uuid, sizeof content - offsetof(shmbloom_slot, uuid));
        shmbloom_store_gate(&slot->gate, filter.generation << SHMBLOOM_GENERATION_SHIFT);
        __atomic_fetch_add(&control->name_counter, 1, __ATOMIC_RELEASE);
    }

    void flip_until_added() {
        for (std::uint64_t round = 0; added.load(std::memory_order_relaxed) < kKeys; round++) {
            if (round % 3 == 0)
                set_gates(SHMBLOOM_DOUBT_LOSSY);
            else if (round % 3 == 1)
                rewrite_slot();
            else
                __atomic_fetch_or(&slot->gate, std::uint64_t{SHMBLOOM_DOUBT_PAUSED}, __ATOMIC_RELEASE);
            std::this_thread::yield();
            set_gates(0);
            std::this_thread::yield();
        }
    }

    // Never "absent" for what was added before the lookup began.
    void look_up() {
        Handle handle = open(world, "links");
        std::uint64_t round = 0;
        for (std::uint64_t until = 0; until < kKeys; round++) {
            until = added.load(std::memory_order_acquire);
            if (until == 0)
                continue;
            wrong += contains(handle, key_of(until - 1)) == 0;
            wrong += contains(handle, key_of(round * 7919 % until)) == 0;
            absent += contains(handle, "other " + std::to_string(round)) == 0;
            if (round % 500 == 499)
                handle = open(world, "links");
            if (round % 100 == 99)
                info(handle);
        }
    }

    World world;
    Filter &filter = world.create("links", {.shape = {SHMBLOOM_LAYOUT_CLASSIC, 7, 191'702}});
    Handle keep = open(world, "links"); // maps control and segment; they stay
    shmbloom_control_header *control;
    shmbloom_slot *slot;
    shmbloom_segment_header *segment;
    std::uint64_t *words;
    std::atomic<std::uint64_t> added{0}, wrong{0}, absent{0};
};

TEST_F(OneMapping, AnswersThreadsWhileBitsAndGatesChange) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([this] { look_up(); });
    threads.emplace_back([this] { flip_until_added(); });
    add_all();
    for (std::thread &thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(absent, 0u); // some rounds met open gates
    set_gates(0);
    EXPECT_TRUE(eventually([&] { return contains(keep, key_of(0)) == 1; }));
    for (std::uint64_t i = 0; i < kKeys; i++)
        ASSERT_EQ(contains(keep, key_of(i)), 1) << i;
}

} // namespace
} // namespace shmbloom::test
