// The off switch works whatever the daemon does: every worker answers unverified at its next lookup.
#include <csignal>
#include <filesystem>

#include "operator.h"

namespace shmbloom::test {
namespace {

class Pause : public Operator {
  protected:
    void SetUp() override {
        Operator::SetUp();
        create("links");
        worker = std::make_unique<Worker>(instance.runtime_dir());
        worker->open("links");
        ASSERT_EQ(answer(), "0");
    }
    std::string answer() { return worker->tell("ask nothing"); }
    bool both_gates_paused() {
        MemoryView view{instance.runtime_dir()};
        return (read_gate(view.control_gate("links")) & SHMBLOOM_DOUBT_PAUSED) != 0 &&
               (read_gate(view.segment_gate("links")) & SHMBLOOM_DOUBT_PAUSED) != 0;
    }
    void resumes() {
        const Finished resume = operate({"resume", "links"});
        EXPECT_EQ(resume.code, 0) << resume.log;
        EXPECT_EQ(answer(), "0");
        EXPECT_FALSE(is_recorded_as_paused());
    }

    std::unique_ptr<Worker> worker;
};

TEST_F(Pause, IsSeenByAWorkerAtOnceAndNotedByTheDaemon) {
    const auto paused = object({"pause", "links", "--reason", "tonight's links"}, 0);
    EXPECT_EQ(answer(), "2");
    EXPECT_TRUE(both_gates_paused());
    EXPECT_EQ(paused.at("noted_by"), "daemon");
    EXPECT_EQ(paused.at("filters")[0].at("control_gate"), true);
    EXPECT_EQ(paused.at("filters")[0].at("segment_gate"), true);
    EXPECT_TRUE(says(instance.registry(), "tonight's links"));
    EXPECT_TRUE(says(operate({"status", "links"}).output, "(tonight's links)"));
    resumes();
}

TEST_F(Pause, OutlivesTheDaemonsRestart) {
    EXPECT_EQ(operate({"pause", "links"}).code, 0);
    instance.stop();
    instance.start();
    EXPECT_EQ(answer(), "2");
    resumes();
}

TEST_F(Pause, WithTheDaemonDeadIsNotedByShmbloomdOnce) {
    instance.kill();
    EXPECT_EQ(object({"pause", "links", "--reason", "-- why not"}, 0).at("noted_by"), "once");
    EXPECT_EQ(answer(), "2");
    EXPECT_TRUE(is_recorded_as_paused());
    EXPECT_TRUE(says(instance.registry(), "-- why not"));
    instance.start();
    EXPECT_EQ(answer(), "2");
    resumes();
}

TEST_F(Pause, WithTheDaemonDeadAndNoShmbloomdStandsInMemory) {
    instance.kill();
    const Finished pause = run(line({"pause", "links"}), "", {{"PATH", "/nowhere"}});
    EXPECT_EQ(pause.code, 0) << pause.log;
    EXPECT_TRUE(says(pause.log, "a restart of the machine forgets")) << pause.log;
    EXPECT_EQ(answer(), "2");
    EXPECT_FALSE(is_recorded_as_paused());
    instance.start();
    EXPECT_TRUE(is_recorded_as_paused()) << "a start takes what any gate says";
    resumes();
}

TEST_F(Pause, WithTheDaemonHungStandsAtOnceAndIsNotedLater) {
    instance.daemon().signal(SIGSTOP);
    const Finished pause = operate({"pause", "links"});
    EXPECT_EQ(pause.code, 0) << pause.log;
    EXPECT_EQ(answer(), "2");
    EXPECT_TRUE(says(pause.log, "does not answer")) << pause.log;
    const Finished resume = operate({"resume", "links"});
    EXPECT_EQ(resume.code, 4);
    EXPECT_TRUE(says(resume.log, "HUNG: ")) << resume.log;
    EXPECT_EQ(answer(), "2");
    instance.daemon().signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return is_recorded_as_paused(); }));
    resumes();
}

TEST_F(Pause, InTheMiddleOfAStartHoldsAfterIt) {
    for (const char *step : {"start.noted", "start.gate_open", "start.open"}) {
        SCOPED_TRACE(step);
        instance.kill();
        Process starting = instance.launch({}, {{"SHMBLOOM_STOP_AT", step}});
        starting.wait_until_stopped();
        Process pause{line({"--json", "pause", "links"}), with_shmbloomd()};
        EXPECT_TRUE(eventually([&] { return both_gates_paused(); }));
        EXPECT_EQ(answer(), "2");
        starting.signal(SIGCONT); // the tool still tries to tell it
        EXPECT_EQ(pause.wait().code, 0) << pause.log();
        EXPECT_EQ(nlohmann::json::parse(pause.rest_of_output()).at("noted_by"), "daemon");
        EXPECT_EQ(answer(), "2");
        EXPECT_TRUE(is_recorded_as_paused());
        starting.signal(SIGKILL);
        starting.wait();
        instance.start();
        resumes();
    }
}

