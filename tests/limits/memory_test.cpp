// One copy of the bits serves every worker, in huge pages where there are some; what does not fit is refused in time.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "instance.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace shmbloom::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// Sum of a field of /proc/<pid>/<file>, in bytes, over the mappings whose first line holds `part`.
std::uint64_t memory_of(pid_t pid, const std::string &file, const std::string &field, const std::string &part = "") {
    std::ifstream maps{"/proc/" + std::to_string(pid) + "/" + file};
    std::uint64_t sum = 0;
    bool here = part.empty();
    for (std::string line; std::getline(maps, line);) {
        if (const auto colon = line.find(':'); colon == std::string::npos || line.find(' ') < colon)
            here = part.empty() || line.find(part) != std::string::npos;
        else if (here && line.starts_with(field + ":"))
            sum += std::stoull(line.substr(colon + 1)) * 1024;
    }
    return sum;
}

std::uint64_t vm_peak(pid_t pid) {
    return memory_of(pid, "status", "VmPeak");
}

class Memory : public ::testing::Test {
  protected:
    // About 64 MiB of bits.
    void create_64_mib() {
        instance.must_ctl(
            {"create", "links", "--capacity", "56M", "--fpr", "1%", "--layout", "classic", "--nothing-exists-yet"});
    }

    TestInstance instance;
};

TEST_F(Memory, OfEightWorkersIsOneCopyAndLittleEach) {
#ifdef SHMBLOOM_SANITIZED
    GTEST_SKIP() << "a sanitizer's own memory would be counted";
#endif
    instance.start();
    create_64_mib();
    const std::uint64_t copy = std::stoull(instance.info("links")["memory_bytes"]);
    ASSERT_GT(copy, 60 * kMiB);
    std::vector<Worker> workers;
    for (int i = 0; i < 8; i++) {
        workers.push_back(instance.worker());
        workers.back().open("links");
        // In an empty filter each lookup reads one bit anywhere: two million touch every page.
        EXPECT_EQ(workers.back().count("base62", 0, 2'000'000).absent, 2'000'000u);
    }
    std::uint64_t whole = 0, segment = 0;
    for (Worker &worker : workers) {
        whole += memory_of(worker.process().pid(), "smaps_rollup", "Pss");
        segment += memory_of(worker.process().pid(), "smaps", "Pss", "/dev/shm/" + instance.segment_of("links"));
    }
    std::printf("[ memory   ] segment %.1f MiB; 8 workers' proportional set size: %.1f MiB, of the segment %.1f MiB\n",
                static_cast<double>(copy) / kMiB, static_cast<double>(whole) / kMiB,
                static_cast<double>(segment) / kMiB);
    EXPECT_LE(whole, copy + 8 * kMiB);
    // All of them do have it mapped: eight ninths of it, the daemon is the ninth.
    EXPECT_GE(segment, copy * 8 / 10);
}

