#include "holders/holders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shmbloom::holders {
namespace {

constexpr std::size_t kPage = 4096;
constexpr const char *kState = "0123456789ab4def";
constexpr const char *kName = "/dev/shm/shmbloom.0123456789ab4def.11111111-2222-4333-8444-555555555555.";

// A filter of this run of the test alone.
std::string filter_uuid() {
    char text[40];
    std::snprintf(text, sizeof text, "11111111-2222-4333-8444-%012ld", static_cast<long>(::getpid()));
    return text;
}

// A segment that is mapped by this process, whole or in part, until it goes.
class Mapped {
  public:
    Mapped(std::uint64_t generation, std::size_t pages)
        : name_{"/shmbloom." + std::string{kState} + "." + filter_uuid() + "." + std::to_string(generation)},
          bytes_{pages * kPage} {
        const int fd = ::shm_open(name_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes_)) < 0)
            throw std::runtime_error{"no shared memory"};
        memory_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
        ::close(fd);
        if (memory_ == MAP_FAILED)
            throw std::runtime_error{"cannot map"};
    }
    ~Mapped() {
        ::munmap(memory_, bytes_);
        unlink();
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;

    void unlink() { ::shm_unlink(name_.c_str()); }
    // What one line of maps was becomes several.
    void split() { ASSERT_EQ(::mprotect(memory_, kPage, PROT_NONE), 0); }

  private:
    std::string name_;
    std::size_t bytes_;
    void *memory_ = nullptr;
};

std::vector<Holder> held() {
    return find(kState, filter_uuid()).holders;
}

// A process that has what its parent had mapped, and does nothing.
class Child {
  public:
    Child() {
        pid_ = ::fork();
        if (pid_ == 0)
            for (;;)
                ::pause();
    }
    ~Child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Child(const Child &) = delete;
    Child &operator=(const Child &) = delete;
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
};

TEST(Holders, AreNoneOfAFilterThatNobodyMaps) {
    EXPECT_TRUE(held().empty());
}

TEST(Holders, NameProcessGenerationAndBytes) {
    const Mapped segment{7, 3};
    EXPECT_EQ(held(), (std::vector<Holder>{{::getpid(), 7, 3 * kPage}}));
}

TEST(Holders, AreFoundWhenTheSegmentHasLostItsName) {
    Mapped segment{7, 3};
    segment.unlink();
    EXPECT_EQ(held(), (std::vector<Holder>{{::getpid(), 7, 3 * kPage}}));
}

TEST(Holders, CountASegmentOnceThoughItIsMappedInParts) {
    Mapped segment{7, 3};
    segment.split();
    EXPECT_EQ(held(), (std::vector<Holder>{{::getpid(), 7, 3 * kPage}}));
}

TEST(Holders, TellGenerationsAndProcessesApart) {
    const Mapped older{7, 1};
    const Child child;
    const Mapped newer{8, 2};
    const std::vector<Holder> of_both = held();
    EXPECT_EQ(of_both.size(), 3u);
    for (const Holder &holder : {Holder{::getpid(), 7, kPage}, {::getpid(), 8, 2 * kPage}, {child.pid(), 7, kPage}})
        EXPECT_EQ(std::count(of_both.begin(), of_both.end(), holder), 1) << holder.pid << " " << holder.generation;
}

TEST(Holders, OfOtherFiltersAndStatesAreNotMeant) {
    const Mapped segment{7, 1};
    EXPECT_TRUE(find("fedcba9876543210", filter_uuid()).holders.empty());
    EXPECT_TRUE(find(kState, "99999999-2222-4333-8444-555555555555").holders.empty());
}

TEST(Holders, ThatMayNotBeLookedAtAreCounted) {
    if (::geteuid() != 0) {
        EXPECT_GT(find(kState, filter_uuid()).unreadable, 0u) << "process 1 is not ours";
        return;
    }
    // A process of nobody's looks, at this one of root's. What it found is its exit status.
    const Mapped segment{7, 1};
    const pid_t pid = ::fork();
    if (pid == 0) {
        if (::setgid(65534) != 0 || ::setuid(65534) != 0)
            ::_exit(2);
        const Found found = find(kState, filter_uuid());
        const auto of_parent = [](const Holder &holder) { return holder.pid == ::getppid(); };
        ::_exit(found.unreadable > 0 && std::none_of(found.holders.begin(), found.holders.end(), of_parent) ? 0 : 1);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(MapsLine, IsReadWithOffsetAndWithoutItsDeletedMark) {
    const std::string line = std::string{"7f00001000-7f00003000 r--s 00200000 00:19 1234              "} + kName + "42";
    for (const char *mark : {"", " (deleted)"}) {
        Holder holder{1, 0, 0};
        ASSERT_TRUE(read_maps_line(line + mark, kName, &holder));
        EXPECT_EQ(holder, (Holder{1, 42, 0x202000}));
    }
}

TEST(MapsLine, OfAnythingElseIsNone) {
    Holder holder{};
    const std::string begin = "7f00001000-7f00003000 r--s 00000000 00:19 1234   ";
    for (const std::string &line : {std::string{}, begin, begin + kName, begin + kName + "x", begin + kName + "4x",
                                    begin + "/tmp" + kName + "4", begin + kName + "99999999999999999999",
                                    std::string{kName} + "4", "x-y r--s 0 00:19 1 " + std::string{kName} + "4",
                                    "7f00003000-7f00001000 r--s 0 00:19 1 " + std::string{kName} + "4"})
        EXPECT_FALSE(read_maps_line(line, kName, &holder)) << line;
}

} // namespace
} // namespace shmbloom::holders
