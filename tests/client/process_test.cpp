// What handles of a process share; children; what a live lookup does not do.
#include <atomic>
#include <fstream>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "handle.h"
#include "world.h"

namespace shmbloom::test {
namespace {

// Mappings of this process whose path holds `part` and that may not be written: the library's.
int count_mappings(const std::string &part) {
    std::ifstream maps{"/proc/self/maps"};
    int count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find(" r--s ") != std::string::npos && line.find(part) != std::string::npos;
    return count;
}

int count_mappings(const Filter &filter) {
    return count_mappings(filter.segment->name());
}

TEST(Process, SharesOneMappingBetweenItsHandles) {
    World world;
    Filter &filter = world.create("links");
    std::vector<Handle> handles;
    for (int i = 0; i < 8; i++)
        handles.push_back(open(world, "links"));
    EXPECT_EQ(count_mappings(filter), 1);
    EXPECT_EQ(count_mappings(world.control_path()), 1);
}

TEST(Process, KeepsOneUnusedMapping) {
    World world;
    Filter &first = world.create("first");
    Filter &second = world.create("second");
    open(world, "first").reset();
    EXPECT_EQ(count_mappings(first), 1);
    EXPECT_EQ(count_mappings(world.control_path()), 1);
    open(world, "first").reset();
    EXPECT_EQ(count_mappings(first), 1);
    open(world, "second").reset();
    EXPECT_EQ(count_mappings(first), 0);
    EXPECT_EQ(count_mappings(second), 1);
    World other;
    other.create("links");
    open(other, "links").reset();
    EXPECT_EQ(count_mappings(world.control_path()), 0);
    EXPECT_EQ(count_mappings(second), 0);
}

TEST(Process, OpensAgainWithoutTheSegmentsName) {
    World world;
    Filter &filter = world.create("links");
    open(world, "links").reset();
    filter.segment->remove_name(); // so that only the kept mapping can serve
    EXPECT_EQ(contains(open(world, "links"), "x"), SHMBLOOM_ABSENT);
}

TEST(Process, LetsGoOfAKeptSegmentThatIsOver) {
    World world;
    Filter &filter = world.create("links");
    world.create("others");
    open(world, "links").reset();
    world.drop(filter);
    EXPECT_EQ(count_mappings(filter), 1);
    EXPECT_EQ(open_error(world, "links"), -ENOENT);
    EXPECT_EQ(count_mappings(filter), 0);
}

TEST(Process, UnmapsTheOldGenerationWhenItsLastHandleMoved) {
    World world;
    Filter &filter = world.create("links");
    const std::string old = filter.segment->name();
    const Handle a = open(world, "links");
    const Handle b = open(world, "links");
    world.switch_generation(filter);
    EXPECT_EQ(contains(a, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(count_mappings(old), 1);
    EXPECT_EQ(contains(b, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(count_mappings(old), 0);
    EXPECT_EQ(count_mappings(filter), 1);
}

TEST(Process, UnmapsAReplacedControlWhenItsLastHandleMoved) {
    World world;
    world.create("links");
    const Handle a = open(world, "links");
    const Handle b = open(world, "links");
    world.replace_control();
    (void)info(a);
    EXPECT_EQ(count_mappings(world.control_path()), 2);
    (void)info(b);
    EXPECT_EQ(count_mappings(world.control_path() + " (deleted)"), 0);
    EXPECT_EQ(count_mappings(world.control_path()), 1);
}

TEST(Process, MapsBitsAtTwoMebibytesSoThatHugePagesFit) {
    World world;
    Filter &filter = world.create("links", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 1 << 17}, .huge = true});
    const Handle handle = open(world, "links");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    std::ifstream maps{"/proc/self/maps"};
    bool found = false;
    for (std::string line; std::getline(maps, line);)
        if (line.find(" r--s ") != std::string::npos && line.find(filter.segment->name()) != std::string::npos) {
            EXPECT_EQ(std::stoull(line, nullptr, 16) % SHMBLOOM_HUGE_PAGE_BYTES, 0u) << line;
            found = true;
        }
    EXPECT_TRUE(found);
}

TEST(Process, LooksUpInForkedChildren) {
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "there");
    const Handle handle = open(world, "links");
    EXPECT_EQ(in_child([&] { return contains(handle, "there") * 10 + contains(handle, "x"); }), 10);
    // A child moves its own copy of the handle, its parent the other.
    world.switch_generation(filter);
    world.add(filter, "x");
    EXPECT_EQ(in_child([&] { return contains(handle, "there") * 10 + contains(handle, "x"); }), 1);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_MAYBE);
}

TEST(Process, LookupsNeverWaitForTheLock) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.switch_generation(filter);
    ASSERT_TRUE(shmbloom__lock());
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    shmbloom__unlock();
    // Not remembered: the very next lookup looks.
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
}

TEST(Process, ForksWhileAnotherThreadHoldsTheLock) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    std::atomic<bool> done{false};
    std::thread other{[&] {
        while (!done)
            open(world, "links").reset();
    }};
    for (int i = 0; i < 30; i++) {
        world.switch_generation(filter);
        EXPECT_EQ(in_child([&] {
                      ::alarm(20); // a lock that nobody can give back would be waited for for ever
                      const Handle own = open(world, "links");
                      return contains(own, "x") == SHMBLOOM_ABSENT && contains(handle, "x") == SHMBLOOM_ABSENT ? 42 : 0;
                  }),
                  42);
    }
    done = true;
    other.join();
}

TEST(Process, MakesNoSystemCallWhileLive) {
#ifdef SHMBLOOM_SANITIZED
    GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "there");
    const Handle handle = open(world, "links");
    shmbloom_options options = options_for(world);
    options.audit_one_in = 10;
    const Handle audited = open("links", options);
    EXPECT_EQ(in_child([&]() -> int {
                  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
                      return 77;
                  int sum = 0;
                  for (int i = 0; i < 500000; i++)
                      sum += contains(handle, "there") + contains(handle, "x");
                  const shmbloom_key keys[3] = {{"there", 5}, {"x", 1}, {"y", 1}};
                  const std::uint64_t offsets[4] = {0, 5, 6, 7};
                  for (int i = 0; i < 10000; i++) {
                      std::uint8_t answers[3];
                      sum +=
                          shmbloom_contains_many(handle.get(), keys, 3, answers) + answers[0] + answers[1] + answers[2];
                      sum += shmbloom_contains_packed(handle.get(), "therexy", offsets, 3, answers) + answers[0] +
                             answers[1] + answers[2];
                      sum += contains(audited, "x") == SHMBLOOM_MAYBE;
                      sum += shmbloom_report_missing(handle.get(), "there", 5);
                      sum += shmbloom_report_found(handle.get(), "there", 5);
                  }
                  ::syscall(SYS_exit, sum == 540000 ? 42 : 1); // exit_group is not allowed
                  return 0;
              }),
              42);
}

} // namespace
} // namespace shmbloom::test
