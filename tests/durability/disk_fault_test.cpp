// A disk that refuses: each operation in turn, while adds, snapshots, creates, drops and stops go on. What was acknowledged
// is there after a restart, what was not says why, and when the disk is well again everything goes on by itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "machine.h"

namespace shmbloom::test {
namespace {

using Operation = SimulatedDisk::Operation;

constexpr auto kDurable = SHMBLOOM_DURABILITY_DURABLE;
constexpr auto kLogged = SHMBLOOM_DURABILITY_LOGGED;

struct Fault {
    Operation operation;
    int error;
    const char *name;
};

const std::vector<Fault> kFaults{
    {Operation::open, EIO, "open EIO"},        {Operation::open, ENOSPC, "open ENOSPC"},
    {Operation::write, EIO, "write EIO"},      {Operation::write, ENOSPC, "write ENOSPC"},
    {Operation::write, 0, "write short"},      {Operation::allocate, ENOSPC, "allocate ENOSPC"},
    {Operation::sync, EIO, "sync EIO"},        {Operation::sync, ENOSPC, "sync ENOSPC"},
    {Operation::rename, EIO, "rename EIO"},    {Operation::unlink, EIO, "unlink EIO"},
};

class Trial {
  public:
    // Whatever fails must say IO or NOSPC; its bits stay visible.
    void add(const std::string &name) {
        const auto hashes = machine.fresh(3);
        const Answer answer = machine.wait(machine.add(name, hashes));
        if (!answer.failure)
            return;
        refused++;
        EXPECT_TRUE(std::string_view{answer.failure->word} == "IO" || std::string_view{answer.failure->word} == "NOSPC")
            << answer.failure->word;
        for (const std::uint64_t hash : hashes)
            EXPECT_TRUE(machine.instance().find(name)->segment->contains(hash)) << "a refused add's bits";
    }
    void create(const std::string &name, std::uint32_t durability) {
        const Answer answer = machine.wait(machine.create(name, durability));
        if (answer.failure)
            refused++;
    }
    void work() {
        for (int i = 0; i < 6; i++)
            for (const char *name : {"durable", "logged"})
                add(name);
        refused += machine.wait(machine.snapshot("durable")).failure.has_value();
        create("passing", kDurable);
        if (machine.instance().find("passing") != nullptr) {
            add("passing");
            refused += machine.wait(machine.drop("passing")).failure.has_value();
        }
        machine.beat();
        for (int i = 0; i < 6; i++)
            for (const char *name : {"durable", "logged"})
                add(name);
        refused += machine.wait(machine.snapshot("logged")).failure.has_value();
        machine.beat();
    }
    bool is_degraded() {
        return (machine.instance().find("durable")->warnings & SHMBLOOM_WARNING_DEGRADED) != 0;
    }
    bool takes_adds() {
        for (const char *name : {"durable", "logged"})
            if (machine.wait(machine.add(name, machine.fresh(1))).failure)
                return false;
        return true;
    }
    void begin() {
        machine.start();
        for (const auto &[name, durability] : {std::pair{"durable", kDurable}, std::pair{"logged", kLogged}})
            ASSERT_FALSE(machine.wait(machine.create(name, durability)).failure);
        ASSERT_TRUE(takes_adds());
    }
    // Kill and loss of the memory; then loss of power.
    void expect_kept(bool may_be_in_doubt) {
        machine.kill();
        machine.lose_segments();
        machine.start();
        EXPECT_EQ(lines(machine.broken(machine.promises(), !may_be_in_doubt)), "") << "in the same boot";
        const auto image = machine.lose_power({.keep_nothing = true}, "after the fault");
        machine.reboot_with(image);
        machine.start();
        EXPECT_EQ(lines(machine.broken(machine.promises(), !may_be_in_doubt)), "") << "in another boot";
        Machine::remove(image);
    }

