// What somebody else may do: out of the daemon's group nothing, in it look up and add, and no more.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "instance.h"

namespace shmbloom::test {
namespace {

class Group : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "only root can become somebody else";
        instance.start();
        instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "0.001", "--nothing-exists-yet"});
        instance.must_ctl({"add", "links", "abc"});
    }

    // shmbloomctl as user 65534 in group `gid` and no other.
    Finished ctl_as(const std::string &gid, const std::vector<std::string> &arguments) {
        std::vector<std::string> all{"/usr/bin/setpriv", "--reuid=65534", "--regid=" + gid, "--clear-groups", TestInstance::tool(),
                                     "--runtime-dir", instance.runtime_dir()};
        all.insert(all.end(), arguments.begin(), arguments.end());
        return run(all);
    }

    TestInstance instance;
};

TEST_F(Group, OutsiderIsRefusedByNameOfTheGroup) {
    const Finished finished = ctl_as("65534", {"contains", "links", "abc"});
    EXPECT_EQ(finished.code, 9) << finished.output << finished.log;
    EXPECT_NE((finished.output + finished.log).find("group 'root'"), std::string::npos) << finished.log;
}

TEST_F(Group, MemberLooksUpAndAddsButChangesNothingElse) {
    EXPECT_EQ(ctl_as("0", {"contains", "links", "abc"}).output, "abc\tmaybe\n");
    EXPECT_EQ(ctl_as("0", {"add", "links", "def"}).code, 0);
    EXPECT_EQ(ctl_as("0", {"create", "mine", "--capacity", "10", "--fpr", "0.1"}).code, 9);
    EXPECT_EQ(ctl_as("0", {"drop", "links", "--yes"}).code, 9);
    EXPECT_EQ(ctl_as("0", {"pause", "links"}).code, 9);
    EXPECT_EQ(ctl_as("0", {"resume", "links"}).code, 9);
    EXPECT_EQ(ctl_as("0", {"load", "links", "--exec", "--", "/bin/echo", "x"}).code, 9);
    EXPECT_EQ(ctl_as("0", {"contains", "links", "def"}).output, "def\tmaybe\n");
    EXPECT_EQ(ctl_as("0", {"contains", "links", "never"}).output, "never\tabsent\n"); // still live
}

TEST_F(Group, MemberWritesNoBitsAndHoldsNoLock) {
    const std::string segment = "/dev/shm/" + instance.segment_of("links");
    for (const std::string &path : {segment, instance.runtime_dir() + "/control", instance.runtime_dir() + "/lock"}) {
        const Finished finished = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=0", "--clear-groups", "/bin/sh", "-c",
                                       "exec 3<>\"$0\"", path});
        EXPECT_NE(finished.code, 0) << path << " can be opened for writing";
    }
    // Not even shared: a reader of the lock could keep the daemon from starting.
    const Finished reading = run({"/usr/bin/setpriv", "--reuid=65534", "--regid=0", "--clear-groups", "/bin/sh", "-c",
                                  "exec 3<\"$0\"", instance.runtime_dir() + "/lock"});
    EXPECT_NE(reading.code, 0);
}

// A name that somebody else took is not used, and nothing of his is removed.
TEST_F(Group, SquattedNamesAreNeverUsed) {
    instance.create("cache", {"CAPACITY", "1000", "FPR", "0.001", "DURABILITY", "memory", "NOTHING-EXISTS-YET"});
    instance.must_ctl({"add", "cache", "abc"});
    std::map<std::string, std::string> paths; // of the filters
    for (const std::string name : {"links", "cache"})
        paths[name] = "/dev/shm/" + instance.segment_of(name);
    Worker worker = instance.worker(), in_cache = instance.worker();
    worker.open("links");
    in_cache.open("cache");
    ASSERT_EQ(worker.tell("ask abc"), "1");
    ASSERT_EQ(in_cache.tell("ask abc"), "1");
    instance.kill();
    for (const auto &[name, path] : paths) {
        ASSERT_EQ(std::filesystem::file_size(path), 8192u) << "the test below makes one as large";
        std::filesystem::remove(path);
        ASSERT_EQ(run({"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/bin/sh", "-c",
                       "head -c 8192 /dev/zero > \"$0\"", path}).code, 0);
    }
    instance.start();
    EXPECT_EQ(instance.info("links").at("doubts"), "");
    EXPECT_EQ(worker.tell("ask abc"), "1") << "restored, under another name";
    EXPECT_EQ(worker.tell("ask never"), "0");
    EXPECT_EQ(instance.info("cache").at("doubts"), "lossy");
    EXPECT_EQ(in_cache.tell("ask abc"), "2");
    for (const auto &[name, path] : paths) {
        EXPECT_TRUE(std::filesystem::exists(path)) << name;
        std::filesystem::remove(path);
    }
}

} // namespace
} // namespace shmbloom::test
