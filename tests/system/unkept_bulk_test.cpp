// What came in bulk is in no journal: whoever declares a filter live, or goes back to an earlier generation, loses none
// of it.
#include <csignal>
#include <regex>

#include "growth.h"

namespace shmbloom::test {
namespace {

class UnkeptBulk : public Growth {
  protected:
    // Cut off: nothing of it was acknowledged by an end.
    void load_and_cut_off(std::uint64_t from, std::uint64_t count) {
        FilterWire wire{instance, "links"};
        ASSERT_EQ(wire.load({"BEGIN"}).text, "OK");
        wire.bulk_range(from, count);
        // Taken, and then set by threads.
        ASSERT_TRUE(eventually([&] { return std::stoull(info("estimated_keys")) >= count * 96 / 100; }));
    }
    void load_well(std::uint64_t from, std::uint64_t count) {
        FilterWire wire{instance, "links"};
        ASSERT_EQ(wire.load({"BEGIN"}).text, "OK");
        wire.bulk_range(from, count);
        ASSERT_FALSE(wire.load({"END"}).is_error());
    }
    void declare_live(std::uint64_t keys) {
        const auto reply = instance.wire().call({"SB.LIVE", "links", "EXPECT", std::to_string(keys)});
        ASSERT_EQ(reply.text, "OK");
    }
};

TEST_F(UnkeptBulk, OfALoadThatWasCutOffIsKeptWhenTheFilterIsDeclaredLive) {
    for (const bool is_restarted : {false, true}) {
        instance.start();
        create({});
        load_and_cut_off(0, 5000);
        if (is_restarted) { // and the new daemon must know of it
            instance.kill();
            instance.start();
        }
        declare_live(4800);
        expect_there(0, 5000);
        restart_without_segments();
        EXPECT_EQ(info("doubts"), "");
        expect_there(0, 5000);
        instance.must_ctl({"drop", "links", "--yes"});
        instance.stop();
    }
}

TEST_F(UnkeptBulk, OfALoadThatWasCutOffDoesNotGoWhenTheFilterGrows) {
    start();
    create({"GROWABLE"});
    load_and_cut_off(0, 5000);
    declare_live(4800);
    EXPECT_EQ(info("hash_list"), "incomplete");
    expect_blocked("incomplete");
    add(10'000, 15'000);
    EXPECT_EQ(capacity(), 20'000u);
    expect_there(0, 5000);
    expect_there(10'000, 15'000);
}

TEST_F(UnkeptBulk, OfALoadThatWasCutOffIsForgottenByAGoodOne) {
    start();
    create({"GROWABLE"});
    load_and_cut_off(0, 1000);
    load_well(0, 5000);
    EXPECT_EQ(info("live"), "1");
    EXPECT_EQ(info("hash_list"), "complete");
    ASSERT_FALSE(grow().is_error());
    expect_there(0, 5000);
}

TEST_F(UnkeptBulk, OfALoadThatWasCutOffKeepsTheFilterFromGrowingUntilItIsDecided) {
    start();
    create({"GROWABLE"}, "2000");
    load_and_cut_off(0, 1500);
    add(10'000, 1500);
    expect_blocked("cut off");
    expect_says(grow(), "RANGE", {"cut off", "load it again"});
    EXPECT_EQ(capacity(), 2000u);
    declare_live(2900);
    expect_there(0, 1500);
    expect_there(10'000, 1500);
}

// Of the source nobody knows whether it has them.
TEST_F(UnkeptBulk, IsNotLostByARebuildFromAnOlderSource) {
    start();
    create({});
    const std::string before = next_lsn();
    load_well(0, 2000);
    FilterWire wire{instance, "links"};
    expect_says(wire.rebuild({"BEGIN", "SINCE-SECONDS", "1800"}), "RANGE", {"loaded or imported", "began later"});
    expect_says(wire.rebuild({"BEGIN", "SINCE", before}), "RANGE", {"loaded or imported", "SINCE-SECONDS"});
    expect_there(0, 2000);
    ASSERT_FALSE(wire.rebuild({"BEGIN"}).is_error()); // what it lacks was deleted
    wire.bulk_range(1000, 1000);
    ASSERT_FALSE(wire.rebuild({"END", "SHRINK", "100"}).is_error());
    expect_there(1000, 1000);
    expect_gone(0, 1000);
}

TEST_F(UnkeptBulk, IsNotLostByARollback) {
    start();
    create({});
    load_and_cut_off(0, 10); // so that there is something to go back to, warming
    FilterWire wire{instance, "links"};
    ASSERT_TRUE(eventually([&] { return !wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error(); })); // its load is over
    wire.bulk_range(10'000, 1000);
    ASSERT_FALSE(wire.rebuild({"END", "SHRINK", "100"}).is_error());
    ASSERT_FALSE(wire.call("SB.ROLLBACK", {}).is_error());
    ASSERT_EQ(info("doubts"), "warming");
    load_well(0, 2000);
    expect_there(0, 2000);
    expect_says(wire.call("SB.ROLLBACK", {}), "RANGE", {"loaded or imported", "--union"});
    instance.kill(); // and it is not forgotten
    start();
    FilterWire again{instance, "links"};
    EXPECT_EQ(again.call("SB.ROLLBACK", {}).word(), "RANGE");
    const auto united = again.call("SB.ROLLBACK", {"UNION"});
    ASSERT_FALSE(united.is_error()) << united.text;
    expect_there(0, 2000);
    expect_there(10'000, 1000);
}

TEST_F(UnkeptBulk, IsRefusedByAFilterThatIsToRefuseWhenItIsFull) {
    start();
    create({"WHENFULL", "refuse"}, "1000");
    FilterWire wire{instance, "links"};
    ASSERT_EQ(wire.load({"BEGIN"}).text, "OK");
    ASSERT_FALSE(wire.bulk(wire.keys().range(0, 900)).is_error());
    const auto refused = wire.bulk(wire.keys().range(5000, 300));
    expect_says(refused, "FULL", {"1000 keys", "--capacity"});
    EXPECT_TRUE(std::regex_search(refused.text, std::regex{" (29[0-9]|300) new keys"})) << refused.text; // some "maybe"
    EXPECT_EQ(info("adds_refused"), "300");
    ASSERT_FALSE(wire.bulk(wire.keys().range(0, 900)).is_error()); // they are there
    const auto ended = wire.load({"END"}).fields();
    EXPECT_EQ(ended.at("live"), "1");
    EXPECT_EQ(ended.at("capacity"), "1000");
    ASSERT_FALSE(wire.rebuild({"BEGIN", "CAPACITY", "100", "OVERLAP", "0"}).is_error());
    wire.bulk_range(0, 900);
    expect_says(wire.rebuild({"END"}), "FULL", {"made for 100", "--capacity", "nothing changed"});
    EXPECT_EQ(capacity(), 1000u);
}

} // namespace
} // namespace shmbloom::test
