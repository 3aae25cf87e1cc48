// The wall clock is set forward and back, while the daemon runs and while it does not: order is by LSN, and durations
// are as long as they are.
#include <gtest/gtest.h>

#include <random>

#include "machine.h"
#include "sys/clock.h"

namespace shmbloom::test {
namespace {

constexpr auto kDurable = SHMBLOOM_DURABILITY_DURABLE;
constexpr auto kLogged = SHMBLOOM_DURABILITY_LOGGED;
constexpr std::int64_t kHour_s = 3600, kYear_s = 365 * 24 * kHour_s;

class ClockJumps : public testing::Test {
  protected:
    ~ClockJumps() override {
        shift_wall_clock(-shifted);
        read_wall_clock();
    }
    void jump(std::int64_t seconds) {
        shift_wall_clock(seconds);
        shifted += seconds;
    }
    void start() {
        machine.start();
        for (const auto &[name, durability] : {std::pair{"durable", kDurable}, std::pair{"logged", kLogged}})
            ASSERT_FALSE(machine.wait(machine.create(name, durability)).failure);
    }
    void add(const std::string &name, std::size_t count = 5) {
        ASSERT_FALSE(machine.wait(machine.add(name, machine.fresh(count))).failure);
    }
    void snapshot(const std::string &name = "*") { ASSERT_FALSE(machine.wait(machine.snapshot(name)).failure); }
    void lose_power() {
        const auto image = machine.lose_power({.keep_nothing = true}, "now");
        machine.reboot_with(image);
        machine.start();
        Machine::remove(image);
        ASSERT_EQ(lines(machine.broken(image.promises)), "");
    }
    std::optional<Failure> begin_load(std::uint64_t overlap_s) {
        auto failure = machine.instance().begin_load(7, "logged", overlap_s);
        if (!failure) {
            EXPECT_FALSE(machine.instance().abort_load(7, "logged"));
        }
        return failure;
    }
    std::size_t journal_files() { return machine.instance().journal().files().all().size(); }
    std::uint64_t since(const std::string &name, std::uint32_t doubt) {
        return machine.instance().find(name)->record.doubts.at(doubt).since;
    }

