// Names that go: of the segment, of control, of both, of the lock; while the daemon is down and while it runs.
#include <csignal>

#include "kept_filter.h"
#include "memory_view.h"

namespace shmbloom::test {
namespace {

constexpr const char *kBusy = "-16"; // EBUSY

class LostNames : public ::testing::Test {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }

    // Adds are refused, and nobody is told a wrong no.
    void expect_adds_refused() {
        EXPECT_EQ(links.adder().tell("put another"), kBusy);
        EXPECT_EQ(instance.info("links").at("warnings"), "adds_refused");
        Wire wire = instance.wire();
        const auto reply = wire.add("links", instance.info("links").at("hash_domain"), {1, 2, 3});
        EXPECT_EQ(reply.word(), "BUSY");
        EXPECT_NE(reply.text.find("restart the machine"), std::string::npos) << reply.text;
        links.expect_never_absent();
        Worker fresh = instance.worker();
        fresh.open("links");
        EXPECT_EQ(fresh.tell("ask something"), "2");
    }

    bool control_is_anew() {
        return eventually([&] { return std::filesystem::exists(instance.runtime_dir() + "/control"); });
    }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live()};
    KeptFilter other{instance, "other", KeptFilter::live(), 100};
};

TEST_F(LostNames, SegmentWhileDownEndsItsReadersAndTheSameWorkerFollowsToTheNewGeneration) {
    instance.kill();
    links.remove_segment();
    links.expect_stands(); // nobody can have added
    instance.start();
    links.expect_unverified();
    EXPECT_EQ(instance.info("links").at("doubts"), "lossy");
    EXPECT_EQ(instance.info("links").at("live"), "0");
    links.add(100); // accepted, though it answers unverified
    links.expect_unverified();
    other.expect_goes_on();

    instance.must_ctl({"load", "links", links.write_source(), "--overlap", "0"});
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST_F(LostNames, SegmentOfAWarmingFilterWhileDownMakesItLossyToo) {
    KeptFilter warming{instance, "warming", KeptFilter::warming(), 50};
    instance.stop();
    warming.remove_segment();
    instance.start();
    EXPECT_EQ(instance.info("warming").at("doubts"), "warming,lossy");
    warming.expect_unverified();
}

TEST_F(LostNames, AnotherObjectUnderTheSegmentsNameIsNotAdopted) {
    instance.kill();
    const std::string path = "/dev/shm/" + instance.segment_of("links");
    const std::string copy = path + ".copy"; // same bytes, another inode: what it missed nobody knows
    std::filesystem::copy(path, copy);
    std::filesystem::rename(copy, path);
    instance.start();
    links.expect_unverified();
    EXPECT_EQ(instance.info("links").at("doubts"), "lossy");
}

TEST_F(LostNames, ControlWhileDownLeavesTheOldWorkerOnASegmentThatGoesOn) {
    instance.kill();
    remove_control(instance);
    links.expect_stands();
    instance.start();
    links.expect_goes_on();
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
}

TEST_F(LostNames, ControlWhileDownThenDropReachesTheOldWorker) {
    instance.kill();
    remove_control(instance);
    instance.start();
    links.expect_stands();
    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
    links.expect_unverified();
    // And what is made under the name is followed.
    instance.must_ctl({"create", "links", "--capacity", "1e6", "--fpr", "1e-2", "--nothing-exists-yet"});
    EXPECT_TRUE(links.becomes_live());
    // 2: sent twice, the first time before it knew of the new control.
    EXPECT_EQ(links.adder().tell("put another"), "2");
    EXPECT_EQ(links.worker().tell("ask another"), "1");
}

TEST_F(LostNames, ControlWhileDownThenPauseReachesTheOldWorker) {
    instance.kill();
    remove_control(instance);
    instance.start();
    links.expect_stands();
    MemoryView view{instance.runtime_dir()};
    pause_gate(view.segment_gate("links"));
    pause_gate(view.control_gate("links"));
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
    // Even when only the new control was reached: the daemon carries it into the segment.
    MemoryView again{instance.runtime_dir()};
    pause_gate(again.control_gate("other"));
    EXPECT_TRUE(other.becomes_unverified(std::chrono::seconds{3}));
}

TEST_F(LostNames, BothWhileDownRefuseAddsThroughDropAndCreateAndRestart) {
    instance.kill();
    links.remove_segment();
    remove_control(instance);
    instance.start();
    expect_adds_refused();
    other.expect_goes_on();

    instance.must_ctl({"drop", "links", "--yes"});
    instance.must_ctl({"create", "links", "--capacity", "20k", "--fpr", "1e-3"});
    expect_adds_refused();
    instance.stop();
    instance.start();
    expect_adds_refused();
    instance.kill();
    instance.start();
    expect_adds_refused();
    // A load cannot end it either: its keys are adds.
    EXPECT_NE(instance.ctl({"load", "links", links.write_source(), "--overlap", "0"}).code, 0);
    expect_adds_refused();
    other.expect_goes_on();
}

TEST_F(LostNames, BothOneAfterTheOtherRefuseAdds) {
    instance.kill();
    remove_control(instance);
    instance.start();
    instance.stop();
    instance.start();
    links.expect_goes_on();
    instance.kill();
    links.remove_segment();
    instance.start();
    expect_adds_refused();
}

TEST_F(LostNames, ControlWhileRunningIsMadeAnew) {
    remove_control(instance);
    ASSERT_TRUE(control_is_anew());
    links.expect_goes_on();
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
    EXPECT_EQ(fresh.tell("put another"), "0");
    EXPECT_EQ(links.worker().tell("ask another"), "1");

    // The old worker's segment tells it of the drop, then it opens control's path again.
    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
    instance.must_ctl({"create", "links", "--capacity", "20k", "--fpr", "1e-3", "--nothing-exists-yet"});
    EXPECT_TRUE(links.becomes_live());
}

TEST_F(LostNames, ControlWhileRunningIsRememberedWhenTheSegmentGoesLater) {
    remove_control(instance);
    ASSERT_TRUE(control_is_anew());
    links.add(10);
    instance.kill();
    links.remove_segment();
    instance.start();
    expect_adds_refused();
    other.expect_goes_on();
}

TEST_F(LostNames, ControlTwiceWhileRunning) {
    for (int i = 0; i < 2; i++) {
        remove_control(instance);
        ASSERT_TRUE(control_is_anew());
        links.expect_goes_on();
    }
}

TEST_F(LostNames, SegmentWhileRunningWarnsAndGoesOn) {
    const auto before = links.acknowledged().size();
    links.remove_segment();
    EXPECT_TRUE(eventually([&] { return instance.info("links").at("warnings") == "name_lost"; }));
    links.expect_goes_on();
    EXPECT_GT(links.acknowledged().size(), before);
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.tell("ask something"), "2"); // cannot map it

    instance.stop();
    instance.start();
    links.expect_unverified();
    EXPECT_EQ(instance.info("links").at("doubts"), "lossy");
    EXPECT_EQ(instance.info("links").at("warnings"), "");
    other.expect_goes_on();
}