    Machine machine;
    std::size_t refused = 0;
};

class EachFault : public testing::TestWithParam<Fault> {};

// The nth such operation from now and `count` - 1 behind it, for as many n as there are in the work.
void expect_nothing_lost(const Fault &fault, std::uint64_t nth, std::uint64_t count) {
    SCOPED_TRACE(std::string{fault.name} + ", number " + std::to_string(nth) + ", times " + std::to_string(count));
    Trial run;
    run.begin();
    run.machine.disk().fail(fault.operation, nth, fault.error, count);
    run.work();
    run.machine.disk().end_faults();
    // Within a few beats; a snapshot that failed is not tried again for a minute, so that `degraded` may stay so long.
    EXPECT_TRUE(run.machine.beat_until([&] { return run.takes_adds(); }, 5));
    const bool sync_failed = run.machine.instance().registry().degraded.since != 0;
    if (!sync_failed) {
        EXPECT_TRUE(run.machine.beat_until([&] { return !run.is_degraded(); }));
    }
    run.expect_kept(fault.operation == Operation::sync);
}

TEST_P(EachFault, LosesNothingWhenItHappensOnce) {
    for (std::uint64_t nth = 1; nth <= rounds(24, 90) && !HasFailure(); nth++)
        expect_nothing_lost(GetParam(), nth, 1);
}

TEST_P(EachFault, LosesNothingWhenItLasts) {
    for (std::uint64_t nth = 1; nth <= rounds(24, 90) && !HasFailure(); nth += 3)
        expect_nothing_lost(GetParam(), nth, 1'000'000);
}

INSTANTIATE_TEST_SUITE_P(DiskFault, EachFault, testing::ValuesIn(kFaults), [](const auto &which) {
    std::string name = which.param.name;
    std::ranges::replace(name, ' ', '_');
    return name;
});

// Degraded while it fails, and not once every filter has a full snapshot.
TEST(DiskFault, WarningComesAndGoesWithAFailedSync) {
    Trial run;
    run.machine.file_bytes = 64 << 10;
    run.begin();
    run.machine.disk().fail(Operation::sync, 1, EIO, 1, "/journal/");
    run.add("durable");
    EXPECT_EQ(run.refused, 1u);
    run.machine.instance().beat();
    EXPECT_TRUE(run.is_degraded());
    EXPECT_TRUE(run.machine.beat_until([&] { return !run.is_degraded(); }));
    run.expect_kept(false);
    EXPECT_EQ(run.machine.doubts("durable"), 0u);
}

// The data of a failed sync is acknowledged by no later sync of that file.
TEST(DiskFault, FailedSyncIsFollowedByAnotherFile) {
    Trial run;
    run.machine.file_bytes = 64 << 10;
    run.begin();
    const auto before = run.machine.instance().journal().files().all().back().record.number;
    run.machine.disk().fail(Operation::sync, 1, EIO, 1, "/journal/");
    run.add("durable");
    EXPECT_EQ(run.refused, 1u);
    run.add("durable");
    EXPECT_EQ(run.refused, 1u);
    EXPECT_GT(run.machine.instance().journal().files().all().back().record.number, before);
}

TEST(DiskFault, FullDiskSaysNospcAndGoesOnByItselfWhenThereIsRoom) {
    Trial run;
    run.begin();
    run.machine.disk().fail(Operation::allocate, 1, ENOSPC, 1'000'000);
    Answer answer;
    for (int i = 0; i < 200 && !answer.failure; i++)
        answer = run.machine.wait(run.machine.add("durable", run.machine.fresh(5)));
    ASSERT_TRUE(answer.failure);
    EXPECT_STREQ(answer.failure->word, "NOSPC");
    run.machine.instance().beat();
    EXPECT_TRUE(run.is_degraded());
    run.machine.disk().end_faults();
    EXPECT_TRUE(run.machine.beat_until([&] { return run.takes_adds() && !run.is_degraded(); }));
    run.expect_kept(false);
}

TEST(DiskFault, StopThatCannotSyncIsNotClean) {
    Trial run;
    run.machine.file_bytes = 64 << 10;
    run.begin();
    run.add("logged");
    run.machine.disk().fail(Operation::sync, 1, EIO, 1, "/journal/");
    EXPECT_TRUE(run.machine.wait(run.machine.stop()).failure);
    EXPECT_FALSE(run.machine.registry_on_disk().clean_stop);
    run.expect_kept(true);
    EXPECT_NE(run.machine.doubts("logged"), 0u);
}

// A start that fails half-way leaves nothing in the way of the next.
TEST(DiskFault, OfAStartIsOverWithTheNext) {
    for (const Fault &fault : kFaults)
        for (std::uint64_t nth = 1; nth <= rounds(12, 40); nth++) {
            SCOPED_TRACE(std::string{fault.name} + ", number " + std::to_string(nth));
            Trial run;
            run.begin();
            run.work();
            const auto image = run.machine.lose_power({.keep_nothing = true}, "before");
            run.machine.reboot_with(image);
            run.machine.disk().fail(fault.operation, nth, fault.error);
            try {
                run.machine.start();
            } catch (const std::exception &) {
                run.machine.kill();
            }
            run.machine.disk().end_faults();
            run.machine.kill();
            run.machine.start(); // the same boot
            EXPECT_EQ(lines(run.machine.broken(run.machine.promises(), fault.operation != Operation::sync)), "");
            EXPECT_TRUE(run.machine.beat_until([&] { return run.takes_adds(); }, 3)) << "adds are refused for good";
            run.expect_kept(fault.operation == Operation::sync);
            if (testing::Test::HasFailure())
                return;
        }
}

} // namespace
} // namespace shmbloom::test
