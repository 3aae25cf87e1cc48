// Drop and create again under the same name with other options: the same workers follow, and no hash made for the old
// filter ever gets into the new one.
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

class Recreated : public ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(Recreated, IsFollowedByWorkersAndAddersThatNeverReopen) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(), 500};
    std::vector<Worker> adders;
    std::vector<std::string> files;
    for (int i = 0; i < 2; i++) {
        adders.push_back(instance.worker());
        adders.back().tell("timeout 2000");
        adders.back().open("links");
        files.push_back(instance.folder() / ("adder-" + std::to_string(i)));
        adders.back().begin("flood base62 " + std::to_string(std::uint64_t(i + 1) << 40) + " 0 " + files.back());
    }
    for (const std::string &file : files)
        ASSERT_TRUE(eventually([&] { return read_indexes(file).size() > 100; }));

    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
    // What an adder began after it had noted an acknowledgement that came after the drop belongs to the new filter; the
    // first one behind what is noted now may have been under way.
    std::vector<std::size_t> old_ones;
    for (const std::string &file : files)
        old_ones.push_back(read_indexes(file).size() + 1);

    std::vector<std::string> create{"create", "links", "--nothing-exists-yet"};
    create.insert(create.end(), GetParam().begin(), GetParam().end());
    instance.must_ctl(create);
    for (std::size_t i = 0; i < files.size(); i++)
        ASSERT_TRUE(eventually([&] { return read_indexes(files[i]).size() > old_ones[i] + 200; })) << "an adder is stuck";
    ASSERT_TRUE(links.becomes_live());
    Worker fresh = instance.worker();
    fresh.open("links");
    std::uint64_t added = 0;
    for (std::size_t i = 0; i < files.size(); i++) {
        const std::string said = adders[i].finish();
        auto keys = read_indexes(files[i]);
        keys.erase(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(old_ones[i]));
        added += keys.size();
        EXPECT_EQ(links.worker().count_all("base62", keys).maybe, keys.size()) << said;
        EXPECT_EQ(fresh.count_all("base62", keys).maybe, keys.size()) << said;
    }
    // Only what was added: of the old filter nothing is left.
    const Answers old = links.worker().count_all("base62", links.acknowledged());
    EXPECT_GE(old.absent, 500 * 0.95);
    EXPECT_EQ(old.unverified, 0u);
    EXPECT_GE(std::stoull(instance.info("links").at("adds_acknowledged")), added);
    instance.kill();
    instance.start();
    EXPECT_EQ(links.worker().tell("ask never-added"), "0");
}

// trim,lower together leave these keys as they are but for `lower`: a hash of the old domain would be missed by lookups.
INSTANTIATE_TEST_SUITE_P(With, Recreated,
                         ::testing::Values(std::vector<std::string>{"--capacity", "1e6", "--fpr", "1e-2"},
                                           std::vector<std::string>{"--capacity", "1e5", "--fpr", "1e-2", "--layout", "classic"},
                                           std::vector<std::string>{"--capacity", "1e5", "--fpr", "1e-2", "--layout", "blocked"},
                                           std::vector<std::string>{"--capacity", "1e6", "--fpr", "1e-3", "--normalize",
                                                                    "trim,lower"}));

TEST(Recreate, AsAnotherKeyTypeTurnsTheOldKindOfKeyAway) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(), 100};
    instance.must_ctl({"drop", "links", "--yes"});
    instance.must_ctl({"create", "links", "--capacity", "1e5", "--fpr", "1e-2", "--key-type", "u64", "--nothing-exists-yet"});
    EXPECT_EQ(links.adder().tell("put 123"), "-91"); // EPROTOTYPE
    EXPECT_EQ(links.worker().tell("ask 123"), "2");
    EXPECT_EQ(links.worker().count("u64", 0, 100).absent, 100u);
}

TEST(Recreate, ManyTimesLeavesNothingBehindAndNeverAWrongNo) {
    TestInstance instance;
    instance.start();
    KeptFilter kept{instance, "kept", KeptFilter::live(), 100};
    Worker worker = instance.worker();
    for (int i = 0; i < 20; i++) {
        instance.must_ctl({"create", "links", "--capacity", "20k", "--fpr", "1e-3", "--nothing-exists-yet"});
        if (i == 0)
            worker.open("links");
        const std::string key = "key" + std::to_string(i);
        const std::string answer = worker.tell("put " + key);
        EXPECT_TRUE(answer == "0" || answer == "2") << answer;
        EXPECT_EQ(worker.tell("ask " + key), "1");
        instance.must_ctl({"drop", "links", "--yes"});
        EXPECT_EQ(worker.tell("ask " + key), "2");
    }
    EXPECT_EQ(instance.segment_names().size(), 1u);
    kept.expect_goes_on();
}

} // namespace
} // namespace shmbloom::test
