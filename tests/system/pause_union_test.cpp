// `paused` is set by an operator in the gates themselves, with or without a daemon, and only one act ends it. A start
// takes what any gate or the registry says.
#include <csignal>

#include "kept_filter.h"
#include "memory_view.h"

namespace shmbloom::test {
namespace {

class Paused : public ::testing::TestWithParam<Durability> {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    void pause(bool control, bool segment, const std::string &name = "links") {
        MemoryView view{instance.runtime_dir()};
        if (control)
            pause_gate(view.control_gate(name));
        if (segment)
            pause_gate(view.segment_gate(name));
    }
    bool stands_everywhere(const std::string &name = "links") {
        MemoryView view{instance.runtime_dir()};
        return (read_gate(view.control_gate(name)) & SHMBLOOM_DOUBT_PAUSED) != 0 &&
               (read_gate(view.segment_gate(name)) & SHMBLOOM_DOUBT_PAUSED) != 0 &&
               instance.registry().find("\"paused\"") != std::string::npos;
    }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(GetParam()), 200};
};

TEST_P(Paused, InControlsGateIsNoticedWithinTwoSeconds) {
    pause(true, false);
    links.expect_unverified(); // at once
    EXPECT_TRUE(eventually([&] { return stands_everywhere(); }, std::chrono::seconds{2}));
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    links.add(10);
    links.expect_unverified();
}

TEST_P(Paused, InTheSegmentsGateIsNoticedWithinTwoSeconds) {
    pause(false, true);
    links.expect_unverified();
    EXPECT_TRUE(eventually([&] { return stands_everywhere(); }, std::chrono::seconds{2}));
}

TEST_P(Paused, WithTheDaemonDeadIsTakenOverByTheNextStart) {
    for (const auto &[control, segment] : {std::pair{true, false}, {false, true}}) {
        const std::string name = control ? "by-control" : "by-segment";
        KeptFilter filter{instance, name, KeptFilter::live(GetParam()), 50};
        instance.kill();
        pause(control, segment, name);
        filter.expect_unverified();
        instance.start();
        EXPECT_TRUE(stands_everywhere(name));
        filter.expect_unverified();
        EXPECT_EQ(instance.info(name).at("doubts"), "paused");
    }
    links.expect_goes_on();
}

TEST_P(Paused, WithTheDaemonHangingWorksAtOnce) {
    instance.daemon().signal(SIGSTOP);
    pause(true, true);
    links.expect_unverified();
    instance.daemon().signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return stands_everywhere(); }));
    links.expect_unverified();
}

TEST_P(Paused, SurvivesRestartsOfEveryKind) {
    pause(true, true);
    ASSERT_TRUE(eventually([&] { return stands_everywhere(); }));
    for (const bool clean : {true, false}) {
        clean ? instance.stop() : instance.kill();
        links.expect_unverified();
        instance.start();
        links.expect_unverified();
        EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    }
    instance.kill();
    remove_control(instance);
    instance.start();
    links.expect_unverified();
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
}

TEST_P(Paused, IsCarriedIntoANewControl) {
    pause(true, false);
    remove_control(instance);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(instance.runtime_dir() + "/control"); }));
    ASSERT_TRUE(eventually([&] { return stands_everywhere(); }));
    links.expect_unverified();
}

TEST_P(Paused, OverWarmingStaysWhenTheLoadEnds) {
    KeptFilter warming{instance, "warming", KeptFilter::warming(GetParam()), 50};
    pause(true, true, "warming");
    instance.must_ctl({"load", "warming", warming.write_source()});
    EXPECT_EQ(instance.info("warming").at("doubts"), "paused");
    warming.expect_unverified();
    instance.kill();
    instance.start();
    EXPECT_EQ(instance.info("warming").at("doubts"), "paused");
    warming.expect_unverified();
}