TEST_F(Pause, FindsTheSegmentsByTheRegistryWhenControlIsGone) {
    instance.daemon().signal(SIGSTOP);
    std::filesystem::remove(instance.runtime_dir() + "/control");
    const auto paused = object({"pause", "links"}, 0);
    EXPECT_EQ(paused.at("filters")[0].at("control_gate"), false);
    EXPECT_EQ(paused.at("filters")[0].at("segment_gate"), true);
    EXPECT_EQ(answer(), "2");
    instance.daemon().signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return is_recorded_as_paused(); }));
    EXPECT_EQ(answer(), "2");
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(instance.runtime_dir() + "/control"); }));
    resumes();
}

TEST_F(Pause, WithControlGoneAndTheDaemonDeadIsNotedByShmbloomdOnce) {
    instance.kill();
    std::filesystem::remove(instance.runtime_dir() + "/control");
    EXPECT_EQ(object({"pause", "--all"}, 0).at("noted_by"), "once");
    EXPECT_EQ(answer(), "2");
    EXPECT_TRUE(is_recorded_as_paused());
}

TEST_F(Pause, OfAllTakesEveryFilter) {
    create("tokens", {});
    EXPECT_EQ(object({"pause", "--all"}, 0).at("filters").size(), 2u);
    EXPECT_EQ(doubts("links"), "paused");
    EXPECT_EQ(doubts("tokens"), "warming,paused");
    EXPECT_EQ(operate({"resume", "--all"}).code, 0);
    EXPECT_EQ(answer(), "0");
    EXPECT_EQ(doubts("tokens"), "warming");
}

TEST_F(Pause, OfAFilterThatIsNotThereEndsWith5) {
    EXPECT_EQ(object({"pause", "none"}, 5).at("word"), "NOTFOUND");
    EXPECT_EQ(operate({"resume", "none"}).code, 5);
    instance.kill();
    EXPECT_EQ(operate({"pause", "none"}).code, 5);
    EXPECT_EQ(answer(), "0");
}

TEST_F(Pause, NeverRunsOnceInAnothersStateFolder) {
    instance.kill();
    TestInstance other;
    other.start();
    other.kill();
    const Finished pause = run(
        {SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "--state-dir", other.state_dir(), "pause", "links"},
        "", with_shmbloomd());
    EXPECT_EQ(pause.code, 0) << pause.log;
    EXPECT_TRUE(says(pause.log, "is not that of the daemon")) << pause.log;
    EXPECT_EQ(answer(), "2");
    const Finished resume = run({SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "--state-dir",
                                 other.state_dir(), "resume", "links"},
                                "", with_shmbloomd());
    EXPECT_EQ(resume.code, 6);
    EXPECT_TRUE(says(resume.log, "DISAGREE: ")) << resume.log;
    EXPECT_EQ(doubts("links"), "paused") << "the filter is still there";
}

TEST_F(Pause, OverWarmingLeavesWarmingBehind) {
    create("tokens", {});
    EXPECT_EQ(operate({"pause", "tokens"}).code, 0);
    EXPECT_EQ(doubts("tokens"), "warming,paused");
    const Finished resume = operate({"resume", "tokens"});
    EXPECT_EQ(resume.code, 0);
    EXPECT_TRUE(says(resume.output, "still warming")) << resume.output;
    EXPECT_EQ(doubts("tokens"), "warming");
}

TEST_F(Pause, OverPartialLeavesPartialBehind) {
    create_in_memory("cache");
    instance.kill();
    instance.remove_segments();
    instance.start({"--shm-reserve", "1000000GiB"});
    EXPECT_EQ(doubts("links"), "partial");
    EXPECT_EQ(doubts("cache"), "partial,lossy");
    EXPECT_EQ(operate({"pause", "--all"}).code, 0);
    EXPECT_EQ(doubts("links"), "partial,paused");
    EXPECT_EQ(doubts("cache"), "partial,paused,lossy");
    EXPECT_EQ(operate({"resume", "--all"}).code, 0);
    EXPECT_EQ(doubts("links"), "partial");
    EXPECT_EQ(doubts("cache"), "partial,lossy");
}

TEST_F(Pause, StandsWhenALoadEndsUnderIt) {
    create("tokens", {});
    const std::string pause =
        std::string{SHMBLOOMCTL_PATH} + " --runtime-dir " + instance.runtime_dir() + " pause tokens";
    const Finished loaded = load("tokens", "seq 100; " + pause + " >&2; seq 101 200");
    EXPECT_EQ(loaded.code, 0) << loaded.log;
    EXPECT_TRUE(says(loaded.output, "paused: ")) << loaded.output;
    EXPECT_TRUE(says(loaded.output, "resume tokens")) << loaded.output;
    EXPECT_EQ(doubts("tokens"), "paused");
    EXPECT_EQ(operate({"resume", "tokens"}).code, 0);
    EXPECT_EQ(doubts("tokens"), "");
    EXPECT_EQ(operate({"contains", "tokens", "200"}).output, "200\tmaybe\n");
}

} // namespace
} // namespace shmbloom::test
