// Power goes at every sync, before and after it takes effect, and at moments of chance; then what is left starts again,
// goes on, and loses power a second time.
#include <gtest/gtest.h>

#include <random>

#include "machine.h"

namespace shmbloom::test {
namespace {

constexpr auto kDurable = SHMBLOOM_DURABILITY_DURABLE;
constexpr auto kLogged = SHMBLOOM_DURABILITY_LOGGED;

using Images = std::vector<Machine::Image>;

// Adds of all kinds to two filters; some wait for each other, most do not.
class Work {
  public:
    Work(Machine &machine, std::uint64_t seed, std::function<void()> between = [] {})
        : machine_{machine}, random_{seed}, between_{std::move(between)} {}

    void all() {
        create("durable", kDurable);
        create("logged", kLogged);
        adds(12);
        machine_.wait(machine_.snapshot("durable"));
        adds(6);
        create("short", kDurable);
        add("short", 3);
        drop("short");
        const AnswerPtr first = machine_.snapshot("*");
        adds(12);
        machine_.wait(first);
        beats();
        adds(6);
        machine_.wait(machine_.snapshot("*"));
        beats(); // trims
        adds(8);
        beats();
    }

    void more() {
        for (const char *name : {"durable", "logged", "short"})
            if (machine_.instance().find(name) == nullptr)
                create(name, name[0] == 'l' ? kLogged : kDurable);
        adds(1 + random_() % 5);
        if (random_() % 3 == 0)
            machine_.wait(machine_.snapshot("*"));
        adds(random_() % 4);
        if (random_() % 2 == 0)
            beats();
    }

    void adds(std::size_t times) {
        std::vector<AnswerPtr> answers;
        for (std::size_t i = 0; i < times; i++) {
            for (const char *name : {"durable", "logged"}) {
                const bool is_batch = random_() % 3 == 0, is_again = !added_.empty() && random_() % 4 == 0;
                auto hashes = machine_.fresh(is_batch ? 1 + random_() % 40 : 1);
                if (is_again)
                    hashes.push_back(added_[random_() % added_.size()]); // changes no bit
                answers.push_back(machine_.add(name, hashes));
                added_.push_back(hashes.front());
            }
            if (random_() % 2 == 0)
                machine_.wait(std::exchange(answers, {}));
            between_();
        }
        machine_.wait(answers);
    }

    void beats() {
        for (int i = 0; i < 3; i++) {
            machine_.beat();
            between_();
        }
    }

  private:
    void create(const std::string &name, std::uint32_t durability) {
        EXPECT_FALSE(machine_.wait(machine_.create(name, durability)).failure);
        between_();
    }
    void add(const std::string &name, std::size_t count) { machine_.wait(machine_.add(name, machine_.fresh(count))); }
    void drop(const std::string &name) {
        EXPECT_FALSE(machine_.wait(machine_.drop(name)).failure);
        between_();
    }

    Machine &machine_;
    std::mt19937_64 random_;
    std::function<void()> between_;
    std::vector<std::uint64_t> added_;
};

// Takes images at every sync from now on, until it goes.
class AtEverySync {
  public:
    AtEverySync(Machine &machine, std::uint64_t seeds_each) : machine_{machine}, seeds_each_{seeds_each} { arm(); }
    ~AtEverySync() { machine_.disk().stop_at_sync(0, {}); }

    Images take() {
        machine_.disk().stop_at_sync(0, {});
        const std::lock_guard lock{mutex_};
        return std::move(images_);
    }

  private:
    void arm() {
        machine_.disk().stop_at_sync(
            1,
            [this] {
                arm(); // a sync of another thread meanwhile counts too
                look("at");
            },
            [this] { look("after"); });
    }
    void look(const char *where) {
        const std::lock_guard lock{mutex_};
        const std::string when = std::string{where} + " sync " + std::to_string(count_++);
        images_.push_back(machine_.lose_power({.keep_nothing = true}, when));
        for (std::uint64_t i = 0; i < seeds_each_; i++)
            images_.push_back(machine_.lose_power({.seed = seed_++}, when));
    }

