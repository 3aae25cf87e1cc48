// kill -9 at every step of create, drop, load, pause, a lost control and a start (of the journal: journal_crash_test.cpp).
// Whatever the step, the next start finds either the old state or the new one, no segment is left over, and workers that
// never reopened are never told a wrong no.
#include <regex>
#include <set>

#include "crash_steps.h"
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

TEST(CrashPoints, EveryOneInTheSourceIsTriedHere) {
    std::set<std::string> tried;
    for (const auto *steps : {&kCreateSteps, &kDropSteps, &kLoadSteps, &kControlSteps, &kPauseSteps, &kJournalSteps,
                              &kFolderSteps, &kImportSteps, &kSwitchSteps, &kHashListSteps})
        for (const Step &step : *steps)
            tried.insert(step.name);
    for (const StartStep &step : kStartSteps)
        tried.insert(step.step.name);

    std::set<std::string> in_source;
    const std::regex call{R"re(crash_point\("([^"]+)"\))re"};
    for (const auto &entry : std::filesystem::recursive_directory_iterator{DAEMON_SOURCE_DIR}) {
        if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h")
            continue;
        std::ifstream file{entry.path()};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        for (std::sregex_iterator at{text.begin(), text.end(), call}, end; at != end; ++at)
            in_source.insert((*at)[1]);
    }
    EXPECT_EQ(tried, in_source);
}

class CrashAt : public ::testing::Test {
  protected:
    explicit CrashAt(const Durability &of_all) : durability{of_all} {}

    // The daemon that is to crash takes over from one that ended well.
    void restart_to_crash_at(Step step) {
        if (kept.is_journalled() && step.time >= kFirst)
            step.time++;
        instance.stop();
        instance.start({}, {{"SHMBLOOM_CRASH_AT", step.text()}});
        kept.add(1); // in the journal's first file, so the registry names that, and whatever comes now is the next write
    }

    void wait_for_crash(const Step &step) {
        ASSERT_EQ(instance.daemon().wait().signal, SIGKILL) << step.text() << " was not reached: " << instance.daemon().log();
        kept.expect_stands(); // the daemon is dead, the worker goes on
    }

    void restart_and_check() {
        instance.start();
        EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
        kept.expect_goes_on();
        warming.expect_unverified();
        EXPECT_EQ(instance.info("warming").at("doubts"), "warming");
        warming.add(1);
    }

    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }

    const Durability durability;
    TestInstance instance;
    KeptFilter kept{started(instance), "kept", KeptFilter::live(durability), 200};
    KeptFilter warming{instance, "warming", KeptFilter::warming(durability), 50};
};

const auto kBoth = ::testing::Values(Durability{kDurable}, Durability{kMemory});

template <typename StepOfIt>
class CrashAtStep : public CrashAt, public ::testing::WithParamInterface<std::tuple<Durability, StepOfIt>> {
  protected:
    CrashAtStep() : CrashAt{std::get<0>(this->GetParam())} {}
    static const StepOfIt &step() { return std::get<1>(CrashAtStep::GetParam()); }
};

std::string step_test_name(const ::testing::TestParamInfo<std::tuple<Durability, Step>> &test) {
    return test_name(std::get<0>(test.param) + "_" + std::get<1>(test.param).text());
}

class CreateCrash : public CrashAt, public ::testing::WithParamInterface<std::tuple<Durability, Step, bool>> {
  protected:
    CreateCrash() : CrashAt{std::get<0>(GetParam())} {}
    void create(bool live) {
        instance.create("new", live ? std::vector<std::string>{"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", durability,
                                                               "NOTHING-EXISTS-YET"}
                                    : std::vector<std::string>{"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", durability});
    }
};