    Machine machine;
    std::int64_t shifted = 0;
};

TEST_F(ClockJumps, AtAnyMomentTakeNothingThatWasAcknowledged) {
    const std::uint64_t seed = random_seed();
    std::mt19937_64 random{seed};
    machine.options.journal_retention.seconds = kHour_s;
    machine.options.journal_retention.limit_bytes = 16 << 10;
    start();
    const std::int64_t jumps[] = {1, -1, kHour_s, -kHour_s, kYear_s, -kYear_s};
    for (std::uint64_t step = 0; step < rounds(150, 3000) && !HasFatalFailure(); step++) {
        SCOPED_TRACE("step " + std::to_string(step));
        // From some years before its true place to some after.
        if (const std::int64_t by = jumps[random() % 6]; std::abs(shifted + by) < 5 * kYear_s)
            jump(by);
        add("durable", 1 + random() % 20);
        add("logged", 1 + random() % 20);
        switch (random() % 8) {
        case 0:
            snapshot();
            break;
        case 1:
            lose_power();
            break;
        case 2:
            machine.kill();
            machine.lose_segments();
            machine.start();
            ASSERT_EQ(lines(machine.broken(machine.promises())), "");
            break;
        default:
            machine.beat();
        }
    }
    lose_power();
}

// Retention is real time while the daemon runs; after a start it may be shorter, and what is needed is needed.
TEST_F(ClockJumps, TrimNoFileThatIsNeededNorOneThatIsYoung) {
    machine.options.journal_retention.seconds = kHour_s;
    start();
    snapshot();
    snapshot();
    for (int i = 0; i < 40; i++) {
        add("durable");
        add("logged");
    }
    const std::size_t before = journal_files();
    ASSERT_GT(before, 2u);
    for (const std::int64_t by : {kYear_s, -2 * kYear_s, kYear_s}) {
        jump(by);
        machine.beat();
        EXPECT_EQ(journal_files(), before);
    }
    jump(kYear_s);
    lose_power(); // and a start believes the clock
    for (int i = 0; i < 3; i++)
        machine.beat();
    EXPECT_GE(journal_files(), before);
    snapshot();
    add("durable");
    lose_power();
    snapshot(); // two that begin above: now they are old and of no use
    add("durable");
    EXPECT_TRUE(machine.beat_until([&] { return journal_files() < before; }));
    lose_power();
}

TEST_F(ClockJumps, BackAYearBeforeAStartKeepNoFileForAYear) {
    machine.options.journal_retention.seconds = 1;
    start();
    for (int i = 0; i < 40; i++)
        add("durable");
    jump(-kYear_s);
    lose_power();
    const std::size_t before = journal_files();
    ASSERT_GT(before, 2u);
    snapshot();
    snapshot();
    add("durable");
    EXPECT_TRUE(machine.beat_until([&] { return journal_files() < before; }, 5000));
    lose_power();
}

TEST_F(ClockJumps, ForwardLeaveADropItsDay) {
    start();
    add("durable", 100);
    const auto hashes = machine.promises().filters.at("durable").hashes;
    ASSERT_FALSE(machine.wait(machine.drop("durable")).failure);
    ASSERT_TRUE(machine.beat_until(
        [&] { return machine.instance().snapshotter().running() == 0; })); // its bits are on the disk
    jump(kYear_s);
    for (int i = 0; i < 3; i++)
        machine.beat();
    // Also when the next start believes that a year has passed.
    machine.reboot();
    machine.start();
    for (int i = 0; i < 3; i++)
        machine.beat();
    const auto answer = std::make_shared<Answer>();
    machine.instance().undrop("durable", [answer](std::optional<Failure> failure) { *answer = {true, failure, ""}; });
    ASSERT_FALSE(machine.wait(answer).failure);
    for (const std::uint64_t hash : hashes)
        EXPECT_TRUE(machine.instance().find("durable")->segment->contains(hash));
}

// Else a load could begin before what was lost is in its source.
TEST_F(ClockJumps, ForwardEndNoOverlapEarly) {
    start();
    add("logged");
    lose_power();
    ASSERT_EQ(machine.doubts("logged"), SHMBLOOM_DOUBT_LOSSY);
    EXPECT_TRUE(begin_load(kHour_s));
    jump(kYear_s);
    EXPECT_TRUE(begin_load(kHour_s));
    jump(-2 * kYear_s);
    EXPECT_TRUE(begin_load(kHour_s));
    EXPECT_FALSE(begin_load(0));
}

// A doubt that seems to come from the future happened before this start.
TEST_F(ClockJumps, BackBeforeAStartMakeADoubtNoYounger) {
    start();
    add("logged");
    lose_power();
    jump(-kYear_s);
    machine.kill();
    machine.start();
    ASSERT_EQ(machine.doubts("logged"), SHMBLOOM_DOUBT_LOSSY);
    EXPECT_LE(since("logged", SHMBLOOM_DOUBT_LOSSY), unix_seconds());
    EXPECT_GE(since("logged", SHMBLOOM_DOUBT_LOSSY), unix_seconds() - 60);
    EXPECT_TRUE(begin_load(kHour_s));
    EXPECT_FALSE(begin_load(0));
}

// What `load --all-doubted` reads from on: of no use when it lies in the future.
TEST_F(ClockJumps, BackBeforeAStartSaysNothingOfWhatIsComplete) {
    start();
    const auto complete_until = [&](std::int64_t by) {
        const std::string name = "logged" + std::to_string(by);
        EXPECT_FALSE(machine.wait(machine.create(name, kLogged)).failure);
        add(name);
        const Journal &journal = machine.instance().journal();
        for (int i = 0; i < 2; i++) { // the second marker says that what is before the first is durable
            machine.beat();
            EXPECT_TRUE(machine.beat_until([&] { return journal.durable() == journal.next(); }));
        }
        add("durable"); // and so does this, if there was but one
        jump(by);
        lose_power();
        return machine.instance().find(name)->complete_until;
    };
    EXPECT_NE(complete_until(0), 0u);
    EXPECT_NE(complete_until(kYear_s), 0u);
    EXPECT_EQ(complete_until(-kYear_s), 0u);
}

} // namespace
} // namespace shmbloom::test