TEST_P(Paused, IsCarriedIntoTheNewGenerationOfALostSegment) {
    instance.kill();
    links.remove_segment();
    MemoryView view{instance.runtime_dir()};
    pause_gate(view.control_gate("links"));
    instance.start();
    EXPECT_EQ(instance.info("links").at("doubts"), links.doubts_after_loss("paused"));
    links.expect_unverified();
    EXPECT_TRUE(stands_everywhere());
    instance.must_ctl({"load", "links", links.write_source(), "--overlap", "0"});
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    links.expect_unverified();
    EXPECT_EQ(instance.wire().call({"SB.RESUME", "links"}).text, "OK");
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

// In the middle of a start, between the moment it reads the gates and the moment it stores them.
TEST_P(Paused, InTheMiddleOfAStartIsKept) {
    for (const bool lost : {false, true}) {
        const std::string name = lost ? "lost" : "adopted";
        KeptFilter filter{instance, name, KeptFilter::live(GetParam()), 50};
        instance.kill();
        if (lost)
            filter.remove_segment();
        Process starting = instance.launch({}, {{"SHMBLOOM_STOP_AT", "start.durable"}});
        starting.wait_until_stopped();
        pause(true, !lost, name);
        starting.signal(SIGCONT);
        ASSERT_TRUE(starting.wait_for_log(" ready: "));
        filter.expect_unverified();
        EXPECT_TRUE(eventually([&] { return stands_everywhere(name); }));
        starting.signal(SIGKILL);
        starting.wait();
        instance.start();
        EXPECT_EQ(instance.info(name).at("doubts"), lost ? filter.doubts_after_loss("paused") : "paused");
    }
}

// In the middle of the end of a load, between the registry and the gates.
TEST_P(Paused, InTheMiddleOfALoadsEndIsKept) {
    for (const std::string step : {"load.durable", "load.segment_gate"}) {
        const std::string name = "warming-" + step;
        KeptFilter warming{instance, name, KeptFilter::warming(GetParam()), 50};
        instance.stop();
        instance.start({}, {{"SHMBLOOM_STOP_AT", step}});
        Wire wire = instance.wire();
        const std::string domain = instance.info(name).at("hash_domain");
        ASSERT_EQ(wire.call({"SB.LOAD", name, "BEGIN"}).text, "OK");
        ASSERT_FALSE(wire.add(name, domain, {1}).is_error());
        wire.send({"SB.LOAD", name, "END"});
        instance.daemon().wait_until_stopped();
        pause(true, true, name);
        warming.expect_unverified();
        instance.daemon().signal(SIGCONT);
        EXPECT_EQ(wire.receive().fields().at("live"), "0");
        warming.expect_unverified();
        EXPECT_EQ(instance.info(name).at("doubts"), "paused");
    }
}

// The registry cannot be written while a resume waits for it: heartbeats meanwhile must not take the old bit for a new pause.
TEST_P(Paused, AResumeThatWaitsForTheRegistryTakesEffectWhenItCan) {
    Wire wire = instance.wire();
    ASSERT_EQ(wire.call({"SB.PAUSE", "links"}).text, "OK");
    const std::string blocker = instance.state_dir() + "/registry.json.new";
    std::filesystem::create_directory(blocker);
    EXPECT_EQ(wire.call({"SB.RESUME", "links"}).word(), "IO");
    links.expect_unverified();
    ASSERT_TRUE(eventually([&] { return instance.info("links").at("warnings") == "degraded"; }));
    std::filesystem::remove(blocker);
    EXPECT_TRUE(links.becomes_live());
    links.expect_goes_on();
    instance.kill();
    instance.start();
    links.expect_goes_on();
}

TEST_P(Paused, APauseThatComesWhileAResumeWaitsWins) {
    Wire wire = instance.wire();
    ASSERT_EQ(wire.call({"SB.PAUSE", "links"}).text, "OK");
    const std::string blocker = instance.state_dir() + "/registry.json.new";
    std::filesystem::create_directory(blocker);
    EXPECT_EQ(wire.call({"SB.RESUME", "links"}).word(), "IO");
    EXPECT_EQ(wire.call({"SB.PAUSE", "links"}).word(), "IO");
    std::filesystem::remove(blocker);
    ASSERT_TRUE(eventually([&] { return instance.info("links").at("warnings").empty(); }));
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    EXPECT_TRUE(stands_everywhere());
    links.expect_unverified();
}

TEST_P(Paused, AFilterWithoutMemoryCanBeResumed) {
    instance.kill();
    links.remove_segment();
    MemoryView view{instance.runtime_dir()};
    pause_gate(view.control_gate("links"));
    instance.start({"--shm-reserve", "4000000GiB"});
    EXPECT_EQ(instance.info("links").at("doubts"), links.doubts_after_loss("partial,paused"));
    Wire wire = instance.wire();
    EXPECT_EQ(wire.call({"SB.RESUME", "links"}).text, "OK");
    EXPECT_EQ(instance.info("links").at("doubts"), links.doubts_after_loss("partial"));
    links.expect_unverified();
}

TEST_P(Paused, DoesNotOutliveTheFilter) {
    pause(true, true);
    ASSERT_TRUE(eventually([&] { return stands_everywhere(); }));
    instance.must_ctl({"drop", "links", "--yes"});
    instance.create("links", {"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", GetParam(), "NOTHING-EXISTS-YET"});
    EXPECT_TRUE(links.becomes_live());
}

INSTANTIATE_TEST_SUITE_P(Each, Paused, each_durability(), durability_name);

} // namespace
} // namespace shmbloom::test
