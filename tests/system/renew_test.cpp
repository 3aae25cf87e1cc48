// A segment whose name is removed while the daemon runs is copied to a new generation, and nobody notices.
#include "crash_steps.h"
#include "kept_filter.h"
#include "memory_view.h"

namespace shmbloom::test {
namespace {

std::string generation_of(TestInstance &instance) {
    return instance.info("links").at("generation");
}

// The name is noticed within a second; the generation changes, and then the warning goes.
bool is_renewed(TestInstance &instance, const std::string &before) {
    return eventually([&] { return generation_of(instance) != before && instance.info("links").at("warnings").empty(); });
}

TEST(Renew, TheCopyIsOfTheSameLineageAndEverybodyFindsIt) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(kMemory)};
    const std::string before = generation_of(instance);
    links.remove_segment();
    ASSERT_TRUE(is_renewed(instance, before));
    EXPECT_EQ(instance.info("links").at("lineage"), before);
    EXPECT_TRUE(eventually([&] { return links.worker().tell("ask never-added") == "0"; }));
    links.expect_goes_on();
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
    instance.kill();
    instance.start();
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST(Renew, AddsAndLookupsGoOnThroughManyCopies) {
    TestInstance instance;
    instance.start();
    instance.must_ctl({"create", "links", "--capacity", "1M", "--fpr", "1e-3", "--nothing-exists-yet"});
    Worker adder = instance.worker(), watcher = instance.worker();
    adder.tell("timeout 5000");
    adder.open("links");
    watcher.open("links");
    const std::string file = instance.folder() / "added";
    adder.begin("flood base62 0 0 " + file);
    watcher.begin("watch base62 0 0 " + file);
    for (int i = 0; i < 5; i++) {
        const std::string before = generation_of(instance);
        ASSERT_TRUE(std::filesystem::remove("/dev/shm/" + instance.segment_of("links")));
        ASSERT_TRUE(is_renewed(instance, before));
    }
    adder.finish();
    const Answers seen = parse_answers(watcher.finish());
    EXPECT_EQ(seen.absent, 0u);
    EXPECT_GT(seen.maybe, 0u);
    const auto keys = read_indexes(file);
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", keys).maybe, keys.size());
}

// A reader that sleeps in the middle of its lookups while three generations come and go wakes up over a segment that nobody
// feeds any more.
TEST(Renew, AReaderThatWasStoppedAcrossThreeGenerationsAnswersNothingAbsentThatIsThere) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live()};
    Worker sleeper = instance.worker();
    sleeper.open("links");
    sleeper.begin("watch base62 0 0 " + links.acknowledged_file());
    for (int i = 0; i < 3; i++) {
        sleeper.process().signal(SIGSTOP);
        const std::string before = generation_of(instance);
        links.remove_segment();
        ASSERT_TRUE(is_renewed(instance, before));
        links.add(50);
        if (i == 2)
            sleeper.process().signal(SIGCONT);
    }
    EXPECT_TRUE(eventually([&] { return links.worker().tell("ask never-added") == "0"; }));
    EXPECT_EQ(parse_answers(sleeper.finish()).absent, 0u);
    EXPECT_EQ(sleeper.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
}

TEST(Renew, APauseThatComesInBetweenStays) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live()};
    const std::string before = generation_of(instance);
    links.remove_segment();
    instance.must_ctl({"pause", "links"});
    ASSERT_TRUE(is_renewed(instance, before));
    EXPECT_EQ(instance.info("links").at("doubts"), "paused");
    links.expect_unverified();
    instance.must_ctl({"resume", "links"});
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

class RenewCrash : public testing::TestWithParam<std::tuple<Step, Durability>> {};

TEST_P(RenewCrash, NeverLosesAnAcknowledgedAdd) {
    const auto [step, durability] = GetParam();
    TestInstance instance;
    instance.start({}, {{"SHMBLOOM_CRASH_AT", step.text()}});
    KeptFilter links{instance, "links", KeptFilter::live(durability)};
    links.remove_segment();
    EXPECT_EQ(instance.daemon().wait().signal, SIGKILL);
    links.expect_never_absent();
    instance.start();
    links.expect_never_absent();
    const std::string doubts = instance.info("links").at("doubts");
    if (durability == kDurable)
        EXPECT_EQ(doubts, "");
    else
        EXPECT_TRUE(doubts.empty() || doubts == "lossy") << doubts;
    if (doubts.empty()) {
        ASSERT_TRUE(links.becomes_live());
        links.expect_goes_on();
    }
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

INSTANTIATE_TEST_SUITE_P(At, RenewCrash,
                         testing::Combine(testing::ValuesIn(kSwitchSteps),
                                          testing::Values(Durability{kDurable}, Durability{kMemory})));

} // namespace
} // namespace shmbloom::test