TEST_F(LostNames, SegmentWhileRunningThenDropStillReachesItsReaders) {
    links.remove_segment();
    ASSERT_TRUE(eventually([&] { return instance.info("links").at("warnings") == "name_lost"; }));
    remove_control(instance); // so that only the segment's own gate is left
    ASSERT_TRUE(control_is_anew());
    links.expect_stands();
    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
}

TEST_F(LostNames, LockWhileRunningEndsTheDaemonAndTheNextStartBringsItsWorkersBack) {
    ASSERT_TRUE(std::filesystem::remove(instance.runtime_dir() + "/lock"));
    const auto exit = instance.daemon().wait();
    EXPECT_EQ(exit.signal, 0);
    EXPECT_NE(exit.code, 0);
    EXPECT_NE(instance.daemon().log().find("lock"), std::string::npos);
    links.expect_unverified();
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

// The same with the whole folder: no gate of the old control can be trusted to be reached.
TEST_F(LostNames, RuntimeFolderWhileRunningEndsTheDaemonAndTheNextStartBringsItsWorkersBack) {
    std::filesystem::remove_all(instance.runtime_dir());
    EXPECT_NE(instance.daemon().wait().code, 0);
    links.expect_unverified();
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

// An operator paused within the last second before the daemon gave up: it must not be forgotten.
TEST_F(LostNames, PauseJustBeforeTheRuntimeFolderWentIsKept) {
    instance.daemon().signal(SIGSTOP);
    MemoryView view{instance.runtime_dir()};
    pause_gate(view.control_gate("links"));
    pause_gate(view.segment_gate("links"));
    std::filesystem::remove_all(instance.runtime_dir());
    instance.daemon().signal(SIGCONT);
    EXPECT_NE(instance.daemon().wait().code, 0);
    instance.start();
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    links.expect_unverified();
}

TEST_F(LostNames, StateLockWhileRunningEndsTheDaemon) {
    ASSERT_TRUE(std::filesystem::remove(instance.state_dir() + "/lock"));
    EXPECT_NE(instance.daemon().wait().code, 0);
    links.expect_unverified();
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

// No memory for a new generation: nothing to adopt, nothing to answer from, and no adds that would be lost.
TEST_F(LostNames, SegmentWithoutMemoryForANewOneAnswersUnverifiedUntilThereIsRoom) {
    instance.kill();
    links.remove_segment();
    instance.start({"--shm-reserve", "4000000GiB"});
    links.expect_unverified();
    EXPECT_LT(std::stol(links.adder().tell("put another")), 0);
    EXPECT_EQ(instance.info("links").at("doubts"), "partial,lossy");
    other.expect_goes_on();
    instance.kill();
    instance.start();
    EXPECT_EQ(instance.info("links").at("doubts"), "lossy");
    links.expect_unverified();
    links.add(10);
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

} // namespace
} // namespace shmbloom::test
