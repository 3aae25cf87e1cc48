// Names that go: of the segment, of control, of both, of the lock; while the daemon is down and while it runs.
#include <csignal>

#include "kept_filter.h"
#include "memory_view.h"
#include "remove_folder.h"

namespace shmbloom::test {
namespace {

constexpr const char *kBusy = "-16"; // EBUSY

class LostNames : public ::testing::TestWithParam<Durability> {
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
        if (instance.info("links").at("live") == "0") // warming, or its bits are lost
            EXPECT_EQ(fresh.tell("ask something"), "2");
        else
            links.expect_stands_for_a_fresh_one();
    }

    void make_anew(const std::string &capacity = "20000", const std::string &rate = "1e-3") {
        instance.create("links", {"CAPACITY", capacity, "FPR", rate, "DURABILITY", GetParam(), "NOTHING-EXISTS-YET"});
    }
    bool control_is_anew() {
        return eventually([&] { return std::filesystem::exists(instance.runtime_dir() + "/control"); });
    }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(GetParam())};
    KeptFilter other{instance, "other", KeptFilter::live(GetParam()), 100};
};

TEST_P(LostNames, SegmentWhileDownEndsItsReadersAndTheSameWorkerFollowsToTheNewGeneration) {
    instance.kill();
    links.remove_segment();
    links.expect_stands(); // nobody can have added
    instance.start();
    links.expect_lossy_or_restored();
    links.add(100); // accepted, even when it answers unverified
    links.expect_lossy_or_restored();
    other.expect_goes_on();

    instance.must_ctl({"load", "links", links.write_source(), "--overlap", "0"});
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST_P(LostNames, SegmentOfAWarmingFilterWhileDownLeavesItWarmingAndLossyIfBitsAreLost) {
    KeptFilter warming{instance, "warming", KeptFilter::warming(GetParam()), 50};
    instance.stop();
    warming.remove_segment();
    instance.start();
    EXPECT_EQ(instance.info("warming").at("doubts"), warming.doubts_after_loss("warming"));
    warming.expect_unverified();
    instance.must_ctl({"load", "warming", warming.write_source(), "--overlap", "0"});
    ASSERT_TRUE(warming.becomes_live());
    warming.expect_goes_on();
}

TEST_P(LostNames, AnotherObjectUnderTheSegmentsNameIsNotAdopted) {
    instance.kill();
    const std::string path = "/dev/shm/" + instance.segment_of("links");
    const std::string copy = path + ".copy"; // same bytes, another inode: what it missed nobody knows
    std::filesystem::copy(path, copy);
    std::filesystem::rename(copy, path);
    instance.start();
    links.expect_lossy_or_restored();
}

TEST_P(LostNames, ControlWhileDownLeavesTheOldWorkerOnASegmentThatGoesOn) {
    instance.kill();
    remove_control(instance);
    links.expect_stands();
    instance.start();
    links.expect_goes_on();
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
}

TEST_P(LostNames, ControlWhileDownThenDropReachesTheOldWorker) {
    instance.kill();
    remove_control(instance);
    instance.start();
    links.expect_stands();
    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
    links.expect_unverified();
    // And what is made under the name is followed.
    make_anew("1000000", "1e-2");
    EXPECT_TRUE(links.becomes_live());
    // 2: sent twice, the first time before it knew of the new control.
    EXPECT_EQ(links.adder().tell("put another"), "2");
    EXPECT_EQ(links.worker().tell("ask another"), "1");
}

TEST_P(LostNames, ControlWhileDownThenPauseReachesTheOldWorker) {
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

TEST_P(LostNames, BothWhileDownRefuseAddsThroughDropAndCreateAndRestart) {
    instance.kill();
    links.remove_segment();
    remove_control(instance);
    instance.start();
    expect_adds_refused();
    other.expect_goes_on();

    instance.must_ctl({"drop", "links", "--yes"});
    instance.create("links", {"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", GetParam()});
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

TEST_P(LostNames, BothOneAfterTheOtherRefuseAdds) {
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

TEST_P(LostNames, ControlWhileRunningIsMadeAnew) {
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
    make_anew();
    EXPECT_TRUE(links.becomes_live());
}

TEST_P(LostNames, ControlWhileRunningIsRememberedWhenTheSegmentGoesLater) {
    remove_control(instance);
    ASSERT_TRUE(control_is_anew());
    links.add(10);
    instance.kill();
    links.remove_segment();
    instance.start();
    expect_adds_refused();
    other.expect_goes_on();
}

TEST_P(LostNames, ControlTwiceWhileRunning) {
    for (int i = 0; i < 2; i++) {
        remove_control(instance);
        ASSERT_TRUE(control_is_anew());
        links.expect_goes_on();
    }
}

// See renew_test too: it is copied to a new generation.
TEST_P(LostNames, SegmentWhileRunningIsCopiedAndGoesOn) {
    const auto before = links.acknowledged().size();
    const std::string generation = instance.info("links").at("generation");
    links.remove_segment();
    links.add(20);
    links.expect_never_absent();
    ASSERT_TRUE(eventually([&] { return instance.info("links").at("generation") != generation; }));
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    EXPECT_GT(links.acknowledged().size(), before);
    links.expect_stands_for_a_fresh_one();

    instance.stop();
    instance.start();
    links.expect_goes_on();
    EXPECT_EQ(instance.info("links").at("warnings"), "");
    other.expect_goes_on();
}

TEST_P(LostNames, SegmentWhileRunningThenDropStillReachesItsReaders) {
    instance.daemon().signal(SIGSTOP); // so that nothing is noticed before both are gone
    links.remove_segment();
    remove_control(instance);
    instance.daemon().signal(SIGCONT);
    ASSERT_TRUE(control_is_anew());
    links.expect_stands();
    ASSERT_TRUE(eventually([&] { return instance.ctl({"drop", "links", "--yes"}).code == 0; })); // busy while it is copied
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
}

TEST_P(LostNames, LockWhileRunningEndsTheDaemonAndTheNextStartBringsItsWorkersBack) {
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
TEST_P(LostNames, RuntimeFolderWhileRunningEndsTheDaemonAndTheNextStartBringsItsWorkersBack) {
    remove_folder(instance.runtime_dir());
    EXPECT_NE(instance.daemon().wait().code, 0);
    links.expect_unverified();
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

// An operator paused within the last second before the daemon gave up: it must not be forgotten.
TEST_P(LostNames, PauseJustBeforeTheRuntimeFolderWentIsKept) {
    instance.daemon().signal(SIGSTOP);
    MemoryView view{instance.runtime_dir()};
    pause_gate(view.control_gate("links"));
    pause_gate(view.segment_gate("links"));
    remove_folder(instance.runtime_dir());
    instance.daemon().signal(SIGCONT);
    EXPECT_NE(instance.daemon().wait().code, 0);
    instance.start();
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    links.expect_unverified();
}

TEST_P(LostNames, StateLockWhileRunningEndsTheDaemon) {
    ASSERT_TRUE(std::filesystem::remove(instance.state_dir() + "/lock"));
    EXPECT_NE(instance.daemon().wait().code, 0);
    links.expect_unverified();
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

// No memory for a new generation: nothing to adopt, nothing to answer from, and no adds that would be lost.
TEST_P(LostNames, SegmentWithoutMemoryForANewOneAnswersUnverifiedUntilThereIsRoom) {
    instance.kill();
    links.remove_segment();
    instance.start({"--shm-reserve", "4000000GiB"});
    links.expect_unverified();
    EXPECT_LT(std::stol(links.adder().tell("put another")), 0);
    EXPECT_EQ(instance.info("links").at("doubts"), links.doubts_after_loss("partial"));
    other.expect_goes_on();
    instance.kill();
    instance.start();
    links.expect_lossy_or_restored();
    links.add(10);
    links.expect_lossy_or_restored();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

INSTANTIATE_TEST_SUITE_P(Each, LostNames, each_durability(), durability_name);

} // namespace
} // namespace shmbloom::test
