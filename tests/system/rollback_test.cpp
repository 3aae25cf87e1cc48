// Rollback: the content before the last rebuild, and every add since.
#include <ctime>

#include "generations.h"

namespace shmbloom::test {
namespace {

class Rollback : public Generations {
  protected:
    void SetUp() override {
        instance.start();
        create_live();
        add(0, 4000);
    }
    void rebuild(std::uint64_t from, std::uint64_t count, const std::vector<std::string> &more = {}) {
        FilterWire wire{instance, "links"};
        std::vector<std::string> begin{"BEGIN", "OVERLAP", "0"};
        begin.insert(begin.end(), more.begin(), more.end());
        ASSERT_FALSE(wire.rebuild(begin).is_error());
        wire.bulk_range(from, count);
        const auto ended = wire.rebuild({"END", "SHRINK", "100"});
        ASSERT_FALSE(ended.is_error()) << ended.text;
    }
    // What it replies.
    std::map<std::string, std::string> roll_back(const std::vector<std::string> &words = {}) {
        const auto reply = FilterWire{instance, "links"}.call("SB.ROLLBACK", words);
        EXPECT_FALSE(reply.is_error()) << reply.text;
        return reply.fields();
    }
    void snapshot() { ASSERT_FALSE(instance.wire().call({"SB.SNAPSHOT", "links"}).is_error()); }
    // Killed, with every segment lost: what the disk says.
    void lose_memory() {
        instance.kill();
        instance.remove_segments();
        instance.start();
        ASSERT_TRUE(eventually([&] { return worker->tell("ask never-added") == "0"; }));
    }
};

TEST_F(Rollback, BringsBackTheContentOfBeforeAndEveryAddSince) {
    for (const bool has_snapshot : {false, true}) {
        if (has_snapshot)
            snapshot();
        const std::string before = info("generation");
        add(5000, 100); // in no snapshot
        rebuild(10'000, 1000);
        add(6000, 100);
        expect_gone(0, 4000);
        EXPECT_EQ(info("previous_generation"), before);
        EXPECT_NEAR(std::stod(info("previous_until")), static_cast<double>(std::time(nullptr) + 7 * 86400), 60);
        const auto back = roll_back();
        EXPECT_EQ(back.at("live"), "1");
        EXPECT_EQ(back.at("generation"), info("generation"));
        EXPECT_EQ(back.at("lineage"), back.at("generation")); // a generation of its own: no number comes twice
        expect_there(0, 4000);
        expect_there(5000, 100);
        expect_there(6000, 100);
        expect_gone(10'000, 1000);
        expect_nothing_left_behind();
    }
}

TEST_F(Rollback, OfARollbackIsTheRebuildAgain) {
    rebuild(10'000, 1000);
    roll_back();
    add(6000, 100);
    roll_back();
    expect_there(10'000, 1000);
    expect_there(6000, 100);
    expect_gone(0, 4000);
    lose_memory();
    expect_there(10'000, 1000);
    expect_there(6000, 100);
    expect_gone(0, 4000);
    expect_nothing_left_behind();
}

TEST_F(Rollback, WithUnionHasBoth) {
    rebuild(10'000, 1000);
    add(6000, 100);
    roll_back({"UNION"});
    expect_there(0, 4000);
    expect_there(10'000, 1000);
    expect_there(6000, 100);
    expect_gone(1'000'000, 20'000);
    lose_memory();
    expect_there(0, 4000);
    expect_there(10'000, 1000);
    expect_there(6000, 100);
}

TEST_F(Rollback, ToAnotherGeometryIsNoUnion) {
    rebuild(10'000, 1000, {"CAPACITY", "50000"});
    const auto before = state();
    expect_says(FilterWire{instance, "links"}.call("SB.ROLLBACK", {"UNION"}), "RANGE",
                {"another geometry", "without --union"});
    EXPECT_EQ(state(), before);
    EXPECT_EQ(roll_back().at("capacity"), "20000");
    expect_there(0, 4000);
    expect_gone(10'000, 1000);
}

TEST_F(Rollback, WithoutAPreviousGenerationIsRefused) {
    const auto before = state();
    expect_says(FilterWire{instance, "links"}.call("SB.ROLLBACK", {}), "NOTFOUND",
                {"no previous generation", "rebuild"});
    expect_says(FilterWire{instance, "links"}.call("SB.ROLLBACK", {"BOTH"}), "ERR", {"usage"});
    EXPECT_EQ(instance.wire().call({"SB.ROLLBACK", "lonks"}).word(), "NOTFOUND");
    EXPECT_EQ(state(), before);
}

TEST_F(Rollback, IsPossibleAfterARestartAndAfterTheJournalWasTrimmedAsFarAsItMay) {
    snapshot();
    add(5000, 100);
    rebuild(10'000, 1000);
    add(6000, 100);
    for (int i = 0; i < 2; i++) {
        instance.stop();
        instance.start({"--journal-retention", "0"});
        add(7000 + 100 * static_cast<std::uint64_t>(i), 100);
        snapshot();
    }
    lose_memory();
    expect_there(10'000, 1000);
    expect_there(7000, 200);
    roll_back();
    expect_there(0, 4000);
    expect_there(5000, 100);
    expect_there(6000, 100);
    expect_there(7000, 200);
    expect_gone(10'000, 1000);
    lose_memory();
    expect_there(0, 4000);
    expect_there(5000, 100);
    expect_there(6000, 100);
    expect_there(7000, 200);
}

// A filter that was warming or in doubt before is so again; paused is a matter of now.
TEST_F(Rollback, BringsBackTheDoubtsOfBefore) {
    instance.create("new", {"CAPACITY", "20000", "FPR", "1e-3"});
    FilterWire wire{instance, "new"};
    ASSERT_FALSE(wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error());
    wire.bulk_range(0, 1000);
    ASSERT_EQ(wire.rebuild({"END"}).fields().at("live"), "1");
    ASSERT_EQ(wire.call("SB.ROLLBACK", {}).fields().at("doubts"), "warming");
    Worker fresh = instance.worker();
    fresh.open("new");
    EXPECT_EQ(fresh.count("base62", 0, 1000).unverified, 1000u);

    rebuild(10'000, 1000);
    instance.must_ctl({"pause", "links"});
    EXPECT_EQ(roll_back().at("doubts"), "paused");
    instance.must_ctl({"resume", "links"});
    ASSERT_TRUE(eventually([&] { return worker->tell("ask never-added") == "0"; }));
    expect_there(0, 4000);
}

TEST_F(Rollback, WhoseSnapshotIsDamagedChangesNothing) {
    snapshot();
    rebuild(10'000, 1000);
    const auto before = state();
    for (const auto &entry : std::filesystem::directory_iterator{filter_folder()}) {
        std::fstream file{entry.path(), std::ios::in | std::ios::out | std::ios::binary};
        file.seekp(5000);
        file.put('\x5a');
        file.put('\xa5');
    }
    expect_says(FilterWire{instance, "links"}.call("SB.ROLLBACK", {}), "IO", {"nothing changed", "snapshot"});
    EXPECT_EQ(state(), before);
    expect_there(10'000, 1000);
    expect_gone(0, 4000);
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

} // namespace
} // namespace shmbloom::test
