// Another boot, as a start sees it: the registry names a boot id that is not the machine's, memory and runtime folder are
// empty. (The boot id itself cannot be changed without a reboot; the registry is rewritten as it would have been.)
#include <filesystem>
#include <fstream>
#include <map>
#include <gtest/gtest.h>

#include "disk/registry.h"
#include "instance.h"

namespace shmbloom::test {
namespace {

class Reboot : public ::testing::Test {
  protected:
    void SetUp() override {
        instance.start();
        for (const std::string durability : {"durable", "logged", "memory"}) {
            instance.create(durability, {"CAPACITY", "1000", "FPR", "1e-3", "DURABILITY", durability, "NOTHING-EXISTS-YET"});
            instance.create(durability + "-warming", {"CAPACITY", "1000", "FPR", "1e-3", "DURABILITY", durability});
            instance.must_ctl({"add", durability, "abc"});
        }
    }
    std::uint64_t generation(const std::string &name) { return std::stoull(instance.info(name).at("generation")); }
    void expect_restored(const std::string &name) {
        EXPECT_EQ(instance.info(name).at("doubts"), "");
        EXPECT_NE(instance.info(name).at("bits_set"), "0");
        EXPECT_EQ(instance.info(name + "-warming").at("doubts"), "warming");
        EXPECT_EQ(instance.ctl({"contains", name, "abc"}).output, "abc\tmaybe\n");
        EXPECT_EQ(instance.ctl({"contains", name, "never"}).output, "never\tabsent\n");
        EXPECT_EQ(instance.ctl({"add", name, "def"}).output, "def\tabsent\n");
    }
    void expect_lossy_until_loaded(const std::string &name) {
        EXPECT_EQ(instance.info(name).at("doubts"), "lossy"); // also one that was created with nothing-exists-yet
        EXPECT_EQ(instance.info(name + "-warming").at("doubts"), "warming,lossy");
        Worker worker = instance.worker();
        worker.open(name);
        EXPECT_EQ(worker.tell("ask abc"), "2");
        EXPECT_EQ(worker.tell("ask never"), "2");
        // The overlap of an hour has not passed since, so a load must say that it knows better.
        EXPECT_EQ(instance.ctl({"load", name, "--exec", "--", "/bin/echo", "abc"}).code, 6);
        instance.must_ctl({"load", name, "--overlap", "0", "--exec", "--", "/bin/echo", "abc"});
        EXPECT_EQ(worker.tell("ask abc"), "1");
        EXPECT_EQ(worker.tell("ask never"), "0");
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

TEST_F(Reboot, AfterACleanStopBringsBackWhatIsJournalledAndTheRestIsEmptyAndLossy) {
    std::map<std::string, std::uint64_t> before;
    for (const std::string name : {"durable", "logged", "memory"})
        before[name] = generation(name);
    instance.stop();
    reboot([](Registry &) {});
    for (const auto &[name, number] : before)
        EXPECT_GT(generation(name), number) << "in memory of this boot";
    expect_restored("durable");
    expect_restored("logged");
    EXPECT_EQ(instance.info("memory").at("bits_set"), "0");
    expect_lossy_until_loaded("memory");
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

// The power went: what was only written, not synced, may be gone.
TEST_F(Reboot, WithoutACleanStopBringsBackTheDurableOnesOnly) {
    instance.kill();
    reboot([](Registry &) {});
    expect_restored("durable");
    EXPECT_NE(instance.info("logged").at("bits_set"), "0") << "what is there is there";
    expect_lossy_until_loaded("logged");
    expect_lossy_until_loaded("memory");
    // What was loaded is in a full snapshot, and the next reboot is a clean one.
    instance.stop();
    reboot([](Registry &) {});
    EXPECT_EQ(instance.info("logged").at("doubts"), "");
    EXPECT_EQ(instance.ctl({"contains", "logged", "abc"}).output, "abc\tmaybe\n");
    EXPECT_EQ(instance.info("memory").at("doubts"), "lossy");
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

// No frame is left that could say how far the journal had come, and neither is control.
TEST_F(Reboot, WithTheJournalsFilesGoneIsDamagedNotAbsent) {
    for (const bool clean : {false, true}) {
        SCOPED_TRACE(clean ? "after a clean stop" : "after a kill");
        clean ? instance.stop() : instance.kill();
        for (const auto &file : std::filesystem::directory_iterator{instance.state_dir() + "/journal"})
            std::filesystem::remove(file.path());
        reboot([](Registry &) {});
        if (clean) { // snapshots hold all there was
            EXPECT_EQ(instance.info("durable").at("doubts"), "");
            EXPECT_EQ(instance.ctl({"contains", "durable", "abc"}).output, "abc\tmaybe\n");
            continue;
        }
        EXPECT_EQ(instance.info("durable").at("doubts"), "damaged");
        EXPECT_EQ(instance.info("durable-warming").at("doubts"), "warming,damaged");
        EXPECT_EQ(instance.ctl({"contains", "durable", "abc"}).output, "abc\tunverified\n");
        instance.must_ctl({"load", "durable", "--overlap", "0", "--exec", "--", "/bin/echo", "abc"});
    }
}

TEST_F(Reboot, EndsTheRefusalOfAddsForNoReaderOutlivesIt) {
    instance.kill();
    instance.remove_segments();
    std::filesystem::remove(instance.runtime_dir() + "/control");
    instance.start();
    for (const std::string name : {"durable", "memory"}) {
        Worker adder = instance.worker();
        adder.open(name);
        ASSERT_LT(std::stol(adder.tell("put something")), 0);
        ASSERT_EQ(instance.info(name).at("warnings"), "adds_refused");
    }
    instance.kill();
    reboot([](Registry &registry) { ASSERT_TRUE(registry.control_lost); });
    for (const std::string name : {"durable", "memory"}) {
        Worker after = instance.worker();
        after.open(name);
        EXPECT_EQ(after.tell("put something"), name == "durable" ? "0" : "2");
        EXPECT_EQ(instance.info(name).at("warnings"), "");
    }
    const Registry registry = decode_registry(instance.registry(), "registry");
    EXPECT_FALSE(registry.control_lost);
    EXPECT_TRUE(registry.adds_refused.empty());
}

TEST_F(Reboot, PausedOutlivesIt) {
    instance.must_ctl({"pause", "durable"});
    instance.must_ctl({"pause", "memory"});
    instance.kill();
    reboot([](Registry &) {});
    EXPECT_EQ(instance.info("durable").at("doubts"), "paused");
    EXPECT_EQ(instance.info("memory").at("doubts"), "paused,lossy");
    instance.must_ctl({"resume", "durable"});
    expect_restored("durable");
}

} // namespace
} // namespace shmbloom::test
