#include "child.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <unistd.h>

using namespace shmbloom::ctl;

namespace {

Child shell(const std::string &script) {
    auto child = Child::spawn({"sh", "-c", script});
    EXPECT_EQ(failure_of(child), nullptr);
    return std::get<Child>(std::move(child));
}

std::string output_of(const Child &child) {
    std::string text;
    char buffer[4096];
    ssize_t n;
    while ((n = ::read(child.output(), buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(n));
    return text;
}

} // namespace

TEST(Child, OutputIsReadAndExitCodeZeroIsFine) {
    Child child = shell("echo one; echo two");
    EXPECT_EQ(output_of(child), "one\ntwo\n");
    EXPECT_FALSE(child.wait(-1));
}

TEST(Child, StdinIsEmptyWhateverOursIs) {
    Child child = shell("cat; readlink /proc/self/fd/0");
    EXPECT_EQ(output_of(child), "/dev/null\n");
    EXPECT_FALSE(child.wait(-1));
}

TEST(Child, ExitCodesAndSignalsAreFailures) {
    Child exits = shell("exit 3");
    EXPECT_EQ(exits.wait(-1)->text, "sh ended with exit code 3");
    Child killed = shell("kill -9 $$");
    const auto failure = killed.wait(-1);
    EXPECT_EQ(failure->code, Exit::source_failed);
    EXPECT_NE(failure->text.find("killed by signal 9"), std::string::npos) << failure->text;
}

TEST(Child, ACommandThatIsNotThereIsASourceThatFailed) {
    const auto child = Child::spawn({"/nonexistent/command"});
    ASSERT_NE(failure_of(child), nullptr);
    EXPECT_EQ(failure_of(child)->code, Exit::source_failed);
}

TEST(Child, IsEndedWithItsOwner) {
    pid_t pid = 0;
    {
        Child child = shell("echo $$; exec sleep 1000");
        char buffer[32] = {};
        ASSERT_GT(::read(child.output(), buffer, sizeof buffer - 1), 0);
        pid = std::stoi(buffer);
        EXPECT_EQ(::kill(pid, 0), 0);
    }
    EXPECT_EQ(::kill(pid, 0), -1) << "still there";
}

TEST(Child, WaitingEndsWhenInterrupted) {
    Child child = shell("exec sleep 1000");
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(::write(ends[1], "x", 1), 1);
    EXPECT_EQ(child.wait(ends[0])->text, "interrupted");
    ::close(ends[0]);
    ::close(ends[1]);
}
