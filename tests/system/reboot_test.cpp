// Another boot, as a start sees it: the registry names a boot id that is not the machine's, memory and runtime folder are
// empty. (The boot id itself cannot be changed without a reboot; the registry is rewritten as it would have been.)
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "disk/registry.h"
#include "instance.h"

namespace shmbloom::test {
namespace {

class Reboot : public ::testing::Test {
  protected:
    void SetUp() override {
        instance.start();
        instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "1e-3", "--nothing-exists-yet"});
        instance.must_ctl({"create", "tokens", "--capacity", "1000", "--fpr", "1e-3"});
        instance.must_ctl({"add", "links", "abc"});
    }

    // `change` is made to the registry besides.
    template <typename Change>
    void reboot(Change change) {
        instance.remove_segments();
        std::filesystem::remove_all(instance.runtime_dir());
        Registry registry = decode_registry(instance.registry(), "registry");
        registry.boot = Uuid::random();
        change(registry);
        std::ofstream{instance.state_dir() + "/registry.json"} << encode_registry(registry);
        instance.start();
    }

    TestInstance instance;
};

TEST_F(Reboot, FiltersComeUpEmptyAndLossyInANewGeneration) {
    const auto before = std::stoull(instance.info("links").at("generation"));
    instance.stop();
    reboot([](Registry &) {});
    const auto links = instance.info("links");
    EXPECT_EQ(links.at("doubts"), "lossy"); // also one that was created with nothing-exists-yet
    EXPECT_GT(std::stoull(links.at("generation")), before);
    EXPECT_EQ(links.at("bits_set"), "0");
    EXPECT_EQ(instance.info("tokens").at("doubts"), "warming,lossy");
    Worker worker = instance.worker();
    worker.open("links");
    EXPECT_EQ(worker.tell("ask abc"), "2");
    EXPECT_EQ(worker.tell("ask never"), "2");
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
    // The overlap of an hour has not passed since, so a load must say that it knows better.
    EXPECT_EQ(instance.ctl({"load", "links", "--exec", "--", "/bin/echo", "abc"}).code, 6);
    instance.must_ctl({"load", "links", "--overlap", "0", "--exec", "--", "/bin/echo", "abc"});
    EXPECT_EQ(worker.tell("ask abc"), "1");
    EXPECT_EQ(worker.tell("ask never"), "0");
}

TEST_F(Reboot, EndsTheRefusalOfAddsForNoReaderOutlivesIt) {
    instance.kill();
    instance.remove_segments();
    std::filesystem::remove(instance.runtime_dir() + "/control");
    instance.start();
    Worker adder = instance.worker();
    adder.open("links");
    ASSERT_LT(std::stol(adder.tell("put something")), 0);
    ASSERT_EQ(instance.info("links").at("warnings"), "adds_refused");
    instance.kill();
    reboot([](Registry &registry) { ASSERT_TRUE(registry.control_lost); });
    Worker after = instance.worker();
    after.open("links");
    EXPECT_EQ(after.tell("put something"), "2");
    EXPECT_EQ(instance.info("links").at("warnings"), "");
    const Registry registry = decode_registry(instance.registry(), "registry");
    EXPECT_FALSE(registry.control_lost);
    EXPECT_TRUE(registry.adds_refused.empty());
}

TEST_F(Reboot, PausedOutlivesIt) {
    instance.must_ctl({"pause", "links"});
    instance.kill();
    reboot([](Registry &) {});
    EXPECT_EQ(instance.info("links").at("doubts"), "paused,lossy");
}

} // namespace
} // namespace shmbloom::test
