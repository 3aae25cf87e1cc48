// self-test, as the users that there are: root, a member of the daemon's group, and somebody else.
#include <filesystem>
#include <unistd.h>

#include "operator.h"

namespace shmbloom::test {
namespace {

class SelfTest : public Operator {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, to become others";
        Operator::SetUp();
        create("links");
    }
    // As user nobody, in its own group and in `groups` (setpriv's option).
    Finished as_nobody(const std::string &groups, const std::vector<std::string> &arguments) {
        std::vector<std::string> all{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", groups};
        const auto tool = line(arguments);
        all.insert(all.end(), tool.begin(), tool.end());
        return run(all);
    }
};

TEST_F(SelfTest, AsRootGoesAllTheWayAndLeavesNothing) {
    const Finished test = operate({"self-test"});
    EXPECT_EQ(test.code, 0) << test.log << test.output;
    for (const char *check : {"folder: ", "control: ", "filter links: live", "socket: ", "create: shmbloom-self-test-",
                              "add: ", "look-up: ", "drop: "})
        EXPECT_TRUE(says(test.output, std::string{"ok       "} + check)) << check << " in " << test.output;
    EXPECT_FALSE(says(operate({"status"}).output, "self-test")) << "its filter is gone";
}

TEST_F(SelfTest, OutsideTheGroupNamesIt) {
    const Finished test = as_nobody("--clear-groups", {"self-test"});
    EXPECT_EQ(test.code, 9) << test.log << test.output;
    EXPECT_TRUE(says(test.log, "NOPERM: folder: ")) << test.log;
    EXPECT_TRUE(says(test.log, "group 'root'")) << test.log;
}

TEST_F(SelfTest, InsideTheGroupUsesEverythingButCreate) {
    const Finished test = as_nobody("--groups=0", {"self-test"});
    EXPECT_EQ(test.code, 0) << test.log << test.output;
    EXPECT_TRUE(says(test.output, "skipped  create: ")) << test.output;
    EXPECT_EQ(as_nobody("--groups=0", {"explain", "links", "a"}).code, 1) << "read access is enough";
    EXPECT_EQ(as_nobody("--groups=0", {"pause", "links"}).code, 9);
    EXPECT_EQ(as_nobody("--groups=0", {"resume", "links"}).code, 9);
    EXPECT_EQ(as_nobody("--groups=0", {"live", "links", "--force-incomplete"}).code, 9);
    EXPECT_EQ(as_nobody("--groups=0", {"forget-readers", "--all"}).code, 9);
    EXPECT_EQ(doubts("links"), "");
    instance.kill();
    EXPECT_EQ(as_nobody("--groups=0", {"pause", "links"}).code, 9);
    EXPECT_EQ(doubts("links"), "");
}

TEST_F(SelfTest, NamesTheSocketThatMayNotBeUsed) {
    std::filesystem::permissions(instance.runtime_dir() + "/socket", std::filesystem::perms{0600});
    const Finished test = as_nobody("--groups=0", {"self-test"});
    EXPECT_EQ(test.code, 9);
    EXPECT_TRUE(says(test.log, "socket' may not be used")) << test.log;
}

TEST_F(SelfTest, NamesTheFilterThatCannotBeRead) {
    std::filesystem::permissions("/dev/shm/" + instance.segment_of("links"), std::filesystem::perms{0600});
    const Finished test = as_nobody("--groups=0", {"self-test"});
    EXPECT_EQ(test.code, 9) << test.output;
    EXPECT_TRUE(says(test.log, "filter links: ")) << test.log;
}

TEST_F(Operator, SelfTestWithoutADaemonSaysWhereItLooked) {
    TestInstance none;
    const Finished test = none.ctl({"self-test"});
    EXPECT_EQ(test.code, 4);
    EXPECT_TRUE(says(test.log, none.runtime_dir())) << test.log;
    instance.kill();
    const Finished dead = operate({"self-test"});
    EXPECT_EQ(dead.code, 4);
    EXPECT_TRUE(says(dead.log, "socket: ")) << dead.log;
}

} // namespace
} // namespace shmbloom::test
