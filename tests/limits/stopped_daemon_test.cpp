// A daemon that hangs (SIGSTOP): lookups do not notice, adds end within their time.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "handle.h"
#include "instance.h"

namespace shmbloom::test {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kTimeout{300};
// Ten times the timeout: a machine that is busy with other tests is slow, not wrong.
constexpr Milliseconds kSlack = 10 * kTimeout;

// Connections that nobody accepts.
class Backlog {
  public:
    // Until not one more fits. False: this process may not have so many descriptors.
    bool fill(const std::string &runtime_dir) {
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (runtime_dir + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
        for (;;) {
            const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            if (fd < 0)
                return false;
            if (::connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
                const int error = errno;
                ::close(fd);
                return error == EAGAIN;
            }
            fds_.push_back(fd);
        }
    }
    void drop() {
        for (const int fd : fds_)
            ::close(fd);
        fds_.clear();
    }
    ~Backlog() { drop(); }

  private:
    std::vector<int> fds_;
};

class StoppedDaemon : public ::testing::Test {
  protected:
    void SetUp() override {
        instance.start();
        instance.must_ctl({"create", "links", "--capacity", "1e5", "--fpr", "1e-6", "--nothing-exists-yet"});
    }

    Handle open(Milliseconds timeout) {
        return open_handle(instance.runtime_dir(), "links", static_cast<int>(timeout.count()));
    }

    void stop_daemon() {
        instance.daemon().signal(SIGSTOP);
        instance.daemon().wait_until_stopped();
    }
    void continue_daemon() { instance.daemon().signal(SIGCONT); }

    // Adds, and measures how long that took.
    int timed_add(const Handle &handle, std::string_view key) {
        const auto begin = Clock::now();
        const int answer = add(handle, key);
        took = std::chrono::duration_cast<Milliseconds>(Clock::now() - begin);
        return answer;
    }

    TestInstance instance;
    Backlog backlog;
    Milliseconds took{};
};

TEST_F(StoppedDaemon, WithAFullBacklogEndsAddsAtTheTimeout) {
    const Handle handle = open(kTimeout);
    stop_daemon();
    if (!backlog.fill(instance.runtime_dir()))
        GTEST_SKIP() << "the backlog cannot be filled: too few descriptors (ulimit -Hn)";
    EXPECT_EQ(timed_add(handle, "a"), -ETIMEDOUT);
    EXPECT_GE(took, kTimeout);
    EXPECT_LE(took, kTimeout + kSlack);
    EXPECT_EQ(contains(handle, "a"), 0); // lookups go on
    backlog.drop();
    continue_daemon();
    const Handle patient = open(Milliseconds{60'000});
    EXPECT_EQ(add(patient, "b"), 0);
    EXPECT_EQ(contains(handle, "b"), 1);
}

TEST_F(StoppedDaemon, WithAFullBacklogReturnsAtOnceToWhoDoesNotWait) {
    const Handle handle = open(Milliseconds{-1});
    stop_daemon();
    if (!backlog.fill(instance.runtime_dir()))
        GTEST_SKIP() << "the backlog cannot be filled: too few descriptors (ulimit -Hn)";
    EXPECT_LT(timed_add(handle, "a"), 0);
    EXPECT_LE(took, kTimeout);
}

TEST_F(StoppedDaemon, ThatWasConnectedToEndsAddsAtTheTimeout) {
    const Handle handle = open(kTimeout);
    ASSERT_EQ(add(handle, "a"), 0);
    stop_daemon();
    EXPECT_EQ(timed_add(handle, "b"), -ETIMEDOUT);
    EXPECT_GE(took, kTimeout);
    EXPECT_LE(took, kTimeout + kSlack);
    continue_daemon();
    // The late reply to "b" must not be taken for this one's.
    const Handle patient = open(Milliseconds{60'000});
    ASSERT_EQ(add(patient, "c"), 0);
    EXPECT_EQ(add(handle, "c"), 1);
    EXPECT_EQ(add(handle, "d"), 0);
}

TEST_F(StoppedDaemon, IsSentTheAddOfWhoDoesNotWait) {
    const Handle handle = open(Milliseconds{-1});
    stop_daemon();
    EXPECT_EQ(timed_add(handle, "a"), -EINPROGRESS);
    EXPECT_LE(took, kTimeout);
    continue_daemon();
    // Sent before this one, and so done before it is answered: the daemon takes connections in their order.
    const Handle patient = open(Milliseconds{60'000});
    const auto deadline = Clock::now() + std::chrono::seconds{60};
    while (contains(handle, "a") != 1 && Clock::now() < deadline)
        ASSERT_GE(add(patient, "b"), 0);
    EXPECT_EQ(contains(handle, "a"), 1);
}

} // namespace
} // namespace shmbloom::test