    Machine &machine_;
    const std::uint64_t seeds_each_;
    std::mutex mutex_;
    std::uint64_t count_ = 0, seed_ = 1;
    Images images_;
};

// What is wrong with a start from this image.
std::vector<std::string> broken_after(Machine &machine, const Machine::Image &image, bool is_disk_honest = true) {
    machine.reboot_with(image);
    try {
        machine.start();
    } catch (const std::exception &error) {
        return {image.when + ": no start: " + error.what()};
    }
    auto broken = machine.broken(image.promises, is_disk_honest);
    for (std::string &text : broken)
        text = image.when + ": " + text;
    return broken;
}

// Starts from each, goes on, loses power again.
void expect_all_kept(Machine &machine, const Images &images, std::uint64_t seed) {
    std::mt19937_64 random{seed};
    for (const Machine::Image &image : images) {
        ASSERT_EQ(lines(broken_after(machine, image)), "");
        Machine::remove(image);
        Work{machine, random()}.more();
        const Loss loss{.seed = random(), .keep_nothing = random() % 2 == 0};
        const auto second = machine.lose_power(loss, "again after " + image.when);
        ASSERT_EQ(lines(broken_after(machine, second)), "");
        Machine::remove(second);
    }
}

TEST(PowerLossAtEverySync, TakesNothingThatWasAcknowledged) {
    const std::uint64_t seed = random_seed();
    for (std::uint64_t round = 0; round < rounds(1, 50); round++) {
        Machine machine;
        machine.start();
        AtEverySync stops{machine, rounds(2, 5)};
        Work{machine, seed + round}.all();
        machine.wait(machine.stop());
        const Images images = stops.take();
        EXPECT_GT(images.size(), 300u);
        expect_all_kept(machine, images, seed + round);
        if (HasFatalFailure())
            return;
    }
}

// A start is work like any other: power goes at every sync of it, too.
TEST(PowerLossAtEverySync, OfAStartTakesNothingThatWasAcknowledged) {
    const std::uint64_t seed = random_seed();
    for (std::uint64_t round = 0; round < rounds(6, 300); round++) {
        Machine machine;
        machine.start();
        Work{machine, seed + round}.all();
        const auto before = machine.lose_power({.seed = seed + round}, "before the start");
        machine.reboot_with(before);
        AtEverySync stops{machine, rounds(1, 5)};
        machine.start();
        expect_all_kept(machine, stops.take(), seed + round);
        if (HasFatalFailure())
            return;
    }
}

TEST(PowerLossAtAnyMoment, TakesNothingThatWasAcknowledged) {
    const std::uint64_t seed = random_seed();
    for (std::uint64_t round = 0; round < rounds(6, 400); round++) {
        Machine machine;
        machine.start();
        std::mt19937_64 random{seed + round};
        Images images;
        Work{machine, seed + round, [&] {
                 if (random() % 3 == 0)
                     images.push_back(machine.lose_power({.seed = random()}, "between, " + std::to_string(images.size())));
             }}.all();
        expect_all_kept(machine, images, seed + round);
        if (HasFatalFailure())
            return;
    }
}

// Whether the files of the journal are trimmed and rotated at all in what the tests above do.
TEST(Work, RotatesAndTrimsTheJournal) {
    Machine machine;
    machine.start();
    Work{machine, 1}.all();
    const auto &files = machine.instance().journal().files().all();
    ASSERT_FALSE(files.empty());
    EXPECT_GT(files.back().record.number, 2u);
    EXPECT_TRUE(machine.beat_until([&] { return machine.instance().journal().files().all().front().record.number > 1; }));
}

// The disks that must be caught, else the tests above prove nothing.

class LiesAboutFrames : public SimulatedDisk { // honest when a file of the journal is made, and about all other files
  public:
    explicit LiesAboutFrames(const std::string &root) : SimulatedDisk{root} {}
    int sync(int fd) override {
        char path[4096] = "";
        const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path - 1);
        const std::string name{path, static_cast<std::size_t>(n < 0 ? 0 : n)};
        if (name.find("/journal/") == std::string::npos)
            return SimulatedDisk::sync(fd);
        {
            const std::lock_guard lock{mutex_};
            if (!made_.insert(name).second)
                return 0;
        }
        return SimulatedDisk::sync(fd);
    }

