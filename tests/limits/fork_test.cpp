// A worker forks, as web servers do: both go on, on a connection each.
#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

#include "handle.h"
#include "instance.h"

namespace shmbloom::test {
namespace {

std::string key(const char *whose, int i) {
    return std::string{whose} + std::to_string(i);
}

// The sockets that this process has, by inode.
std::set<std::string> sockets() {
    std::set<std::string> found;
    for (const auto &entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
        std::error_code gone;
        if (const auto target = std::filesystem::read_symlink(entry.path(), gone);
            target.string().starts_with("socket:"))
            found.insert(target.string());
    }
    return found;
}

class Fork : public ::testing::Test {
  protected:
    static constexpr int kKeys = 500;

    void SetUp() override {
        instance.start();
        instance.must_ctl({"create", "links", "--capacity", "1e5", "--fpr", "1e-6", "--nothing-exists-yet"});
        handle = open_handle(instance.runtime_dir(), "links");
        ASSERT_EQ(add(handle, "before"), 0); // so that there is a connection to be inherited
    }

    // Runs `work` in a child; its value is the exit status.
    template <typename F>
    static pid_t in_child(F work) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(work());
        return child;
    }

    static int wait_for(pid_t child) {
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    int failed_adds(const char *whose) const {
        int failed = 0;
        for (int i = 0; i < kKeys; i++)
            failed += add(handle, key(whose, i)) != 0;
        return failed;
    }

    int missing(const char *whose) const {
        int absent = 0;
        for (int i = 0; i < kKeys; i++)
            absent += contains(handle, key(whose, i)) != 1;
        return absent;
    }

    TestInstance instance;
    Handle handle;
};

TEST_F(Fork, ChildAndParentAddAtTheSameTimeAndEachFindsBoth) {
    const pid_t child =
        in_child([&] { return std::min(failed_adds("child") + (contains(handle, "before") != 1), 100); });
    EXPECT_EQ(failed_adds("parent"), 0);
    EXPECT_EQ(wait_for(child), 0);
    EXPECT_EQ(missing("child"), 0);
    EXPECT_EQ(missing("parent"), 0);
    EXPECT_EQ(wait_for(in_child([&] { return std::min(missing("child") + missing("parent"), 100); })), 0);
}

TEST_F(Fork, ChildAddsOnAConnectionOfItsOwn) {
    const std::set<std::string> parents = sockets();
    EXPECT_EQ(wait_for(in_child([&] {
                  if (add(handle, "child") != 0)
                      return 1;
                  const std::set<std::string> now = sockets();
                  return std::ranges::any_of(now, [&](const std::string &socket) { return !parents.contains(socket); })
                             ? 0
                             : 2;
              })),
              0);
    EXPECT_EQ(sockets(), parents);
    EXPECT_EQ(add(handle, "parent"), 0);
    EXPECT_EQ(sockets(), parents); // the child's end left the parent's connection as it was
}

TEST_F(Fork, ChildLooksUpWhileTheDaemonIsDead) {
    ASSERT_EQ(failed_adds("parent"), 0);
    instance.kill();
    EXPECT_EQ(wait_for(in_child([&] { return std::min(missing("parent"), 100); })), 0);
    EXPECT_EQ(missing("parent"), 0);
}

TEST_F(Fork, OfAWorkerWithManyHandlesLeavesEachUsable) {
    std::vector<Handle> more;
    for (int i = 0; i < 8; i++)
        more.push_back(open_handle(instance.runtime_dir(), "links"));
    const pid_t child = in_child([&] {
        for (Handle &each : more) {
            if (contains(each, "before") != 1 || add(each, "before") != 1)
                return 1;
            each.reset();
        }
        return contains(handle, "before") == 1 ? 0 : 2;
    });
    for (const Handle &each : more)
        EXPECT_EQ(add(each, "before"), 1);
    EXPECT_EQ(wait_for(child), 0);
    for (const Handle &each : more)
        EXPECT_EQ(contains(each, "before"), 1);
}

TEST_F(Fork, ByTheTestWorkerCountsInTheChild) {
    Worker worker = instance.worker();
    worker.open("links");
    const Answers answers = parse_answers(worker.tell("fork base62 0 10000"));
    EXPECT_EQ(answers.absent, 10'000u);
    EXPECT_EQ(worker.tell("put another"), "0");
}

} // namespace
} // namespace shmbloom::test
