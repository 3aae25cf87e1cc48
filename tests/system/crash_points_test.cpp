// kill -9 at every numbered step of create, drop, load, a lost control and a start. Whatever the step, the next start finds
// either the old state or the new one, no segment is left over, and workers that never reopened are never told a wrong no.
#include <regex>
#include <set>

#include "kept_filter.h"

namespace shmbloom::test {
namespace {

struct Step {
    const char *name;
    int time = 1; // crash at the n-th time

    std::string text() const { return std::string{name} + ":" + std::to_string(time); }
};

// A start without losses writes the registry twice; what comes after it is counted on from there.
constexpr int kFirst = 3, kSecond = 4;

const std::vector<Step> kCreateSteps{
    {"create.making"},         {"create.made"},           {"create.durable"},           {"create.slot"},
    {"create.segment_gate"},   {"create.control_gate"},   {"registry.before", kFirst},  {"file.written", kFirst},
    {"file.renamed", kFirst},  {"registry.durable", kFirst}, {"registry.before", kSecond}, {"file.written", kSecond},
    {"file.renamed", kSecond}, {"registry.durable", kSecond}};
const std::vector<Step> kDropSteps{{"drop.gates"},          {"drop.durable"},         {"drop.unlinked"},
                                   {"registry.before", kFirst}, {"file.written", kFirst}, {"file.renamed", kFirst},
                                   {"registry.durable", kFirst}};
const std::vector<Step> kLoadSteps{{"load.durable"},         {"load.segment_gate"},    {"load.control_gate"},
                                   {"registry.before", kFirst}, {"file.written", kFirst}, {"file.renamed", kFirst},
                                   {"registry.durable", kFirst}};
const std::vector<Step> kControlSteps{
    {"control.lost_durable"},  {"control.built"},         {"control.published"},        {"registry.before", kFirst},
    {"file.written", kFirst},  {"file.renamed", kFirst},  {"registry.durable", kFirst}, {"registry.before", kSecond},
    {"file.written", kSecond}, {"file.renamed", kSecond}, {"registry.durable", kSecond}};

const std::vector<Step> kPauseSteps{{"pause.gates"},          {"registry.before", kFirst},  {"file.written", kFirst},
                                    {"file.renamed", kFirst}, {"registry.durable", kFirst}};

// What happened between the last daemon's end and the start that is killed.
enum class Before { clean_stop, kill, segment_gone, control_gone, both_gone };
struct StartStep {
    Step step;
    bool lost_segment = false; // reached only by a start that replaces a segment
    bool lost_control = false; // ... that makes a control
};
const std::vector<StartStep> kStartSteps{{{"start.noted"}},
                                         {{"start.segment_made"}, true},
                                         {{"start.durable"}},
                                         {{"start.gate_open", 1}},
                                         {{"start.gate_open", 2}},
                                         {{"start.gate_open", 3}},
                                         {{"start.open"}},
                                         {{"control.built"}, false, true},
                                         {{"control.published"}, false, true},
                                         {{"registry.before", 1}},
                                         {{"registry.before", 2}},
                                         {{"registry.before", 3}, true},
                                         {{"file.written", 1}},
                                         {{"file.written", 2}},
                                         {{"file.written", 3}, true},
                                         {{"file.renamed", 1}},
                                         {{"file.renamed", 2}},
                                         {{"file.renamed", 3}, true},
                                         {{"registry.durable", 1}},
                                         {{"registry.durable", 2}},
                                         {{"registry.durable", 3}, true}};

std::string test_name(std::string text) {
    for (char &c : text)
        if (!std::isalnum(static_cast<unsigned char>(c)))
            c = '_';
    return text;
}

TEST(CrashPoints, EveryOneInTheSourceIsTriedHere) {
    std::set<std::string> tried;
    for (const auto *steps : {&kCreateSteps, &kDropSteps, &kLoadSteps, &kControlSteps, &kPauseSteps})
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
    // The daemon that is to crash takes over from one that ended well.
    void restart_to_crash_at(const Step &step) {
        instance.stop();
        instance.start({}, {{"SHMBLOOM_CRASH_AT", step.text()}});
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

    TestInstance instance;
    KeptFilter kept{started(instance), "kept", KeptFilter::live(), 200};
    KeptFilter warming{instance, "warming", KeptFilter::warming(), 50};
};

class CreateCrash : public CrashAt, public ::testing::WithParamInterface<std::tuple<Step, bool>> {};

TEST_P(CreateCrash, IsDoneOrNotAtAll) {
    const auto &[step, live] = GetParam();
    restart_to_crash_at(step);
    std::vector<std::string> create{"create", "new", "--capacity", "20k", "--fpr", "1e-3"};
    if (live)
        create.push_back("--nothing-exists-yet");
    EXPECT_NE(instance.ctl(create).code, 0);
    wait_for_crash(step);
    restart_and_check();

    if (const auto info = instance.info("new"); info.empty())
        instance.must_ctl(create);
    EXPECT_EQ(instance.info("new").at("live"), live ? "1" : "0");
    Worker worker = instance.worker();
    worker.open("new");
    EXPECT_EQ(worker.tell("put something"), live ? "0" : "2");
    EXPECT_EQ(worker.tell("ask something"), live ? "1" : "2");
    EXPECT_EQ(worker.tell("ask nothing"), live ? "0" : "2");
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

INSTANTIATE_TEST_SUITE_P(Steps, CreateCrash, ::testing::Combine(::testing::ValuesIn(kCreateSteps), ::testing::Bool()),
                         [](const auto &test) {
                             return test_name(std::get<0>(test.param).text() + (std::get<1>(test.param) ? "_live" : "_warming"));
                         });

class DropCrash : public CrashAt, public ::testing::WithParamInterface<Step> {};

TEST_P(DropCrash, IsDoneOrNotAtAll) {
    KeptFilter going{instance, "going", KeptFilter::live(), 100};
    restart_to_crash_at(GetParam());
    EXPECT_NE(instance.ctl({"drop", "going", "--yes"}).code, 0);
    wait_for_crash(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Steps, DropCrash, ::testing::ValuesIn(kDropSteps),
                         [](const auto &test) { return test_name(test.param.text()); });

class LoadCrash : public CrashAt, public ::testing::WithParamInterface<Step> {};

TEST_P(LoadCrash, NeverMakesLiveWhatWasNotComplete) {
    KeptFilter loaded{instance, "loaded", KeptFilter::warming(), 100};
    const std::string source = loaded.write_source();
    restart_to_crash_at(GetParam());
    EXPECT_NE(instance.ctl({"load", "loaded", source}).code, 0);
    wait_for_crash(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Steps, LoadCrash, ::testing::ValuesIn(kLoadSteps),
                         [](const auto &test) { return test_name(test.param.text()); });

class PauseCrash : public CrashAt, public ::testing::WithParamInterface<Step> {};

// The gates come before the registry, and a start takes what either says.
TEST_P(PauseCrash, OutlivesTheDaemonWhereverItDied) {
    KeptFilter paused{instance, "paused", KeptFilter::live(), 50};
    restart_to_crash_at(GetParam());
    Wire wire = instance.wire();
    wire.send({"SB.PAUSE", "paused"});
    wait_for_crash(GetParam());
    paused.expect_unverified();
    restart_and_check();
    paused.expect_unverified();
    EXPECT_EQ(instance.info("paused").at("doubts"), "paused");
    paused.add(10);
    paused.expect_unverified();
}

INSTANTIATE_TEST_SUITE_P(Steps, PauseCrash, ::testing::ValuesIn(kPauseSteps),
                         [](const auto &test) { return test_name(test.param.text()); });

class LostControlCrash : public CrashAt, public ::testing::WithParamInterface<Step> {};

TEST_P(LostControlCrash, LosesNoFilterAndNoReader) {
    restart_to_crash_at(GetParam());
    remove_control(instance);
    wait_for_crash(GetParam());
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

INSTANTIATE_TEST_SUITE_P(Steps, LostControlCrash, ::testing::ValuesIn(kControlSteps),
                         [](const auto &test) { return test_name(test.param.text()); });

class StartCrash : public CrashAt, public ::testing::WithParamInterface<std::tuple<Before, StartStep>> {};

TEST_P(StartCrash, IsGoneOnFromByTheNextStart) {
    const auto &[before, wanted] = GetParam();
    const bool segment_gone = before == Before::segment_gone || before == Before::both_gone;
    const bool control_gone = before == Before::control_gone || before == Before::both_gone;
    KeptFilter lost{instance, "lost", KeptFilter::live(), 100};
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
    EXPECT_TRUE(instance.info("lost").at("doubts") == "lossy");
    if (control_gone) {
        EXPECT_TRUE(lost.try_add(1).starts_with("acknowledged 0 refused 1 last -16 ")); // EBUSY
        EXPECT_EQ(instance.info("lost").at("warnings"), "adds_refused");
        lost.expect_never_absent(); // it may go on reading the nameless bits, which miss nothing
    } else {
        lost.expect_unverified();
        lost.add(10);
        lost.expect_unverified();
    }
}

std::string start_test_name(const ::testing::TestParamInfo<std::tuple<Before, StartStep>> &test) {
    static const char *const names[] = {"clean_stop", "kill", "segment_gone", "control_gone", "both_gone"};
    const auto &[before, wanted] = test.param;
    return test_name(std::string{names[static_cast<int>(before)]} + "_" + wanted.step.text());
}

INSTANTIATE_TEST_SUITE_P(Steps, StartCrash,
                         ::testing::Combine(::testing::Values(Before::clean_stop, Before::kill, Before::segment_gone,
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
TEST(StartCrashes, ReadersOfALostSegmentAreNotForgottenByALaterStart) {
    for (const char *second : {"start.noted", "start.durable", "registry.durable:1"}) {
        TestInstance instance;
        instance.start();
        KeptFilter lost{instance, "lost", KeptFilter::live(), 100};
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

} // namespace
} // namespace shmbloom::test
