// kill -9 at every step of the journal and of a snapshot while adds go on; then memory is lost, or control, or both. Of what
// was acknowledged nothing is absent: for a worker that never reopened, and for a fresh one after the next start.
#include <csignal>

#include "crash_steps.h"
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

enum class Lost { nothing, segments, control, both };

class JournalCrash : public ::testing::TestWithParam<std::tuple<Durability, Step, Lost>> {
  protected:
    static const Durability &durability() { return std::get<0>(GetParam()); }
    static const Step &step() { return std::get<1>(GetParam()); }
    static bool is_lost(Lost what) { return std::get<2>(GetParam()) == what || std::get<2>(GetParam()) == Lost::both; }
    static bool is_at(const char *beginning) { return std::string_view{step().name}.starts_with(beginning); }

    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }

    // What it acknowledges is in `kept`'s file.
    Worker flood() {
        Worker adder = instance.worker();
        adder.tell("timeout 200");
        adder.open("kept");
        adder.begin("flood base62 1099511627776 0 " + kept.acknowledged_file());
        return adder;
    }
    void crash() {
        // From one that ended well, so with snapshots, or from one that was killed, so with a journal alone.
        is_at("snapshot.") || is_at("stop.") ? instance.kill() : instance.stop();
        Worker adder = flood();
        // Not `start`: it may be dead before it says that it is ready.
        Process daemon = instance.launch({"--journal-retention", "0"}, {{"SHMBLOOM_CRASH_AT", step().text()}});
        if (is_at("snapshot.") || is_at("stop.") || is_at("journal.file_removed")) {
            ASSERT_TRUE(daemon.wait_for_log(" ready: ")) << daemon.log();
            // Some of the flood, so that the journal is in a file of this daemon.
            const auto before = kept.acknowledged().size();
            ASSERT_TRUE(eventually([&] { return kept.acknowledged().size() > before + 20; }));
            Wire wire = instance.wire();
            if (is_at("stop."))
                daemon.signal(SIGTERM);
            else // two of every filter, so that none needs the journal's older files
                for (int i = 0; i < 2; i++)
                    wire.send({"SB.SNAPSHOT", "*"});
            wait_for_crash(daemon);
        } else {
            wait_for_crash(daemon);
        }
        (void)adder.finish();
    }
    static void wait_for_crash(Process &daemon) {
        EXPECT_EQ(daemon.wait().signal, SIGKILL) << step().text() << " was not reached: " << daemon.log();
    }
    void lose() {
        if (is_lost(Lost::segments))
            instance.remove_segments();
        if (is_lost(Lost::control))
            remove_control(instance);
    }
    void expect_all_there() {
        EXPECT_EQ(instance.info("kept").at("doubts"), "");
        EXPECT_EQ(instance.info("warming").at("doubts"), "warming");
        EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
        kept.expect_never_absent();
        kept.expect_stands_for_a_fresh_one();
        warming.expect_unverified();
    }

    TestInstance instance;
    KeptFilter kept{started(instance), "kept", KeptFilter::live(durability()), 200, "2000000"};
    KeptFilter warming{instance, "warming", KeptFilter::warming(durability()), 50};
};

TEST_P(JournalCrash, LosesNothingThatWasAcknowledged) {
    crash();
    kept.expect_stands();
    lose();
    kept.expect_stands(); // on what it has mapped
    instance.start();
    expect_all_there();
    if (is_lost(Lost::segments) && is_lost(Lost::control)) {
        EXPECT_TRUE(kept.try_add(1).starts_with("acknowledged 0 refused 1 last -16 ")); // EBUSY
        instance.must_ctl({"forget-readers", "--all"});
        Worker fresh = instance.worker();
        fresh.open("kept");
        EXPECT_EQ(fresh.tell("put another"), "0");
        EXPECT_EQ(fresh.tell("ask another"), "1");
        return expect_all_there();
    }
    ASSERT_TRUE(kept.becomes_live());
    kept.expect_goes_on();
    // And a second time, from whatever the first one left behind.
    instance.kill();
    if (!is_lost(Lost::control)) // else nobody could tell the worker
        instance.remove_segments();
    instance.start();
    ASSERT_TRUE(kept.becomes_live());
    kept.expect_goes_on();
    expect_all_there();
}

std::string journal_test_name(const ::testing::TestParamInfo<std::tuple<Durability, Step, Lost>> &test) {
    static const char *const losses[] = {"nothing", "segments", "control", "both"};
    const auto &[durability, step, lost] = test.param;
    return test_name(durability + "_" + step.text() + "_lost_" + losses[static_cast<int>(lost)]);
}

INSTANTIATE_TEST_SUITE_P(Steps, JournalCrash,
                         ::testing::Combine(::testing::Values(Durability{kDurable}, Durability{kLogged}),
                                            ::testing::ValuesIn(kJournalSteps),
                                            ::testing::Values(Lost::nothing, Lost::segments, Lost::control, Lost::both)),
                         journal_test_name);

} // namespace
} // namespace shmbloom::test