  private:
    std::mutex mutex_;
    std::set<std::string> made_;
};

template <class OtherDisk, class... Args>
std::string what_is_noticed(std::uint64_t seed, Args... args) {
    Machine machine;
    machine.use_disk<OtherDisk>(args...);
    machine.start();
    Work work{machine, seed};
    work.all();
    const Images images{machine.lose_power({.keep_nothing = true}, "lying"), machine.lose_power({.seed = 1}, "lying"),
                        machine.lose_power({.seed = 2}, "lying")};
    std::string all;
    for (const auto &image : images)
        all += lines(broken_after(machine, image));
    return all;
}

// Two adds right behind each other and then nothing: without a beat no frame, no control and no registry says later that they
// were synced, so that to a start what is gone looks torn.
template <class OtherDisk> std::string what_is_missing_of_two_adds() {
    Machine machine;
    machine.use_disk<OtherDisk>();
    machine.file_bytes = 64 << 10; // so that no other file is made, which the registry would name
    machine.start();
    EXPECT_FALSE(machine.wait(machine.create("durable", kDurable)).failure);
    for (int i = 0; i < 2; i++) {
        const AnswerPtr answer = machine.add("durable", machine.fresh(1));
        machine.loop().run_until([&] { return answer->done; });
        EXPECT_FALSE(answer->failure);
    }
    const auto image = machine.lose_power({.keep_nothing = true}, "at once");
    EXPECT_EQ(decode_registry(read_file(image.path + "/registry.json").value(), image.path).journal.end, 1u);
    return lines(broken_after(machine, image));
}

TEST(LyingDisk, AboutFramesLosesAcknowledgedAddsAndIsNoticed) {
    EXPECT_EQ(what_is_missing_of_two_adds<SimulatedDisk>(), "");
    EXPECT_EQ(what_is_missing_of_two_adds<LiesAboutFrames>(),
              "at once, nothing kept: 'durable' is live and answers absent for 2 of 2 acknowledged keys\n");
}

TEST(LyingDisk, AboutFramesIsNoticedInAllWork) {
    EXPECT_NE(what_is_noticed<LiesAboutFrames>(1).find("'durable' "), std::string::npos);
}

TEST(LyingDisk, AboutFilesIsNoticed) {
    EXPECT_NE(what_is_noticed<LyingDisk>(1, SimulatedDisk::Lies::about_files), "");
}

TEST(LyingDisk, AboutFoldersIsNoticed) {
    EXPECT_NE(what_is_noticed<LyingDisk>(1, SimulatedDisk::Lies::about_folders), "");
}

// One thing each.

class PowerLossOf : public testing::Test {
  protected:
    PowerLossOf() {
        machine.file_bytes = 64 << 10; // so that no other file is made meanwhile
        machine.start();
    }

    void create(const std::string &name, std::uint32_t durability) {
        ASSERT_FALSE(machine.wait(machine.create(name, durability)).failure);
    }
    std::optional<Failure> add(const std::string &name, const std::vector<std::uint64_t> &hashes) {
        return machine.wait(machine.add(name, hashes)).failure;
    }
    void expect_kept(bool is_disk_honest = true) {
        const auto image = machine.lose_power({.keep_nothing = true}, "now");
        ASSERT_EQ(lines(broken_after(machine, image, is_disk_honest)), "");
    }

    Machine machine;
};

TEST_F(PowerLossOf, AnAddThatChangedNoBitKeepsIt) {
    create("durable", kDurable);
    ASSERT_FALSE(add("durable", {1}));
    // Its first add is not acknowledged: the bits are set, and the disk has nothing.
    const auto hashes = machine.fresh(5);
    machine.disk().fail(SimulatedDisk::Operation::write, 1, EIO, 1, "/journal/");
    ASSERT_TRUE(add("durable", hashes));
    const Answer again = machine.wait(machine.add("durable", hashes));
    if (again.failure) { // until the next beat the journal refuses
        machine.beat_until([&] { return !machine.instance().journal().failing(); });
        ASSERT_FALSE(add("durable", hashes));
    }
    EXPECT_EQ(machine.promises().filters.at("durable").hashes.size(), 6u);
    expect_kept();
}

TEST_F(PowerLossOf, ARetryAfterAFailedSyncKeepsIt) {
    create("durable", kDurable);
    ASSERT_FALSE(add("durable", machine.fresh(3)));
    const auto hashes = machine.fresh(5);
    machine.disk().fail(SimulatedDisk::Operation::sync, 1, EIO, 1, "/journal/");
    const auto failure = add("durable", hashes);
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->word, "IO");
    ASSERT_FALSE(add("durable", hashes)); // into another file
    EXPECT_EQ(machine.promises().filters.at("durable").hashes.size(), 8u);
    expect_kept(false); // degraded: may be in doubt, and is where no full snapshot followed
}

