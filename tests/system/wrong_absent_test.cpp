// An "absent" that the source knows better of, provoked by forged memory: counted, logged, added, and paused at N.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eventually.h"
#include "instance.h"
#include "shmbloom/layout.h"

namespace shmbloom::test {
namespace {

// What only the daemon's own user could do: every bit back to 0.
void clear_bits(const std::string &segment) {
    const int fd = ::open(("/dev/shm/" + segment).c_str(), O_RDWR | O_CLOEXEC);
    struct stat status {};
    if (fd < 0 || ::fstat(fd, &status) != 0)
        throw std::runtime_error{"cannot open " + segment};
    const auto size = static_cast<std::size_t>(status.st_size);
    void *const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED)
        throw std::runtime_error{"cannot map " + segment};
    auto *const words = static_cast<std::uint64_t *>(memory);
    for (std::size_t i = SHMBLOOM_SEGMENT_HEADER_BYTES / 8; i < size / 8; i++)
        shmbloom_store_field(&words[i], 0);
    ::munmap(memory, size);
}

TEST(WrongAbsent, IsCountedLoggedAddedAndPausesTheFilterAtN) {
    TestInstance instance;
    instance.start({"--pause-on-wrong-absent", "2"});
    instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "1e-4", "--nothing-exists-yet"});
    Worker worker = instance.worker();
    worker.open("links");
    for (const char *key : {"first", "second", "third"})
        ASSERT_EQ(worker.tell(std::string{"put "} + key), "0");
    EXPECT_EQ(worker.tell("found first"), "1"); // a maybe is no fault
    EXPECT_EQ(instance.info("links").at("wrong_absent"), "0");

    clear_bits(instance.segment_of("links"));
    EXPECT_EQ(worker.tell("found first"), "0");
    EXPECT_EQ(worker.tell("ask first"), "1"); // added by the report
    EXPECT_EQ(instance.info("links").at("wrong_absent"), "1");
    EXPECT_EQ(instance.info("links").at("doubts"), "");
    EXPECT_TRUE(instance.daemon().wait_for_log("answered absent for a key that its source has: hash "));

    EXPECT_EQ(worker.tell("found second"), "0");
    EXPECT_EQ(worker.tell("ask third"), "2");
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    // The gates came first; the registry follows without anybody waiting for it.
    EXPECT_TRUE(eventually([&] { return instance.registry().find("2 wrong absents were reported") != std::string::npos; }));

    instance.kill();
    instance.start();
    EXPECT_EQ(instance.info("links").at("wrong_absent"), "2");
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    instance.must_ctl({"resume", "links"});
    EXPECT_EQ(worker.tell("ask second"), "1");
}

} // namespace
} // namespace shmbloom::test
