// The first whole path: workers read what a daemon keeps, and nobody notices when it goes and comes.
#include <gtest/gtest.h>

#include "instance.h"

namespace shmbloom::test {
namespace {

class Restart : public ::testing::Test {
  protected:
    static constexpr std::uint64_t kKeys = 20'000;

    void SetUp() override {
        instance.start();
        instance.must_ctl({"create", "links", "--capacity", "1e5", "--fpr", "1e-3", "--nothing-exists-yet"});
        worker.open("links");
        adder.open("links");
        adder.tell("add base62 0 " + std::to_string(kKeys) + " " + (instance.folder() / "acknowledged"));
    }

    void expect_all_there_and_others_absent() {
        const Answers added = worker.count_all("base62", read_indexes(instance.folder() / "acknowledged"));
        EXPECT_EQ(added.maybe, kKeys);
        const Answers others = worker.count("base62", 1'000'000, 100'000);
        EXPECT_GE(others.absent, 100'000 * (1 - 2 * 1e-3));
        EXPECT_EQ(others.unverified, 0u);
    }

    TestInstance instance;
    Worker worker = instance.worker(); // opened once, never again
    Worker adder = instance.worker();
};

TEST_F(Restart, WorkersKeepAnsweringWhileDaemonIsDown) {
    instance.kill();
    expect_all_there_and_others_absent();
    EXPECT_LT(std::stol(adder.tell("put something")), 0);
}

TEST_F(Restart, AfterKillSameWorkerSeesNewAdds) {
    instance.kill();
    instance.start();
    expect_all_there_and_others_absent();
    EXPECT_EQ(worker.tell("ask something"), "0");
    EXPECT_EQ(adder.tell("put something"), "0");
    EXPECT_EQ(worker.tell("ask something"), "1");
}

TEST_F(Restart, AfterCleanStopSameWorkerSeesNewAdds) {
    instance.stop();
    expect_all_there_and_others_absent();
    instance.start();
    EXPECT_EQ(adder.tell("put something"), "0");
    EXPECT_EQ(worker.tell("ask something"), "1");
    expect_all_there_and_others_absent();
}

} // namespace
} // namespace shmbloom::test