TEST_F(PowerLossOf, AfterAFailedSyncAndFullSnapshotsIsWithoutDoubt) {
    create("durable", kDurable);
    ASSERT_FALSE(add("durable", machine.fresh(3)));
    machine.disk().fail(SimulatedDisk::Operation::sync, 1, EIO, 1, "/journal/");
    ASSERT_TRUE(add("durable", machine.fresh(1)));
    ASSERT_FALSE(add("durable", machine.fresh(1)));
    ASSERT_TRUE(machine.beat_until([&] { return machine.registry_on_disk().degraded.since == 0; }));
    expect_kept();
}

TEST_F(PowerLossOf, AnAcknowledgedCreateKeepsTheFilter) {
    create("durable", kDurable);
    create("logged", kLogged);
    expect_kept();
    ASSERT_FALSE(add("durable", machine.fresh(1)));
    expect_kept();
}

TEST_F(PowerLossOf, AnAcknowledgedDropKeepsItAway) {
    create("durable", kDurable);
    ASSERT_FALSE(add("durable", machine.fresh(1)));
    ASSERT_FALSE(machine.wait(machine.drop("durable")).failure);
    expect_kept();
    EXPECT_EQ(machine.instance().find("durable"), nullptr);
    create("durable", kDurable); // the same name: nothing of the old one
    ASSERT_FALSE(add("durable", machine.fresh(1)));
    expect_kept();
    EXPECT_EQ(machine.instance().find("durable")->segment->count_bits(),
              machine.instance().find("durable")->record.shape.probes);
}

TEST_F(PowerLossOf, ACleanStopLeavesALoggedFilterWithoutDoubt) {
    create("logged", kLogged);
    ASSERT_FALSE(add("logged", machine.fresh(30)));
    ASSERT_FALSE(machine.wait(machine.stop()).failure);
    expect_kept();
    EXPECT_EQ(machine.doubts("logged"), 0u);
    ASSERT_FALSE(add("logged", machine.fresh(1)));
    expect_kept();
    EXPECT_EQ(machine.doubts("logged"), SHMBLOOM_DOUBT_LOSSY); // without one it is
}

TEST_F(PowerLossOf, AKilledProcessTakesNothingThatWasWritten) {
    create("logged", kLogged);
    create("durable", kDurable);
    ASSERT_FALSE(add("logged", machine.fresh(30)));
    ASSERT_FALSE(add("durable", machine.fresh(30)));
    ASSERT_FALSE(add("logged", machine.fresh(30)));
    machine.kill();
    machine.lose_segments();
    machine.start(); // the same boot
    EXPECT_EQ(lines(machine.broken(machine.promises())), "");
    EXPECT_EQ(machine.doubts("logged"), 0u);
}

// LSNs that were given out and abandoned before a restart are no hole, even if the first thing that happens after it fails.
TEST_F(PowerLossOf, WhatWasLoggedIsNoHoleWhenTheFirstFileAfterwardsCannotBeMade) {
    create("logged", kLogged);
    ASSERT_FALSE(add("logged", machine.fresh(10))); // maybe not synced
    create("durable", kDurable);                    // the registry says: above those LSNs
    machine.reboot_with(machine.lose_power({.keep_nothing = true}, "now"));
    machine.start();
    machine.disk().fail(SimulatedDisk::Operation::allocate, 1, ENOSPC, 1, "/journal/");
    const auto failure = add("durable", machine.fresh(1));
    ASSERT_TRUE(failure);
    EXPECT_STREQ(failure->word, "NOSPC");
    ASSERT_TRUE(machine.beat_until([&] { return !machine.instance().journal().failing(); }));
    ASSERT_FALSE(add("durable", machine.fresh(1)));
    ASSERT_FALSE(add("durable", machine.fresh(1))); // says that the one before was durable
    expect_kept();
    EXPECT_EQ(machine.doubts("logged"), SHMBLOOM_DOUBT_LOSSY) << machine.doubt_text("logged");
}

} // namespace
} // namespace shmbloom::test
