#include "service/registry_writer.h"

#include <filesystem>
#include <gtest/gtest.h>

#include "sys/log.h"
#include "temp_folder.h"
#include "test_loop.h"

namespace shmbloom {
namespace {

class Writer : public testing::Test {
  protected:
    Writer() { log::set_level(log::Level::critical); } // the failures here are meant
    ~Writer() override { log::set_level(log::Level::info); }

    // What a caller of commit is told.
    struct Told {
        int durable = 0;
        int failed = 0;
        std::string error;
    };

    RegistryWriter::Change change(Told &told) {
        return {.durable = [&told] { told.durable++; },
                .failed =
                    [&told](const std::string &error) {
                        told.failed++;
                        told.error = error;
                    }};
    }

    // A folder in the place of the temporary file: not even root can write there.
    void break_disk() { std::filesystem::create_directory(path + "/registry.json.new"); }
    void mend_disk() { std::filesystem::remove(path + "/registry.json.new"); }

    std::uint64_t on_disk() { return state.read_registry().value().next_generation; }

    const test::TempFolder temp;
    const std::string path = temp / "state";
    const StateFolder state{path, "test"};
    TestLoop loop;
    std::uint64_t next_generation = 1;
    int snapshots = 0;
    RegistryWriter writer{state, loop.post(), [this] {
                              snapshots++;
                              Registry registry;
                              registry.next_generation = next_generation;
                              return registry;
                          }};
};

TEST_F(Writer, TellsWhenAChangeIsOnTheDisk) {
    Told told;
    next_generation = 7;
    writer.commit(change(told));
    EXPECT_EQ(told.durable, 0);
    loop.run_one();
    EXPECT_EQ(told.durable, 1);
    EXPECT_EQ(told.failed, 0);
    EXPECT_EQ(on_disk(), 7u);
    EXPECT_FALSE(writer.is_failing());
}

TEST_F(Writer, WritesOneAtATimeAndTakesTogetherWhatCameMeanwhile) {
    Told first, second, third;
    next_generation = 1;
    writer.commit(change(first));
    loop.wait(); // the first write is done, the loop has not heard of it
    next_generation = 2;
    writer.commit(change(second));
    next_generation = 3;
    writer.commit(change(third));
    EXPECT_EQ(snapshots, 1);
    EXPECT_EQ(on_disk(), 1u);
    loop.run_one();
    EXPECT_EQ(first.durable, 1);
    EXPECT_EQ(second.durable + third.durable, 0);
    EXPECT_EQ(snapshots, 2);
    loop.run_one();
    EXPECT_EQ(second.durable, 1);
    EXPECT_EQ(third.durable, 1);
    EXPECT_EQ(snapshots, 2); // one write for both
    EXPECT_EQ(on_disk(), 3u);
    EXPECT_TRUE(loop.is_idle());
}

TEST_F(Writer, TakesAChangeThatADurableOneAsksFor) {
    Told second;
    writer.commit({.durable =
                       [&] {
                           next_generation = 2;
                           writer.commit(change(second));
                       },
                   .failed = nullptr});
    loop.run_until([&] { return second.durable == 1; });
    EXPECT_EQ(on_disk(), 2u);
    EXPECT_EQ(snapshots, 2);
    EXPECT_TRUE(loop.is_idle());
}

TEST_F(Writer, TellsAFailureOnceAndTheSuccessOnce) {
    Told told;
    break_disk();
    next_generation = 7;
    writer.commit(change(told));
    loop.run_one();
    EXPECT_EQ(told.failed, 1);
    EXPECT_EQ(told.durable, 0);
    EXPECT_NE(told.error.find("registry.json.new"), std::string::npos) << told.error;
    EXPECT_TRUE(writer.is_failing());
    EXPECT_EQ(writer.error(), told.error);
    writer.retry();
    loop.run_one(); // fails again
    EXPECT_EQ(told.failed, 1);
    mend_disk();
    writer.retry();
    loop.run_one();
    EXPECT_EQ(told.durable, 1);
    EXPECT_EQ(told.failed, 1);
    EXPECT_FALSE(writer.is_failing());
    EXPECT_EQ(on_disk(), 7u);
    writer.retry(); // nothing to do
    EXPECT_TRUE(loop.is_idle());
    EXPECT_EQ(snapshots, 3);
}

TEST_F(Writer, CarriesAFailedChangeInTheNextOnesWrite) {
    Told first, second;
    break_disk();
    writer.commit(change(first));
    loop.run_one();
    mend_disk();
    writer.commit(change(second)); // tries at once
    loop.run_one();
    EXPECT_EQ(first.failed, 1);
    EXPECT_EQ(first.durable, 1);
    EXPECT_EQ(second.failed, 0);
    EXPECT_EQ(second.durable, 1);
    EXPECT_FALSE(writer.is_failing());
}

TEST_F(Writer, LosesNoChangeThatCameDuringAWriteThatFailed) {
    Told first, second;
    break_disk();
    writer.commit(change(first));
    loop.wait();
    writer.commit(change(second));
    loop.run_one();
    EXPECT_EQ(first.failed, 1);
    EXPECT_EQ(second.failed + second.durable, 0);
    loop.run_one(); // nobody need ask for it: the second is told, too
    EXPECT_EQ(second.failed, 1);
    mend_disk();
    writer.retry();
    loop.run_one();
    EXPECT_EQ(first.durable, 1);
    EXPECT_EQ(second.durable, 1);
}

TEST_F(Writer, NeedsNobodyToTellOfAFailure) {
    bool durable = false;
    break_disk();
    writer.commit({.durable = [&] { durable = true; }, .failed = nullptr});
    loop.run_one();
    EXPECT_TRUE(writer.is_failing());
    mend_disk();
    writer.retry();
    loop.run_one();
    EXPECT_TRUE(durable);
}

// As a build does that gives up: it names no segment any more.
TEST_F(Writer, MayBeAskedAgainByThoseWhoAreToldOfAFailure) {
    Told again[64], behind[64];
    break_disk();
    writer.commit(change(again[0]));
    loop.wait(); // the others come together in the next write
    for (int i = 1; i < 64; i++) {
        writer.commit({.durable = [] {}, .failed = [&, i](const std::string &) { writer.commit(change(again[i])); }});
        writer.commit(change(behind[i]));
    }
    loop.run_one();
    writer.retry();
    loop.run_until([&] { return behind[63].failed == 1; });
    mend_disk();
    writer.retry();
    loop.run_until([&] { return again[63].durable == 1; });
    for (int i = 1; i < 64; i++) {
        EXPECT_EQ(behind[i].failed, 1) << i;
        EXPECT_EQ(again[i].durable, 1) << i;
    }
}

TEST_F(Writer, LeavesTheOldRegistryWhenItFails) {
    Told told;
    next_generation = 1;
    writer.commit(change(told));
    loop.run_one();
    break_disk();
    next_generation = 2;
    writer.commit(change(told));
    loop.run_one();
    EXPECT_EQ(on_disk(), 1u);
}

} // namespace
} // namespace shmbloom