// Whether this kernel makes a huge page of shared memory when asked, for a mapping that has the alignment it needs.
std::string collapse_refusal() {
    constexpr std::size_t size = 2 * kMiB;
    const std::string name = "/shmbloom-test-probe-" + std::to_string(::getpid());
    const int fd = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ::shm_unlink(name.c_str());
    if (fd < 0 || ::posix_fallocate(fd, 0, size) != 0)
        return "no shared memory";
    void *const base = ::mmap(nullptr, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const auto aligned = (reinterpret_cast<std::uintptr_t>(base) + size - 1) / size * size;
    void *const memory =
        ::mmap(reinterpret_cast<void *>(aligned), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    std::string reason;
    if (::madvise(memory, size, MADV_COLLAPSE) != 0)
        reason = std::string{"madvise(MADV_COLLAPSE): "} + std::strerror(errno);
    else if (memory_of(::getpid(), "smaps", "ShmemPmdMapped", name) == 0)
        reason = "madvise(MADV_COLLAPSE) succeeded, but ShmemPmdMapped is 0";
    ::munmap(base, 2 * size);
    ::close(fd);
    return reason;
}

TEST_F(Memory, IsInHugePagesWhereTheKernelGivesThem) {
    if (const std::string reason = collapse_refusal(); !reason.empty())
        GTEST_SKIP() << "this kernel gives shared memory no huge pages: " << reason;
    instance.start();
    create_64_mib();
    const std::uint64_t bits = std::stoull(instance.info("links")["bits"]) / 8;
    const std::uint64_t huge = std::stoull(instance.info("links")["huge_page_bytes"]);
    EXPECT_GT(huge, bits - 4 * kMiB); // all but the last, incomplete one
    Worker worker = instance.worker();
    worker.open("links");
    EXPECT_EQ(worker.count("base62", 0, 2'000'000).absent, 2'000'000u);
    const std::uint64_t mapped =
        memory_of(worker.process().pid(), "smaps", "ShmemPmdMapped", "/dev/shm/" + instance.segment_of("links"));
    std::printf("[ memory   ] bits %.1f MiB, in huge pages %.1f MiB, of a worker's mapping %.1f MiB\n",
                static_cast<double>(bits) / kMiB, static_cast<double>(huge) / kMiB, static_cast<double>(mapped) / kMiB);
    EXPECT_GT(mapped, bits - 4 * kMiB);
    // What status says without the daemon, and after a restart.
    instance.kill();
    EXPECT_NE(instance.ctl({"status", "links", "--json"}).output.find("\"huge_page_bytes\": " + std::to_string(huge)),
              std::string::npos);
    instance.start();
    EXPECT_GT(std::stoull(instance.info("links")["huge_page_bytes"]), bits - 4 * kMiB);
}

TEST_F(Memory, BelowEightMiBNeedsNoHugePages) {
    instance.start();
    instance.must_ctl({"create", "small", "--capacity", "1M", "--fpr", "1%", "--nothing-exists-yet"});
    EXPECT_EQ(instance.info("small")["huge_page_bytes"], "0");
}

class MemoryRefusal : public Memory {
  protected:
    // A create that must be refused, by the text that comes with it, and leave no trace.
    std::string refused(const std::string &capacity) {
        const std::string registry = instance.registry();
        const std::uint64_t peak = vm_peak(instance.daemon().pid());
        const Finished finished = instance.ctl({"create", "links", "--capacity", capacity, "--fpr", "1%"});
        EXPECT_EQ(finished.code, 10) << finished.log;
        // Less than what was refused; a helper thread's heap may come to be.
        EXPECT_LE(vm_peak(instance.daemon().pid()), peak + 512 * kMiB) << "something was mapped";
        EXPECT_TRUE(instance.segment_names().empty());
        EXPECT_EQ(instance.registry(), registry);
        EXPECT_EQ(instance.ctl({"status", "links"}).code, 5);
        for (const char *part : {"'links' needs ", "reserve of ", " has ", " MiB (", " bytes)"})
            EXPECT_NE(finished.log.find(part), std::string::npos) << finished.log;
        return finished.log;
    }
};

TEST_F(MemoryRefusal, OfAFilterLargerThanTheMachine) {
    instance.start();
    const std::string text = refused("1e12"); // 1.1 TiB
    EXPECT_TRUE(text.find("/dev/shm") != std::string::npos || text.find("available memory") != std::string::npos ||
                text.find("control group") != std::string::npos)
        << text;
}

TEST_F(MemoryRefusal, OfAnyFilterWhenTheReserveIsNotThere) {
    instance.start({"--shm-reserve", "1000000GiB"});
    EXPECT_NE(refused("1").find("a reserve of 1024000000 MiB"), std::string::npos);
}

TEST_F(MemoryRefusal, LeavesTheNameFree) {
    instance.start();
    refused("1e12");
    instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "1%", "--nothing-exists-yet"});
    EXPECT_EQ(instance.segment_names().size(), 1u);
}

} // namespace
} // namespace shmbloom::test
