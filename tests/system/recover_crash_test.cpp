// kill -9 at every step of an undrop and of an import: what was kept is kept, or back; what was half imported is never
// taken for whole.
#include <csignal>

#include "crash_steps.h"
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

class RecoverCrash : public ::testing::TestWithParam<Step> {
  protected:
    void SetUp() override {
        instance.start();
        kept = std::make_unique<KeptFilter>(instance, "kept", KeptFilter::live(), 100);
        instance.must_ctl({"snapshot", "kept"});
    }
    void restart_to_crash() {
        instance.stop();
        instance.start({}, {{"SHMBLOOM_CRASH_AT", GetParam().text()}});
    }
    void wait_for_crash() {
        ASSERT_EQ(instance.daemon().wait().signal, SIGKILL) << GetParam().text() << ": " << instance.daemon().log();
    }

    TestInstance instance;
    std::unique_ptr<KeptFilter> kept;
};

class UndropCrash : public RecoverCrash {};

TEST_P(UndropCrash, IsBackOrStillKept) {
    instance.must_ctl({"drop", "kept", "--yes"});
    restart_to_crash();
    EXPECT_NE(instance.ctl({"undrop", "kept"}).code, 0);
    wait_for_crash();
    kept->expect_unverified();
    instance.start();
    if (instance.info("kept").empty())
        instance.must_ctl({"undrop", "kept"});
    EXPECT_EQ(instance.info("kept").at("doubts"), "lossy");
    kept->expect_unverified();
    instance.must_ctl({"live", "kept", "--force-incomplete"});
    ASSERT_TRUE(kept->becomes_live());
    kept->expect_goes_on();
    EXPECT_EQ(instance.ctl({"undrop", "kept"}).code, 6) << "it is not kept twice";
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

INSTANTIATE_TEST_SUITE_P(Steps, UndropCrash,
                         ::testing::Values(Step{"create.making"}, Step{"create.made"}, Step{"create.durable"},
                                           Step{"create.slot"}, Step{"create.segment_gate"},
                                           Step{"create.control_gate"}),
                         [](const auto &test) { return test_name(test.param.text()); });

class ImportCrash : public RecoverCrash {};

TEST_P(ImportCrash, IsWholeOrDamagedOnceItsMemoryIsLost) {
    const std::string file = instance.folder() / "kept.snapshot";
    instance.must_ctl({"--state-dir", instance.state_dir(), "export", "kept", file});
    KeptFilter other{instance, "other", KeptFilter::live(), 50};
    instance.must_ctl({"snapshot", "other"});
    restart_to_crash();
    EXPECT_NE(instance.ctl({"--state-dir", instance.state_dir(), "import", "other", file}).code, 0);
    wait_for_crash();
    other.expect_stands();
    instance.start();
    other.expect_goes_on(); // its memory is what it was
    instance.kill();
    instance.remove_segments();
    instance.start();
    EXPECT_EQ(instance.info("other").at("doubts"), "damaged");
    other.expect_unverified();
    EXPECT_EQ(instance.info("kept").at("doubts"), "");
    ASSERT_TRUE(kept->becomes_live());
    kept->expect_stands();
}

INSTANTIATE_TEST_SUITE_P(Steps, ImportCrash, ::testing::ValuesIn(kImportSteps),
                         [](const auto &test) { return test_name(test.param.text()); });

} // namespace
} // namespace shmbloom::test
