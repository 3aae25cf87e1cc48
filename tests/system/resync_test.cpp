// From when on a source is needed again after a power loss: what SHMBLOOM_SINCE promises.
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "disk/registry.h"
#include "eventually.h"
#include "instance.h"

namespace shmbloom::test {
namespace {

class Resync : public ::testing::Test {
  protected:
    void SetUp() override {
        instance.start();
        for (const std::string durability : {"durable", "logged", "memory"})
            instance.must_ctl({"create", durability, "--capacity", "1000", "--fpr", "1e-3", "--durability", durability,
                               "--nothing-exists-yet"});
        add("a");
        // The next frame says that this one is synced.
        ASSERT_TRUE(eventually([&] {
            const auto state = instance.wire().call({"SB.STATE"}).fields();
            return state.at("durable_lsn") == state.at("next_lsn");
        }));
        add("b");
    }
    void add(const std::string &key) {
        for (const char *name : {"durable", "logged", "memory"})
            instance.must_ctl({"add", name, key});
    }
    // As a start of another boot sees it.
    template <typename Change>
    void lose_power(Change change) {
        instance.kill();
        instance.remove_segments();
        std::filesystem::remove_all(instance.runtime_dir());
        Registry registry = decode_registry(instance.registry(), "registry");
        registry.boot = Uuid::random();
        change(registry);
        std::ofstream{instance.state_dir() + "/registry.json"} << encode_registry(registry);
        instance.start();
    }
    std::string since(const std::string &name) {
        const auto info = instance.info(name);
        const auto found = info.find("complete_until");
        return found == info.end() ? "" : found->second;
    }

    TestInstance instance;
};

TEST_F(Resync, AFilterThatLostItsLastSecondSaysSinceWhen) {
    const std::time_t before = std::time(nullptr);
    lose_power([](Registry &) {});
    ASSERT_EQ(instance.info("logged").at("doubts"), "lossy");
    ASSERT_NE(since("logged"), "");
    EXPECT_LE(std::stoll(since("logged")), before);
    EXPECT_GT(std::stoll(since("logged")), before - 600);
    EXPECT_EQ(since("durable"), "") << "it is not lossy";
    EXPECT_EQ(since("memory"), "") << "it lost all";

    const std::string seen = instance.folder() / "seen";
    const std::string expected = since("logged");
    instance.must_ctl({"load", "--all-doubted", "--overlap", "0", "--exec", "--", "sh", "-c",
                       "echo $SHMBLOOM_FILTER [$SHMBLOOM_SINCE] >> " + seen + "; echo a; echo b"});
    std::ifstream file{seen};
    std::string first, second;
    std::getline(file, first);
    std::getline(file, second);
    EXPECT_EQ(first, "logged [" + expected + "]");
    EXPECT_EQ(second, "memory []");
    EXPECT_EQ(since("logged"), "") << "it is live again";
}

TEST_F(Resync, NobodyKnowsWhenAnythingElseIsWrongToo) {
    lose_power([](Registry &registry) { registry.degraded = {1, "the disk failed"}; });
    EXPECT_EQ(instance.info("logged").at("doubts"), "lossy");
    EXPECT_EQ(since("logged"), "");
    lose_power([](Registry &registry) { registry.degraded = {}; });
    EXPECT_EQ(instance.info("logged").at("doubts"), "lossy");
    EXPECT_EQ(since("logged"), "") << "lossy before already";
}

} // namespace
} // namespace shmbloom::test
