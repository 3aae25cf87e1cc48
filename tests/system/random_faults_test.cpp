// Faults in random order, with an adder and a watcher that run through all of them: kills, clean stops, starts that are
// killed at a random step, names removed while the daemon is down or runs, snapshots, loads. No acknowledged key is ever
// answered absent; a filter is lossy exactly when it is in memory only and its segment was lost; and it refuses adds exactly
// when its segment and a control were lost and nothing told its readers between.
#include <cstdlib>
#include <optional>
#include <random>

#include "kept_filter.h"

namespace shmbloom::test {
namespace {

constexpr const char *kStartSteps[] = {"start.noted",      "start.segment_made", "start.durable",   "start.gate_open:1",
                                       "start.gate_open:2", "start.open",        "control.built",   "control.published",
                                       "registry.before:2", "registry.before:3", "file.written:1",  "file.written:2",
                                       "file.renamed:1",    "file.renamed:2",    "registry.durable:3",
                                       "start.replayed"};

class RandomFaults : public ::testing::TestWithParam<Durability> {
  protected:
    struct Round {
        Round(std::mt19937_64 &source, bool memory_only) : random{source}, is_memory_only{memory_only} {}

        std::mt19937_64 &random;
        const bool is_memory_only;
        TestInstance instance;
        std::string story;
        bool control_lost = false; // ever
        bool lossy = false;        // bits were lost and not loaded again since
        int losses = 0;            // of segments
        bool pending = false;      // ... and no start has noted yet that control told its readers
        bool refused = false;

        void lost_segment() {
            lossy = is_memory_only;
            pending = true;
            losses++;
        }
        // A start has opened the gates and noted it: who read the lost segment was told by control, unless that was lost.
        void gates_opened() {
            refused |= pending && control_lost;
            pending = false;
        }

        bool one_in(unsigned n) { return random() % n == 0; }
        void tell(const std::string &what) { story += what + "; "; }
    };

    static void go_down(Round &round) {
        const bool clean = round.one_in(2);
        round.tell(clean ? "stop" : "kill");
        clean ? round.instance.stop() : round.instance.kill();
    }

    static void lose_names(Round &round, KeptFilter &links) {
        std::error_code ignored;
        if (round.one_in(4) && std::filesystem::remove("/dev/shm/" + round.instance.segment_of(links.name()), ignored)) {
            round.tell("segment removed");
            round.lost_segment();
        }
        if (round.one_in(16) && std::filesystem::remove(round.instance.runtime_dir() + "/control", ignored)) {
            round.tell("control removed");
            round.control_lost = true;
        }
    }

    static void come_up(Round &round, KeptFilter &links) {
        while (round.one_in(2)) {
            const char *const step = kStartSteps[round.random() % std::size(kStartSteps)];
            const bool crashed = round.instance.start_and_crash(step);
            round.tell(std::string{crashed ? "crash at " : "no crash at "} + step);
            if (!crashed || step == std::string_view{"start.open"} || step == std::string_view{"registry.durable:3"})
                round.gates_opened();
            if (!crashed)
                round.instance.kill();
            lose_names(round, links);
        }
        round.instance.start();
        round.gates_opened();
        round.tell("start");
    }

    // A lossy filter is loaded with all that was acknowledged; the adder goes on meanwhile.
    static void load(Round &round, KeptFilter &links, const std::string &adder_file) {
        const std::string path = round.instance.folder() / "all";
        std::ofstream file{path};
        for (const std::uint64_t index : read_indexes(adder_file)) {
            char key[TEST_KEY_MAX_BYTES];
            file.write(key, static_cast<std::streamsize>(test_key(key, "base62", index))) << '\n';
        }
        file << links.source();
        file.close();
        round.instance.must_ctl({"load", "links", path, "--overlap", "0"});
        round.tell("load");
    }
};

TEST_P(RandomFaults, NoAcknowledgedKeyIsEverAnsweredAbsent) {
    const int rounds = std::getenv("SHMBLOOM_TEST_LONG") != nullptr ? 300 : 12;
    const char *const wanted = std::getenv("SHMBLOOM_TEST_SEED");
    const auto seed = wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : std::random_device{}();
    std::printf("SHMBLOOM_TEST_SEED=%lu\n", seed);
    std::mt19937_64 random{seed};
    int refusals = 0, loads = 0, losses = 0;
    for (int number = 0; number < rounds && !HasFailure(); number++) {
        Round round{random, GetParam() == kMemory};
        TestInstance &instance = round.instance;
        instance.start();
        KeptFilter links{instance, "links", KeptFilter::live(GetParam()), 100, "2000000"};
        KeptFilter other{instance, "other", KeptFilter::live(GetParam()), 20};
        const std::string file = instance.folder() / "flood";
        Worker adder = instance.worker(), watcher = instance.worker();
        adder.tell("timeout 200");
        adder.open("links");
        watcher.open("links");
        adder.begin("flood base62 1099511627776 0 " + file);
        watcher.begin("watch base62 0 0 " + file + "," + links.acknowledged_file());
        for (int fault = 0; fault < 5 && !round.refused; fault++) {
            if (round.one_in(16)) {
                remove_control(instance);
                round.tell("control removed while running");
                round.control_lost = true;
                ASSERT_TRUE(eventually([&] { return std::filesystem::exists(instance.runtime_dir() + "/control"); }));
            }
            if (round.one_in(8)) {
                links.remove_segment();
                round.tell("segment removed while running");
                round.lost_segment();
            }
            std::optional<Wire> wire;
            if (round.one_in(3)) {
                wire.emplace(instance.runtime_dir()).send({"SB.SNAPSHOT", "*"}); // its end is not waited for
                round.tell("snapshot");
            }
            go_down(round);
            lose_names(round, links);
            come_up(round, links);
            SCOPED_TRACE("round " + std::to_string(number) + ": " + round.story);
            const auto info = instance.info("links");
            ASSERT_EQ(info.at("warnings").find("adds_refused") != std::string::npos, round.refused);
            ASSERT_EQ(info.at("live"), round.lossy ? "0" : "1");
            if (!round.refused) {
                const auto before = read_indexes(file).size();
                ASSERT_TRUE(eventually([&] { return read_indexes(file).size() > before + 20; })) << "adds do not get through";
            }
            if (round.lossy && !round.refused) {
                load(round, links, file);
                ASSERT_TRUE(links.becomes_live());
                round.lossy = false;
                loads++;
            }
            refusals += round.refused;
            links.expect_never_absent();
            if (!round.refused)
                links.expect_stands();
            other.expect_goes_on();
            EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
        }
        SCOPED_TRACE("round " + std::to_string(number) + ": " + round.story);
        (void)adder.finish();
        const std::string said = watcher.finish();
        EXPECT_EQ(parse_answers(said).absent, 0u) << said;
        EXPECT_EQ(links.worker().count_all("base62", read_indexes(file)).absent, 0u);
        losses += round.losses;
    }
    std::printf("%d rounds, %d lost segments, %d loaded again, %d rounds that ended with adds refused\n", rounds, losses, loads,
                refusals);
}

INSTANTIATE_TEST_SUITE_P(Each, RandomFaults, each_durability(), durability_name);

} // namespace
} // namespace shmbloom::test