TEST_P(CreateCrash, IsDoneOrNotAtAll) {
    const auto &[of_all, step, live] = GetParam();
    restart_to_crash_at(step);
    EXPECT_THROW(create(live), std::runtime_error);
    wait_for_crash(step);
    restart_and_check();

    if (const auto info = instance.info("new"); info.empty())
        create(live);
    EXPECT_EQ(instance.info("new").at("live"), live ? "1" : "0");
    Worker worker = instance.worker();
    worker.open("new");
    EXPECT_EQ(worker.tell("put something"), live ? "0" : "2");
    EXPECT_EQ(worker.tell("ask something"), live ? "1" : "2");
    EXPECT_EQ(worker.tell("ask nothing"), live ? "0" : "2");
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

std::string create_test_name(const ::testing::TestParamInfo<std::tuple<Durability, Step, bool>> &test) {
    const auto &[durability, step, live] = test.param;
    return test_name(durability + "_" + step.text() + (live ? "_live" : "_warming"));
}

INSTANTIATE_TEST_SUITE_P(Steps, CreateCrash,
                         ::testing::Combine(kBoth, ::testing::ValuesIn(kCreateSteps), ::testing::Bool()),
                         create_test_name);

class DropCrash : public CrashAtStep<Step> {};

TEST_P(DropCrash, IsDoneOrNotAtAll) {
    KeptFilter going{instance, "going", KeptFilter::live(durability), 100};
    restart_to_crash_at(step());
    EXPECT_NE(instance.ctl({"drop", "going", "--yes"}).code, 0);
    wait_for_crash(step());
    going.expect_unverified(); // the gates went first
    restart_and_check();

    if (!instance.info("going").empty()) {
        ASSERT_TRUE(going.becomes_live());
        going.expect_goes_on();
        instance.must_ctl({"drop", "going", "--yes"});
    }
    going.expect_unverified();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

INSTANTIATE_TEST_SUITE_P(Steps, DropCrash, ::testing::Combine(kBoth, ::testing::ValuesIn(kDropSteps)), step_test_name);

class LoadCrash : public CrashAtStep<Step> {};

TEST_P(LoadCrash, NeverMakesLiveWhatWasNotComplete) {
    KeptFilter loaded{instance, "loaded", KeptFilter::warming(durability), 100};
    const std::string source = loaded.write_source();
    restart_to_crash_at(step());
    EXPECT_NE(instance.ctl({"load", "loaded", source}).code, 0);
    wait_for_crash(step());
    loaded.expect_never_absent();
    restart_and_check();

    // The load had ended well, so both are right; but a doubt that stands is one everywhere.
    if (instance.info("loaded").at("live") == "0") {
        loaded.expect_unverified();
        instance.must_ctl({"load", "loaded", source});
    }
    ASSERT_TRUE(loaded.becomes_live());
    loaded.expect_goes_on();
}

INSTANTIATE_TEST_SUITE_P(Steps, LoadCrash, ::testing::Combine(kBoth, ::testing::ValuesIn(kLoadSteps)), step_test_name);

class PauseCrash : public CrashAtStep<Step> {};

// The gates come before the registry, and a start takes what either says.
TEST_P(PauseCrash, OutlivesTheDaemonWhereverItDied) {
    KeptFilter paused{instance, "paused", KeptFilter::live(durability), 50};
    restart_to_crash_at(step());
    Wire wire = instance.wire();
    wire.send({"SB.PAUSE", "paused"});
    wait_for_crash(step());
    paused.expect_unverified();
    restart_and_check();
    paused.expect_unverified();
    EXPECT_EQ(instance.info("paused").at("doubts"), "paused");
    paused.add(10);
    paused.expect_unverified();
}

INSTANTIATE_TEST_SUITE_P(Steps, PauseCrash, ::testing::Combine(kBoth, ::testing::ValuesIn(kPauseSteps)), step_test_name);

class LostControlCrash : public CrashAtStep<Step> {};

TEST_P(LostControlCrash, LosesNoFilterAndNoReader) {
    restart_to_crash_at(step());
    remove_control(instance);
    wait_for_crash(step());
    restart_and_check();
    Worker fresh = instance.worker();
    fresh.open("kept");
    EXPECT_EQ(fresh.count_all("base62", kept.acknowledged()).maybe, kept.acknowledged().size());

    // It stays known that a control was lost: a segment lost now may have readers that nobody reaches.
    instance.kill();
    kept.remove_segment();
    instance.start();
    EXPECT_EQ(kept.adder().tell("put another"), "-16");
    kept.expect_never_absent();
}

INSTANTIATE_TEST_SUITE_P(Steps, LostControlCrash, ::testing::Combine(kBoth, ::testing::ValuesIn(kControlSteps)), step_test_name);

class StartCrash : public CrashAt, public ::testing::WithParamInterface<std::tuple<Durability, Before, StartStep>> {
  protected:
    StartCrash() : CrashAt{std::get<0>(GetParam())} {}
};

TEST_P(StartCrash, IsGoneOnFromByTheNextStart) {
    const auto &[of_all, before, wanted] = GetParam();
    const bool segment_gone = before == Before::segment_gone || before == Before::both_gone;
    const bool control_gone = before == Before::control_gone || before == Before::both_gone;
    KeptFilter lost{instance, "lost", KeptFilter::live(durability), 100};
    if (before == Before::clean_stop)
        instance.stop();
    else
        instance.kill();
    if (segment_gone)
        lost.remove_segment();
    if (control_gone)
        remove_control(instance);

    const bool reached = (segment_gone || !wanted.lost_segment) && (control_gone || !wanted.lost_control);
    ASSERT_EQ(instance.start_and_crash(wanted.step.text()), reached) << wanted.step.text();
    if (!reached)
        instance.kill();
    kept.expect_stands();
    lost.expect_never_absent();
    warming.expect_unverified();
    restart_and_check();

    if (!segment_gone)
        return lost.expect_goes_on();
    EXPECT_EQ(instance.info("lost").at("doubts"), lost.doubts_after_loss());
    if (control_gone) {
        EXPECT_TRUE(lost.try_add(1).starts_with("acknowledged 0 refused 1 last -16 ")); // EBUSY
        EXPECT_EQ(instance.info("lost").at("warnings"), "adds_refused");
        lost.expect_never_absent(); // it may go on reading the nameless bits, which miss nothing
        if (lost.is_journalled())
            lost.expect_stands_for_a_fresh_one();
    } else {
        lost.expect_lossy_or_restored();
        lost.add(10);
        lost.expect_lossy_or_restored();
    }
}

std::string start_test_name(const ::testing::TestParamInfo<std::tuple<Durability, Before, StartStep>> &test) {
    static const char *const names[] = {"clean_stop", "kill", "segment_gone", "control_gone", "both_gone"};
    const auto &[durability, before, wanted] = test.param;
    return test_name(durability + "_" + names[static_cast<int>(before)] + "_" + wanted.step.text());
}

INSTANTIATE_TEST_SUITE_P(Steps, StartCrash,
                         ::testing::Combine(kBoth,
                                            ::testing::Values(Before::clean_stop, Before::kill, Before::segment_gone,
                                                              Before::control_gone, Before::both_gone),
                                            ::testing::ValuesIn(kStartSteps)),
                         start_test_name);

// The very first start, before there is anything to lose.
TEST(FirstStartCrash, LeavesNothingThatCouldBeTakenForAFilter) {
    for (const char *step : {"start.noted", "start.durable", "control.built", "control.published", "start.open"}) {
        TestInstance instance;
        ASSERT_TRUE(instance.start_and_crash(step)) << step;
        instance.start();
        EXPECT_EQ(instance.segment_names(), std::vector<std::string>{}) << step;
        KeptFilter filter{instance, "links", KeptFilter::live(), 10};
        filter.expect_stands();
    }
}

// Three starts in a row, none of which gets far enough to move readers off a lost segment; then control goes too.
class StartCrashes : public ::testing::TestWithParam<Durability> {};

TEST_P(StartCrashes, ReadersOfALostSegmentAreNotForgottenByALaterStart) {
    for (const char *second : {"start.noted", "start.durable", "registry.durable:1"}) {
        TestInstance instance;
        instance.start();
        KeptFilter lost{instance, "lost", KeptFilter::live(GetParam()), 100};
        instance.kill();
        lost.remove_segment();
        ASSERT_TRUE(instance.start_and_crash("start.durable"));
        ASSERT_TRUE(instance.start_and_crash(second));
        remove_control(instance);
        instance.start();
        lost.try_add(10);
        lost.expect_never_absent();
        EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
    }
}

INSTANTIATE_TEST_SUITE_P(Each, StartCrashes, each_durability(), durability_name);

} // namespace
} // namespace shmbloom::test
