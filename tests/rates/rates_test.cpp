// The second promise: the rate of false positives is the one that was asked for, whatever the layout, the number of
// keys and their kind. Counted on the whole path: keys in through the daemon, asked by other processes through the
// library.
//
// 150/p lookups a cell expect 150 false positives, a standard error of 8 %: fewer could not tell 1.05 p from 1.3 p.
// That is 1.5e8 lookups a cell at 1e-6, 2.4e9 in all, each with a key made, normalized, hashed and looked up: no lookup
// stands for two. Where more cost next to nothing, more are asked.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <random>
#include <thread>

#include "instance.h"
#include "lane.h"

namespace shmbloom::test {
namespace {

constexpr std::uint64_t kLookupsAtLeast = 1'000'000; // of a cell
constexpr int kLanes = 3;                            // two processors, and one that waits for the daemon

std::vector<Cell> all_cells() {
    std::vector<Cell> cells;
    const auto add = [&](const char *layout, double p, std::uint64_t n, std::uint64_t sets, rate_kind kind) {
        const double lookups = std::max(std::ceil(150 / p), static_cast<double>(kLookupsAtLeast));
        cells.push_back({layout, p, n, sets, kind, static_cast<std::uint64_t>(lookups) / sets + 1});
    };
    for (const char *layout : {"classic", "blocked"})
        for (const double p : {0.1, 1e-2, 1e-3, 1e-4, 1e-6}) {
            add(layout, p, 100, 1000, RATE_BASE62);
            add(layout, p, 1'000, 100, RATE_BASE62);
            for (const rate_kind kind : {RATE_NUMBER, RATE_BASE62, RATE_UUID, RATE_WORDS, RATE_U64})
                add(layout, p, 20'000, 20, kind);
            add(layout, p, 1'000'000, 1, RATE_BASE62);
        }
    return cells;
}

// Sets of one cell that are tried at once.
struct Task {
    std::size_t cell;
    std::uint64_t first, count;
};

// The long ones first, so that no processor is idle at the end.
std::vector<Task> all_tasks(const std::vector<Cell> &cells) {
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < cells.size(); i++)
        for (std::uint64_t first = 0; first < cells[i].sets; first += Lane::kAtOnce)
            tasks.push_back({i, first, std::min(Lane::kAtOnce, cells[i].sets - first)});
    std::ranges::stable_sort(tasks, std::greater{},
                             [&](const Task &task) { return task.count * cells[task.cell].absent_per_set; });
    return tasks;
}

struct Rate {
    double mean = 0;
    double error = 0; // standard error of the mean
    std::uint64_t missing = 0, unverified = 0, lookups = 0;
};

Rate rate_of(const Cell &cell, const std::vector<SetResult> &sets) {
    const auto count = static_cast<double>(sets.size());
    const auto asked = static_cast<double>(cell.absent_per_set);
    Rate rate{.lookups = cell.absent_per_set * sets.size()};
    double squares = 0;
    for (const SetResult &set : sets) {
        const double one = static_cast<double>(set.false_positives) / asked;
        rate.mean += one / count;
        squares += one * one;
        rate.missing += set.missing;
        rate.unverified += set.unverified;
    }
    // Across sets, so that it covers the scatter between filters; of one set, what counting alone scatters.
    const double variance = sets.size() > 1 ? (squares / count - rate.mean * rate.mean) * count / (count - 1)
                                            : rate.mean * (1 - rate.mean) / asked;
    rate.error = std::sqrt(std::max(0.0, variance) / count);
    return rate;
}

// The same bits in every run; in the long form others in each.
std::uint64_t seed_of_this_run() {
    const char *const text = ::getenv("SHMBLOOM_TEST_SEED");
    if (text != nullptr)
        return std::strtoull(text, nullptr, 16);
    return ::getenv("SHMBLOOM_TEST_LONG") != nullptr ? std::random_device{}() : 0x5EEDull;
}

void write_seed(const std::string &path, std::uint64_t seed) {
    char line[64];
    std::snprintf(line, sizeof line, "shmbloom-seed-1 %016llx %016llx\n",
                  static_cast<unsigned long long>(rate_mix(seed)), static_cast<unsigned long long>(rate_mix(seed + 1)));
    std::ofstream{path} << line;
}

TEST(Rates, AreKeptByEveryLayoutSizeAndKindOfKey) {
    rate_words words{};
    if (rate_load_words(&words) < 0)
        GTEST_SKIP() << "no /usr/share/dict/words (package wamerican)";
    const std::uint64_t seed = seed_of_this_run();
    std::printf("SHMBLOOM_TEST_SEED=%llx repeats this run\n", static_cast<unsigned long long>(seed));

    TestInstance instance;
    write_seed(instance.folder() / "seed", seed);
    instance.start({"--seed-file", instance.folder() / "seed"});
    const std::vector<Cell> cells = all_cells();
    const std::vector<Task> tasks = all_tasks(cells);
    std::vector<std::vector<SetResult>> results(cells.size());
    for (std::size_t i = 0; i < cells.size(); i++)
        results[i].resize(cells[i].sets);

    std::vector<Lane> lanes;
    for (int i = 0; i < kLanes; i++)
        lanes.emplace_back(instance.runtime_dir(), "lane" + std::to_string(i) + ".", words);
    std::atomic<std::size_t> next{0};
    std::mutex mutex; // of the daemon's log and the failure
    std::string failure;
    std::vector<std::thread> threads;
    for (Lane &lane : lanes)
        threads.emplace_back([&] {
            try {
                for (std::size_t i = next++; i < tasks.size(); i = next++) {
                    const auto done = lane.run(cells[tasks[i].cell], tasks[i].first, tasks[i].count);
                    std::ranges::copy(done,
                                      results[tasks[i].cell].begin() + static_cast<std::ptrdiff_t>(tasks[i].first));
                    const std::lock_guard lock{mutex};
                    instance.daemon().log(); // reads it: a full pipe would stop the daemon
                }
            } catch (const std::exception &error) {
                const std::lock_guard lock{mutex};
                failure = error.what();
                next = tasks.size();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    ASSERT_EQ(failure, "");

    std::printf("%-8s %-8s %8s %6s %6s %12s %12s %9s %9s\n", "layout", "keys", "n", "p", "sets", "asked", "measured",
                "of p", "+-");
    for (std::size_t i = 0; i < cells.size(); i++) {
        const Cell &cell = cells[i];
        const Rate rate = rate_of(cell, results[i]);
        const bool kept = rate.mean <= 1.05 * cell.p + 3 * rate.error;
        std::printf("%-8s %-8s %8llu %6g %6llu %12llu %12.4g %9.3f %9.3f%s\n", cell.layout.c_str(),
                    rate_kind_names[cell.kind], static_cast<unsigned long long>(cell.n), cell.p,
                    static_cast<unsigned long long>(cell.sets), static_cast<unsigned long long>(rate.lookups),
                    rate.mean, rate.mean / cell.p, rate.error / cell.p, kept ? "" : "  TOO MANY");
        EXPECT_TRUE(kept) << cell.layout << " " << rate_kind_names[cell.kind] << " n " << cell.n << " p " << cell.p;
        EXPECT_EQ(rate.missing, 0u) << "an added key was answered absent";
        EXPECT_EQ(rate.unverified, 0u);
    }
}

} // namespace
} // namespace shmbloom::test
