// Switches of every kind, hundreds and in the long form a thousand, under lookups and adds without pause, the daemon killed
// again and again.
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "hashed_keys.h"
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

constexpr int kWorkers = 4, kThreads = 4, kKilledEvery = 20;

int switch_count() {
#ifdef SHMBLOOM_SANITIZED
    constexpr int kUsual = 50;
#else
    constexpr int kUsual = 150;
#endif
    return std::getenv("SHMBLOOM_TEST_LONG") != nullptr ? 1000 : kUsual;
}

// Segments that the process maps, each once, whether their names still stand or not.
std::set<std::string> mapped_segments(pid_t pid, const std::string &uuid) {
    std::set<std::string> found;
    std::ifstream maps{"/proc/" + std::to_string(pid) + "/maps"};
    for (std::string line; std::getline(maps, line);)
        if (const auto at = line.find("." + uuid + "."); at != std::string::npos)
            found.insert(line.substr(at + uuid.size() + 2, line.find(' ', at) - at - uuid.size() - 2));
    return found;
}

class Switches : public ::testing::Test {
  protected:
    Switches() {
        instance.start();
        instance.create("links", {"CAPACITY", "2000000", "FPR", "1e-3", "NOTHING-EXISTS-YET"});
        instance.create("grows", {"CAPACITY", "20000", "FPR", "1e-3", "NOTHING-EXISTS-YET", "GROWABLE"});
        for (const char *name : kNames)
            uuids[name] = instance.info(name).at("uuid");
        for (const char *name : kNames) {
            adders.emplace_back(instance.worker());
            adders.back().tell("timeout 500");
            adders.back().open(name);
            adders.back().begin("flood base62 0 0 " + file(name));
        }
        for (int i = 0; i < kWorkers; i++) {
            crowds.emplace_back(instance.worker());
            const char *name = kNames[i % 2];
            crowds.back().begin("crowd " + std::string{name} + " base62 " + std::to_string(kThreads) + " " + file(name));
        }
    }

    std::string file(const std::string &name) const { return instance.folder() / ("added-" + name); }

    void rebuild() {
        FilterWire wire{instance, "links"};
        ASSERT_NO_FATAL_FAILURE(must(wire.rebuild({"BEGIN", "OVERLAP", "60"})));
        const auto keys = read_indexes(file("links"));
        if (keys.empty())
            return must(wire.rebuild({"ABORT"}));
        must(wire.bulk_keys(keys));
        must(wire.rebuild({"END", "SHRINK", "50"}));
    }
    void recreate(Wire &wire) {
        if (!instance.info("anew").empty())
            must(wire.call({"SB.DROP", "anew"}));
        must(wire.call({"SB.CREATE", "anew", "CAPACITY", "1000", "FPR", "1e-3", "NOTHING-EXISTS-YET"}));
    }
    // Its worker's handle meets another filter of the name.
    void use_recreated() {
        if (instance.info("anew").empty()) // killed between the two
            return;
        const std::string key = "key-" + std::to_string(done);
        if (!anew)
            (anew = std::make_unique<Worker>(instance.worker()))->open("anew");
        ASSERT_TRUE(eventually([&] { return anew->tell("put " + key)[0] != '-'; }));
        EXPECT_NE(anew->tell("ask " + key), "0");
    }
    void switch_once(Wire &wire) {
        switch (done % 5) {
        case 0:
        case 1:
            return rebuild();
        case 2:
            return must(wire.call({"SB.ROLLBACK", "links"}));
        case 3:
            return must(wire.call({"SB.REBUILD", "grows", "GROW", "CAPACITY",
                                   std::to_string(std::stoull(instance.info("grows").at("capacity")) + 1000)}));
        default:
            return recreate(wire);
        }
    }
    static void must(const Wire::Reply &reply) {
        // It may just have begun to grow by itself, or nothing is there yet to roll back to.
        if (reply.is_error() && reply.word() != "BUSY" && reply.word() != "NOTFOUND")
            FAIL() << reply.text;
    }
    // In the middle of whatever the switch is doing then.
    void switch_and_kill() {
        std::thread killer{[this, after = std::uniform_int_distribution{0, 60}(random)] {
            std::this_thread::sleep_for(std::chrono::milliseconds{after}); // the moment is what is random here
            instance.daemon().signal(SIGKILL);
        }};
        try {
            Wire wire = instance.wire();
            switch_once(wire);
        } catch (const std::exception &) {
            // It died; that is the point.
        }
        killer.join();
        EXPECT_EQ(instance.daemon().wait().signal, SIGKILL);
        instance.start();
    }

    static constexpr const char *kNames[] = {"links", "grows"};
    TestInstance instance;
    std::map<std::string, std::string> uuids;
    std::vector<Worker> adders, crowds;
    std::unique_ptr<Worker> anew;
    std::mt19937 random{std::random_device{}()};
    int done = 0;
};

TEST_F(Switches, AreNoticedByNobody) {
    std::size_t most = 0;
    int killed_at = 0;
    for (done = 0; done < switch_count() && !HasFailure(); done++) {
        if (done % kKilledEvery == 0) // any kind of switch
            killed_at = done + std::uniform_int_distribution{0, kKilledEvery - 1}(random);
        if (done == killed_at) {
            switch_and_kill();
        } else {
            Wire wire = instance.wire();
            switch_once(wire);
        }
        if (done % 5 == 4)
            use_recreated();
        for (std::size_t i = 0; i < kWorkers; i++)
            most = std::max(most, mapped_segments(crowds[i].process().pid(), uuids[kNames[i % 2]]).size());
    }
    // The one it came from and the one it went to; each thread moves at its next lookup.
    EXPECT_LE(most, 2u);

    for (Worker &adder : adders)
        (void)adder.finish();
    for (std::size_t i = 0; i < kWorkers; i++)
        EXPECT_TRUE(eventually([&] {
            return mapped_segments(crowds[i].process().pid(), uuids[kNames[i % 2]]).size() == 1;
        })) << "memory of an earlier generation is kept";
    for (Worker &crowd : crowds) {
        const Answers seen = parse_answers(crowd.finish());
        EXPECT_EQ(seen.absent, 0u);
        EXPECT_GT(seen.maybe, 0u);
    }
    for (const char *name : kNames) {
        const auto keys = read_indexes(file(name));
        EXPECT_GT(keys.size(), 100u);
        Worker fresh = instance.worker();
        fresh.open(name);
        EXPECT_EQ(fresh.count_all("base62", keys).maybe, keys.size()) << name;
    }
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

// A worker that does not look anything up keeps the generation that it mapped; asking for info is enough to let it go.
TEST(IdleHandle, LetsAnEarlierGenerationGoAtItsNextInfo) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(), 100};
    const std::string uuid = instance.info("links").at("uuid"), first = instance.info("links").at("generation");
    Worker idle = instance.worker();
    idle.open("links");
    for (int i = 0; i < 3; i++) {
        FilterWire wire{instance, "links"};
        ASSERT_FALSE(wire.rebuild({"BEGIN"}).is_error());
        (void)wire.bulk_keys(links.acknowledged());
        ASSERT_EQ(wire.rebuild({"END"}).fields()["switched"], "1");
    }
    EXPECT_EQ(mapped_segments(idle.process().pid(), uuid), std::set<std::string>{first});
    const std::string last = instance.info("links").at("generation");
    EXPECT_TRUE(idle.tell("info").ends_with(" generation " + last));
    EXPECT_EQ(mapped_segments(idle.process().pid(), uuid), std::set<std::string>{last});
}

} // namespace
} // namespace shmbloom::test
