// kill -9 while adds are under way, again and again: what was acknowledged is there, always; what was not is nobody's
// promise. Between kill and start names are taken away: segments (the filter is restored from snapshot and journal),
// control (it is adopted), or none.
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "kept_filter.h"
#include "memory_view.h"
#include "shmbloom/key.h"

namespace shmbloom::test {
namespace {

// Sends batches without waiting for the replies to earlier ones, as a loader does.
class PipelinedAdder {
  public:
    PipelinedAdder(const std::string &runtime_dir, const std::string &name, std::uint64_t from) : from_{from}, next_{from} {
        MemoryView view{runtime_dir};
        seed_ = view.slot(name).seed;
        char domain[17];
        std::snprintf(domain, sizeof domain, "%016llx", static_cast<unsigned long long>(view.slot(name).hash_domain));
        thread_ = std::thread{[this, runtime_dir, name, text = std::string{domain}] { run(runtime_dir, name, text); }};
    }
    ~PipelinedAdder() { finish(); }

    void finish() {
        if (thread_.joinable())
            thread_.join();
    }
    // Both valid after the daemon's end and finish().
    std::uint64_t in_flight() const { return next_ - from_ - acknowledged_; }
    std::uint64_t acknowledged() const { return acknowledged_; }
    std::uint64_t end() const { return next_; }
    std::uint64_t from() const { return from_; }

  private:
    static constexpr std::uint64_t kBatch = 256, kBatchesInFlight = 4;

    void run(const std::string &runtime_dir, const std::string &name, const std::string &domain) try {
        Wire wire{runtime_dir};
        for (;;) {
            std::vector<std::uint64_t> hashes;
            for (std::uint64_t i = 0; i < kBatch; i++) {
                char key[TEST_KEY_MAX_BYTES];
                const std::size_t size = test_key(key, "base62", next_ + i);
                hashes.push_back(shmbloom_hash_bytes(key, size, 0, seed_));
            }
            next_ += kBatch;
            wire.send({"SB.ADDH", name, domain, {reinterpret_cast<const char *>(hashes.data()), kBatch * 8}});
            if (next_ - from_ - acknowledged_ < kBatch * kBatchesInFlight)
                continue;
            if (wire.receive().text.size() == kBatch)
                acknowledged_ += kBatch;
        }
    } catch (const std::runtime_error &) {
        // The daemon was killed. Batches are answered in order, so what was acknowledged comes first.
    }

