// kill -9 at every step of a switch, for each thing it is made for: the next start finishes it or undoes it, before it
// takes an add.
#include "crash_steps.h"
#include "hashed_keys.h"
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

enum class Act { rebuild, growth, rollback };
enum class Lost { nothing, segments };

class SwitchCrash : public ::testing::TestWithParam<std::tuple<Step, Act, Lost>> {
  protected:
    static const Step &step() { return std::get<0>(GetParam()); }
    static Act act() { return std::get<1>(GetParam()); }

    static std::vector<std::string> words() {
        auto words = KeptFilter::live();
        if (act() == Act::growth)
            words.emplace_back("GROWABLE");
        return words;
    }
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }

    // A source that has all there is.
    Wire::Reply rebuild() {
        FilterWire wire{instance, "links"};
        const auto begun = wire.rebuild({"BEGIN", "OVERLAP", "60"});
        if (begun.is_error())
            return begun;
        (void)wire.bulk_keys(links.acknowledged());
        return wire.rebuild({"END"});
    }
    Wire::Reply switch_it() {
        if (act() == Act::rebuild)
            return rebuild();
        Wire wire = instance.wire();
        if (act() == Act::rollback)
            return wire.call({"SB.ROLLBACK", "links"});
        Wire::Reply grown; // its hash list may just be written
        EXPECT_TRUE(eventually([&] { return (grown = wire.call({"SB.REBUILD", "links", "GROW"})).word() != "BUSY"; }));
        return grown;
    }

    TestInstance instance;
    // Large enough not to grow by itself.
    KeptFilter links{started(instance), "links", words(), 500, "2000000"};
};

TEST_P(SwitchCrash, IsFinishedOrUndoneByTheNextStart) {
    if (act() == Act::rollback) {
        ASSERT_EQ(rebuild().fields()["switched"], "1");
        links.add(100);
        ASSERT_TRUE(links.becomes_live());
    }
    const std::uint64_t before = std::stoull(instance.info("links").at("generation"));
    instance.kill();
    instance.start({}, {{"SHMBLOOM_CRASH_AT", step().text()}});
    Worker adder = instance.worker();
    adder.tell("timeout 200");
    adder.open("links");
    adder.begin("flood base62 1099511627776 0 " + links.acknowledged_file());
    EXPECT_THROW(switch_it(), std::runtime_error) << step().text() << " was not reached";
    EXPECT_EQ(instance.daemon().wait().signal, SIGKILL);
    (void)adder.finish();
    links.expect_never_absent();
    if (std::get<2>(GetParam()) == Lost::segments)
        instance.remove_segments();

    instance.start();
    const auto info = instance.info("links");
    EXPECT_EQ(info.at("doubts"), "");
    EXPECT_EQ(info.at("building"), "");
    if (std::string_view{step().name}.starts_with("build."))
        EXPECT_EQ(info.at("lineage"), std::get<2>(GetParam()) == Lost::nothing ? std::to_string(before) : info.at("lineage"));
    else
        EXPECT_GT(std::stoull(info.at("generation")), before);
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
    links.expect_never_absent();
    links.expect_stands_for_a_fresh_one();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();

    const auto again = switch_it(); // now it goes through
    ASSERT_FALSE(again.is_error()) << again.text;
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

std::string switch_test_name(const ::testing::TestParamInfo<std::tuple<Step, Act, Lost>> &test) {
    static const char *const acts[] = {"rebuild", "growth", "rollback"};
    const auto &[step, act, lost] = test.param;
    return test_name(std::string{acts[static_cast<int>(act)]} + "_" + step.text() +
                     (lost == Lost::segments ? "_lost_segments" : ""));
}

INSTANTIATE_TEST_SUITE_P(Steps, SwitchCrash,
                         ::testing::Combine(::testing::ValuesIn(kSwitchSteps),
                                            ::testing::Values(Act::rebuild, Act::growth, Act::rollback),
                                            ::testing::Values(Lost::nothing, Lost::segments)),
                         switch_test_name);

} // namespace
} // namespace shmbloom::test
