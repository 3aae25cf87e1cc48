// A filter, a worker that opened it once and never does again, and every key whose add was acknowledged: what a test of the
// promise needs.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "eventually.h"
#include "instance.h"
#include "keys.h"

namespace shmbloom::test {

// As on the wire. What happens when bits are really lost is seen with `memory`.
using Durability = std::string;
constexpr const char *kDurable = "durable", *kLogged = "logged", *kMemory = "memory";

inline auto each_durability() {
    return ::testing::Values(Durability{kDurable}, Durability{kLogged}, Durability{kMemory});
}
inline std::string durability_name(const ::testing::TestParamInfo<Durability> &test) {
    return test.param;
}

class KeptFilter {
  public:
    // `asked`: words for SB.CREATE. Adds `keys` keys.
    KeptFilter(TestInstance &instance, const std::string &name, const std::vector<std::string> &asked,
               std::uint64_t keys = 1000, const std::string &capacity = "20000")
        : instance_{instance}, name_{name}, worker_{instance.worker()}, adder_{instance.worker()} {
        std::vector<std::string> words{"CAPACITY", capacity, "FPR", "1e-3"};
        words.insert(words.end(), asked.begin(), asked.end());
        instance.create(name, words);
        is_journalled_ = instance.info(name).at("durability") != kMemory;
        worker_.open(name);
        adder_.tell("timeout 5000");
        adder_.open(name);
        add(keys);
    }
    static std::vector<std::string> live(const Durability &durability = kDurable) {
        return {"DURABILITY", durability, "NOTHING-EXISTS-YET"};
    }
    static std::vector<std::string> warming(const Durability &durability = kDurable) { return {"DURABILITY", durability}; }

    const std::string &name() const { return name_; }
    bool is_journalled() const { return is_journalled_; }
    std::string acknowledged_file() const { return instance_.folder() / ("acknowledged-" + name_); }
    std::vector<std::uint64_t> acknowledged() const { return read_indexes(acknowledged_file()); }
    Worker &worker() { return worker_; }
    Worker &adder() { return adder_; }

    // What an adder says to `keys` fresh ones.
    std::string try_add(std::uint64_t keys) {
        const std::string from = std::to_string(next_);
        next_ += keys;
        return adder_.tell("add base62 " + from + " " + std::to_string(keys) + " " + acknowledged_file());
    }
    void add(std::uint64_t keys) {
        const std::string said = try_add(keys);
        EXPECT_TRUE(said.starts_with("acknowledged " + std::to_string(keys) + " refused 0 ")) << name_ << ": " << said;
    }

    // Every acknowledged key is there, and others are absent at the rate promised.
    void expect_stands() {
        const auto keys = acknowledged();
        EXPECT_EQ(worker_.count_all("base62", keys).maybe, keys.size()) << name_;
        const Answers others = worker_.count("base62", kOthers, kOtherCount);
        EXPECT_GE(others.absent, kOtherCount * (1 - 2 * 1e-3)) << name_;
        EXPECT_EQ(others.unverified, 0u) << name_;
    }
    // Stands, and the worker sees what is added now.
    void expect_goes_on() {
        expect_stands();
        add(20);
        expect_stands();
    }
    // The same of a worker that opens it now.
    void expect_stands_for_a_fresh_one() {
        Worker fresh = instance_.worker();
        fresh.open(name_);
        const auto keys = acknowledged();
        EXPECT_EQ(fresh.count_all("base62", keys).maybe, keys.size()) << name_;
        EXPECT_GE(fresh.count("base62", kOthers, kOtherCount).absent, kOtherCount * (1 - 2 * 1e-3)) << name_;
    }
    // What it is after a start that found its segment gone: if it is journalled, what it was before; else lossy. `besides`:
    // the doubts that it had before.
    std::string doubts_after_loss(const std::string &besides = "") const {
        return is_journalled_ ? besides : besides.empty() ? "lossy" : besides + ",lossy";
    }
    // Such a start was: live before, and what it is now.
    void expect_lossy_or_restored() {
        EXPECT_EQ(instance_.info(name_).at("doubts"), doubts_after_loss()) << name_;
        EXPECT_EQ(instance_.info(name_).at("live"), is_journalled_ ? "1" : "0") << name_;
        if (!is_journalled_)
            return expect_unverified();
        EXPECT_TRUE(becomes_live()) << name_;
        expect_stands();
        expect_stands_for_a_fresh_one();
    }
    void expect_never_absent() { EXPECT_EQ(worker_.count_all("base62", acknowledged()).absent, 0u) << name_; }
    void expect_unverified() {
        const auto keys = acknowledged();
        EXPECT_EQ(worker_.count_all("base62", keys).unverified, keys.size()) << name_;
        EXPECT_EQ(worker_.count("base62", kOthers, 100).unverified, 100u) << name_;
    }
    // A lookup in doubt looks again when something changed or 100 ms have passed.
    bool becomes(const std::string &answer, std::chrono::seconds timeout = std::chrono::seconds{30}) {
        return eventually([&] { return worker_.tell("ask never-added") == answer; }, timeout);
    }
    bool becomes_live() { return becomes("0"); }
    bool becomes_unverified(std::chrono::seconds timeout = std::chrono::seconds{30}) { return becomes("2", timeout); }

    // Every acknowledged key, one a line: a source.
    std::string source() const {
        std::string lines;
        for (const std::uint64_t index : acknowledged()) {
            char key[TEST_KEY_MAX_BYTES];
            lines.append(key, test_key(key, "base62", index)).append("\n");
        }
        return lines;
    }
    std::string write_source() const {
        const std::string path = instance_.folder() / ("source-" + name_);
        std::ofstream{path} << source();
        return path;
    }

    void remove_segment() const {
        const std::string segment = instance_.segment_of(name_);
        EXPECT_FALSE(segment.empty()) << name_;
        EXPECT_TRUE(std::filesystem::remove("/dev/shm/" + segment)) << segment;
    }

  private:
    static constexpr std::uint64_t kOthers = 1'000'000'000, kOtherCount = 20'000;

    TestInstance &instance_;
    std::string name_;
    bool is_journalled_ = true;
    Worker worker_, adder_;
    std::uint64_t next_ = 0;
};

inline void remove_control(const TestInstance &instance) {
    EXPECT_TRUE(std::filesystem::remove(instance.runtime_dir() + "/control"));
}

} // namespace shmbloom::test