    const std::uint64_t from_;
    std::uint64_t seed_ = 0, next_, acknowledged_ = 0;
    std::thread thread_;
};

struct Loop {
    const char *durability;
    int cycles;
    bool loses_segments;
};

// What is taken away in the n-th of all cycles. Control only in the last third, and then no segment any more: who loses
// both in one boot has readers that nobody can reach, and refuses adds.
enum class Lost { nothing, segments, control };
Lost lost_in(const Loop &loop, int cycle, int cycles) {
    if (cycle % 2 == 0)
        return Lost::nothing;
    if (3 * cycle >= 2 * cycles)
        return Lost::control;
    return loop.loses_segments ? Lost::segments : Lost::nothing;
}

class KillInFlight : public testing::TestWithParam<Loop> {};

TEST_P(KillInFlight, NoAcknowledgedAddIsEverAnsweredAbsent) {
    constexpr int kAdders = 3;
    const Loop &loop = GetParam();
    const int cycles = loop.cycles * (std::getenv("SHMBLOOM_TEST_LONG") != nullptr ? 50 : 1);
    const char *const wanted = std::getenv("SHMBLOOM_TEST_SEED");
    const auto seed = wanted != nullptr ? std::strtoul(wanted, nullptr, 10) : std::random_device{}();
    std::printf("SHMBLOOM_TEST_SEED=%lu\n", seed);
    std::mt19937_64 random{seed};

    TestInstance instance;
    instance.start();
    instance.must_ctl({"create", "links", "--capacity", "4M", "--fpr", "1e-3", "--nothing-exists-yet",
                       "--durability", loop.durability});
    Worker old = instance.worker(); // opened before every kill, never again
    old.open("links");
    Worker watcher = instance.worker();
    watcher.open("links");

    std::vector<Worker> adders;
    std::vector<std::string> files;
    std::string watched;
    for (int i = 0; i < kAdders; i++) {
        adders.push_back(instance.worker());
        adders.back().tell("timeout 100");
        adders.back().open("links");
        files.push_back(instance.folder() / ("adder-" + std::to_string(i)));
        adders.back().begin("flood base62 " + std::to_string(std::uint64_t(i) << 40) + " 0 " + files.back());
        watched += (i == 0 ? "" : ",") + files.back();
    }
    watcher.begin("watch base62 0 0 " + watched);

    const auto acknowledged = [&] {
        std::uintmax_t bytes = 0;
        for (const std::string &file : files) {
            std::error_code missing;
            const auto size = std::filesystem::file_size(file, missing);
            bytes += missing ? 0 : size;
        }
        return bytes / sizeof(std::uint64_t);
    };
    std::uint64_t batched_in_flight = 0, batched = 0;
    std::uint64_t next = std::uint64_t{1} << 50;
    for (int cycle = 0; cycle < cycles; cycle++) {
        SCOPED_TRACE("cycle " + std::to_string(cycle));
        const auto before = acknowledged();
        ASSERT_TRUE(eventually([&] { return acknowledged() > before + 100; })) << "adders do not get through";
        Wire wire = instance.wire();
        if (cycle % 5 == 4)
            wire.send({"SB.SNAPSHOT", "links"}); // so that some kills meet one
        PipelinedAdder batches{instance.runtime_dir(), "links", next};
        std::this_thread::sleep_for(std::chrono::microseconds{random() % 60'000}); // the random moment itself
        instance.kill();
        batches.finish();
        batched_in_flight += batches.in_flight();
        batched += batches.acknowledged();
        const Answers while_dead = old.count("base62", batches.from(), batches.acknowledged());
        EXPECT_EQ(while_dead.maybe, batches.acknowledged());
        next = batches.end();
        if (lost_in(loop, cycle, cycles) == Lost::segments)
            instance.remove_segments();
        if (lost_in(loop, cycle, cycles) == Lost::control)
            remove_control(instance);

        instance.start();
        const Answers added = old.count("base62", batches.from(), batches.acknowledged());
        EXPECT_EQ(added.maybe, batches.acknowledged());
        const Answers others = old.count("base62", std::uint64_t{1} << 60, 20'000);
        EXPECT_GE(others.absent, 20'000 * (1 - 2 * 1e-3));
        EXPECT_EQ(others.unverified, 0u);
    }

    unsigned long unknown = 0, twice = 0;
    for (Worker &adder : adders) {
        unsigned long acked = 0, refused = 0, u = 0, t = 0;
        const std::string said = adder.finish();
        ASSERT_EQ(std::sscanf(said.c_str(), "acknowledged %lu refused %lu unknown %lu twice %lu", &acked, &refused, &u, &t), 4)
            << said;
        unknown += u;
        twice += t;
    }
    // A last look at every acknowledged add, also by who opens only now.
    Worker fresh = instance.worker();
    fresh.open("links");
    std::uint64_t single = 0;
    for (const std::string &file : files) {
        const auto keys = read_indexes(file);
        single += keys.size();
        EXPECT_EQ(old.count_all("base62", keys).maybe, keys.size());
        EXPECT_EQ(fresh.count_all("base62", keys).maybe, keys.size());
    }
    const std::string said = watcher.finish();
    EXPECT_EQ(parse_answers(said).absent, 0u) << said;

    std::printf("%d kills: %lu adds acknowledged one by one and %lu in batches; in flight at a kill: %lu unacknowledged for good, "
                "%lu sent again and acknowledged then, %lu in batches; watcher: %s\n",
                cycles, static_cast<unsigned long>(single), static_cast<unsigned long>(batched), unknown, twice,
                static_cast<unsigned long>(batched_in_flight), said.c_str());
    EXPECT_GT(unknown + twice, 0u) << "no single add was in flight at any kill";
    EXPECT_GT(batched_in_flight, 0u) << "no batch was in flight at any kill";
}

INSTANTIATE_TEST_SUITE_P(Of, KillInFlight,
                         testing::Values(Loop{"durable", 36, true}, Loop{"logged", 18, true}, Loop{"memory", 6, false}),
                         [](const auto &instance) { return std::string{instance.param.durability}; });

} // namespace
} // namespace shmbloom::test
