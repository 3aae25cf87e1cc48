// Folders of the disk that are removed or moved away under a running daemon: it says so, goes on in a new one, and what
// it acknowledged is restored from there.
#include <atomic>
#include <csignal>
#include <thread>

#include "crash_steps.h"
#include "kept_filter.h"
#include "remove_folder.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;

class LostFolders : public ::testing::TestWithParam<Durability> {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    std::string journal() const { return instance.state_dir() + "/journal"; }
    bool is_degraded() { return instance.info("links").at("warnings").find("degraded") != std::string::npos; }
    void expect_restored() {
        instance.kill();
        instance.remove_segments();
        instance.start();
        for (KeptFilter *filter : {&links, &other}) {
            EXPECT_EQ(instance.info(filter->name()).at("doubts"), "");
            ASSERT_TRUE(filter->becomes_live());
            filter->expect_goes_on();
        }
    }

    TestInstance instance;
    // With room for all that a fast machine adds meanwhile.
    KeptFilter links{started(instance), "links", KeptFilter::live(GetParam()), 1000, "2000000"};
    KeptFilter other{instance, "other", KeptFilter::live(GetParam()), 100};
};

TEST_P(LostFolders, JournalRemovedUnderAddsGoesOnInANewOneAndIsWholeAgain) {
    std::atomic<bool> enough = false;
    std::thread adder{[&] {
        while (!enough)
            links.try_add(20); // some may be refused
    }};
    remove_folder(journal());
    EXPECT_TRUE(instance.daemon().wait_for_log("journal' was removed or moved away"));
    EXPECT_TRUE(instance.daemon().wait_for_log("every filter has a full snapshot again"));
    enough = true;
    adder.join();
    EXPECT_TRUE(eventually([&] { return !is_degraded(); }));
    links.expect_goes_on(); // a restart that finds memory and disk has every one
    expect_restored();
}

TEST_P(LostFolders, JournalMovedAwayIsTheSameAndMayBePutAside) {
    for (int i = 0; i < 2; i++) {
        fs::rename(journal(), instance.folder() / ("aside-" + std::to_string(i)));
        EXPECT_TRUE(eventually([&] { return fs::exists(journal()) && !fs::is_empty(journal()) && !is_degraded(); }));
        links.add(20);
    }
    expect_restored();
}

// Before its snapshots are there a restore says what it cannot know.
TEST_P(LostFolders, JournalRemovedAndAKillBeforeTheSnapshotsLeavesADoubtAndNoWrongAbsent) {
    instance.stop();
    instance.start({}, {{"SHMBLOOM_CRASH_AT", kFolderSteps.front().text()}});
    remove_folder(journal());
    EXPECT_EQ(instance.daemon().wait().signal, SIGKILL);
    instance.remove_segments();
    instance.start();
    for (KeptFilter *filter : {&links, &other}) {
        EXPECT_NE(instance.info(filter->name()).at("doubts"), "");
        filter->expect_never_absent();
    }
}

TEST_P(LostFolders, JournalThatCannotBeMadeAgainRefusesAddsUntilItCan) {
    fs::rename(journal(), instance.folder() / "aside");
    std::ofstream{journal()} << "in the way";
    EXPECT_TRUE(instance.daemon().wait_for_log("has no folder, adds to filters with a journal are refused"));
    EXPECT_EQ(links.adder().tell("put refused"), "-5");
    EXPECT_TRUE(eventually([&] { return is_degraded(); }));
    links.expect_stands();
    fs::remove(journal());
    EXPECT_TRUE(eventually([&] { return links.adder().tell("put taken").front() != '-'; }));
    EXPECT_TRUE(eventually([&] { return !is_degraded(); }));
    expect_restored();
}

TEST_P(LostFolders, StateMovedAwayIsSaidAndGoesOnWhereItIs) {
    const std::string aside = instance.folder() / "state-aside";
    fs::rename(instance.state_dir(), aside);
    EXPECT_TRUE(instance.daemon().wait_for_log("was moved away"));
    EXPECT_TRUE(eventually([&] { return is_degraded(); }));
    links.expect_goes_on();
    fs::rename(aside, instance.state_dir());
    EXPECT_TRUE(instance.daemon().wait_for_log("is in its place again"));
    EXPECT_TRUE(eventually([&] { return !is_degraded(); }));
    expect_restored();
}

// At once, as a file system that is taken away; `rm` takes the lock first, which ends the daemon.
TEST_P(LostFolders, StateRemovedRefusesAddsAndLookupsGoOn) {
    instance.daemon().signal(SIGSTOP);
    remove_folder(instance.state_dir());
    instance.daemon().signal(SIGCONT);
    EXPECT_TRUE(instance.daemon().wait_for_log("was removed: adds to filters with a journal are refused"));
    EXPECT_TRUE(eventually([&] { return links.adder().tell("put refused") == "-5"; }));
    EXPECT_TRUE(eventually([&] { return is_degraded(); }));
    links.expect_stands();
}

INSTANTIATE_TEST_SUITE_P(Each, LostFolders, ::testing::Values(Durability{kDurable}, Durability{kLogged}),
                         durability_name);

} // namespace
} // namespace shmbloom::test
