// Rebuilds that must not switch: guards, faults, interruptions. Nothing changes by them, and the next one can begin.
#include <csignal>

#include "generations.h"

namespace shmbloom::test {
namespace {

using Words = std::vector<std::string>;

const Words kBegin{"BEGIN", "OVERLAP", "0"};

class RebuildRefused : public Generations {
  protected:
    static constexpr std::uint64_t kKeys = 4000;

    void SetUp() override {
        instance.start();
        create_live();
        add(0, kKeys);
        before_ = state();
    }
    FilterWire begun(const Words &words = kBegin) {
        FilterWire wire{instance, "links"};
        const auto reply = wire.rebuild(words);
        EXPECT_FALSE(reply.is_error()) << reply.text;
        return wire;
    }
    void expect_nothing_changed() {
        EXPECT_TRUE(eventually([&] { return info("building").empty(); }));
        EXPECT_EQ(state(), before_);
        expect_there(0, kKeys);
        expect_gone(1'000'000, 10'000);
        expect_nothing_left_behind();
    }
    // That, and a good one goes through.
    void expect_nothing_changed_and_can_be_rebuilt() {
        expect_nothing_changed();
        FilterWire wire = begun();
        wire.bulk_range(0, kKeys - 100);
        const auto ended = wire.rebuild({"END"});
        ASSERT_FALSE(ended.is_error()) << ended.text;
        expect_there(0, kKeys - 100);
        expect_gone(kKeys - 100, 100);
    }

    bool has_snapshot() { return !filter_files(".snapshot").empty(); }

  private:
    std::map<std::string, std::string> before_;
};

TEST_F(RebuildRefused, AnEmptyStream) {
    FilterWire wire = begun({"BEGIN"}); // not even with the adds of the overlap
    expect_says(wire.rebuild({"END", "SHRINK", "100", "EXPECT", "0"}), "RANGE", {"no key", "nothing changed"});
    expect_says(wire.rebuild({"END"}), "ERR", {"no rebuild", "BEGIN first"}); // it is over
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, AShrunkenStream) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys * 85 / 100);
    const auto refused = wire.rebuild({"END"});
    expect_says(refused, "RANGE", {"more than 10 % fewer", "--allow-shrink PERCENT (SHRINK)", "nothing changed"});
    expect_nothing_changed();
    FilterWire second = begun();
    second.bulk_range(0, kKeys * 85 / 100);
    ASSERT_FALSE(second.rebuild({"END", "SHRINK", "20"}).is_error());
    expect_there(0, kKeys * 85 / 100);
}

// Of keys that come twice the estimate knows, the count does not.
TEST_F(RebuildRefused, AStreamThatRepeatsItself) {
    FilterWire wire = begun();
    for (int i = 0; i < 5; i++)
        wire.bulk_range(0, kKeys / 4);
    expect_says(wire.rebuild({"END", "EXPECT", std::to_string(kKeys)}), "RANGE", {"% fewer"});
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, FewerKeysThanExpected) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys);
    expect_says(wire.rebuild({"END", "EXPECT", std::to_string(kKeys + 1)}), "RANGE",
                {std::to_string(kKeys) + " keys", std::to_string(kKeys + 1), "nothing changed"});
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, KeysThatMustBeThereAndAreNot) {
    FilterWire wire = begun();
    EXPECT_EQ(wire.must(wire.keys().range(kKeys - 3, 5)).text, "5");
    EXPECT_EQ(wire.must(wire.keys().range(0, 2)).text, "2");
    wire.bulk_range(0, kKeys);
    expect_says(wire.rebuild({"END"}), "RANGE", {"2 of 7 keys", "missing: 3,4", "nothing changed"});
    expect_nothing_changed();
    // Added meanwhile is there, too; and of many the first twenty are named.
    FilterWire second = begun();
    second.must(second.keys().range(kKeys, 3));
    second.bulk_range(0, kKeys);
    add(kKeys, 3);
    ASSERT_FALSE(second.rebuild({"END"}).is_error());
    FilterWire third = begun();
    third.must(third.keys().range(0, 30));
    third.bulk_range(1000, kKeys);
    expect_says(third.rebuild({"END", "SHRINK", "100"}), "RANGE",
                {"30 of 30", "missing: 0,1,2,", ",18,19; nothing changed"});
}

TEST_F(RebuildRefused, ADryRun) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys - 100);
    const auto tried = wire.rebuild({"END", "DRYRUN"}).fields();
    EXPECT_EQ(tried.at("switched"), "0");
    EXPECT_EQ(tried.at("keys"), std::to_string(kKeys - 100));
    EXPECT_NEAR(std::stod(tried.at("estimated_keys")), kKeys - 100, 200);
    EXPECT_EQ(tried.at("generation"), info("generation"));
    EXPECT_EQ(tried.at("live"), "1");
    expect_nothing_changed();
    FilterWire second = begun(); // and its guards are those of a real one
    second.bulk_range(0, 10);
    expect_says(second.rebuild({"END", "DRYRUN"}), "RANGE", {"% fewer"});
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, AnAbort) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys);
    EXPECT_EQ(wire.rebuild({"ABORT"}).text, "OK");
    expect_says(wire.rebuild({"ABORT"}), "ERR", {"BEGIN first"});
    expect_says(wire.bulk(wire.keys().range(0, 10)), "ERR", {"BEGIN first"});
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, AConnectionThatClosesInTheMiddle) {
    {
        FilterWire wire = begun();
        wire.bulk_range(0, kKeys);
    }
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, HashesOfAnotherDomain) {
    FilterWire wire = begun();
    expect_says(wire.bulk(wire.keys().range(0, 100), "0123456789abcdef"), "STALE", {});
    expect_says(wire.wire().call({"SB.REBUILD", "links", "MUST", "0123456789abcdef", "12345678"}), "STALE", {});
    expect_says(wire.rebuild({"END", "SHRINK", "100"}), "RANGE", {"no key"});
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, WordsThatSayNothingSensible) {
    FilterWire wire{instance, "links"};
    for (const Words &words :
         {Words{"BEGIN", "CAPACITY", "0"}, Words{"BEGIN", "CAPACITY", "many"}, Words{"BEGIN", "FPR", "0.7"},
          Words{"BEGIN", "LAYOUT", "round"}, Words{"BEGIN", "SINCE", "0"}, Words{"BEGIN", "SINCE", "99999999"},
          Words{"BEGIN", "OVERLAP", "-1"}, Words{"BEGIN", "SINCE-SECONDS", "99999999999"},
          Words{"BEGIN", "SNAPSHOT", "../1"}, Words{"BEGIN", "SINCE", "1", "SINCE-SECONDS", "1"},
          Words{"BEGIN", "SIZE", "1"}})
        expect_says(wire.rebuild(words), "RANGE", {});
    for (const Words &words : {Words{"BEGIN", "OVERLAP"}, Words{"MUST"}, Words{"ENDE"}, Words{"ABORT", "NOW"}})
        expect_says(wire.rebuild(words), "ERR", {"usage"});
    for (const Words &words : {Words{"END"}, Words{"ABORT"}})
        expect_says(wire.rebuild(words), "ERR", {"BEGIN first"});
    EXPECT_EQ(instance.wire().call({"SB.REBUILD", "lonks", "BEGIN"}).word(), "NOTFOUND");
    ASSERT_FALSE(wire.rebuild(kBegin).is_error());
    expect_says(wire.rebuild({"END", "EXPECT"}), "RANGE", {"usage"}); // the rebuild is open still
    expect_says(wire.rebuild({"END", "SHRINK", "101"}), "RANGE", {"usage"});
    EXPECT_EQ(wire.rebuild({"ABORT"}).text, "OK");
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, ASecondOneSaysWhoAndSinceWhenOfTheFirst) {
    FilterWire first = begun();
    const std::string since = info("building_since");
    FilterWire second{instance, "links"};
    expect_says(
        second.rebuild(kBegin), "BUSY",
        {"a rebuild of filter 'links' is under way since", "UTC", "begun by pid " + std::to_string(::getpid())});
    expect_says(first.rebuild(kBegin), "BUSY", {"under way"}); // nor on its own connection
    expect_says(second.rebuild({"END"}), "ERR", {"BEGIN first"});
    expect_says(second.bulk(second.keys().range(0, 10)), "ERR", {"BEGIN first"});
    expect_says(second.call("SB.ROLLBACK", {}), "BUSY", {"under way"});
    expect_says(second.call("SB.IMPORT", {"nothing"}), "RANGE", {"not imported"});
    EXPECT_EQ(info("building_since"), since);
    first.bulk_range(0, kKeys);
    ASSERT_FALSE(first.rebuild({"END"}).is_error());
    EXPECT_FALSE(second.rebuild(kBegin).is_error());
}

TEST_F(RebuildRefused, WhileALoadInBulkIsOpen) {
    instance.create("new", {"CAPACITY", "20000", "FPR", "1e-3"});
    FilterWire load{instance, "new"}, rebuild{instance, "new"};
    ASSERT_EQ(load.load({"BEGIN"}).text, "OK");
    load.bulk_range(0, 1000);
    expect_says(rebuild.rebuild(kBegin), "BUSY", {"load"});
    ASSERT_EQ(load.load({"END"}).fields().at("live"), "1");
    ASSERT_FALSE(rebuild.rebuild(kBegin).is_error());
    ASSERT_EQ(rebuild.rebuild({"ABORT"}).text, "OK");
    expect_nothing_changed();
}

// An LSN of before a restart says nothing of the time before it; and what was trimmed cannot be replayed.
TEST_F(RebuildRefused, WhenTheJournalDoesNotReachBack) {
    add(0, 1); // known anyhow
    instance.stop();
    instance.start({"--journal-retention", "0"});
    FilterWire wire{instance, "links"};
    expect_says(wire.rebuild({"BEGIN", "SINCE", "1"}), "RANGE", {"older than this daemon", "SINCE-SECONDS"});
    const auto reaches = [&](const Words &words) {
        (void)instance.daemon().log(); // each is a line there: a pipe that nobody reads stops the daemon
        const auto reply = wire.rebuild(words);
        if (!reply.is_error())
            EXPECT_EQ(wire.rebuild({"ABORT"}).text, "OK");
        else
            expect_says(reply, "RANGE", {"does not reach back", "--journal-retention", "--overlap"});
        return !reply.is_error();
    };
    add(0, 1); // a file of its own, so that the one of before can go
    ASSERT_FALSE(wire.call("SB.SNAPSHOT", {}).is_error());
    EXPECT_TRUE(eventually([&] { return !reaches({"BEGIN", "SINCE", "1", "OVERLAP", "0"}); }));
    EXPECT_FALSE(reaches({"BEGIN"}));
    EXPECT_FALSE(reaches({"BEGIN", "SINCE-SECONDS", "3600", "OVERLAP", "0"}));
    EXPECT_TRUE(reaches(kBegin));
    // Of a filter that is younger than all that was trimmed nothing is missing.
    instance.create("young", {"CAPACITY", "20000", "FPR", "1e-3", "NOTHING-EXISTS-YET"});
    EXPECT_FALSE((FilterWire{instance, "young"}.rebuild({"BEGIN"}).is_error()));
}

TEST_F(RebuildRefused, WhenItsSnapshotCannotBeWritten) {
    instance.kill();
    instance.start({}, {{"SHMBLOOM_FAIL", "sync:.snapshot:EIO:1:1"}});
    expect_there(0, 1);
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys);
    expect_says(wire.rebuild({"END"}), "IO", {"nothing changed", "no snapshot of the new generation"});
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, WhenTheRegistryCannotBeWrittenAtItsBegin) {
    const std::string blocker = instance.state_dir() + "/registry.json.new"; // a folder where the file should be
    std::filesystem::create_directory(blocker);
    FilterWire wire{instance, "links"};
    expect_says(wire.rebuild(kBegin), "IO", {"nothing changed", "registry"});
    add(kKeys, 10); // goes on meanwhile
    std::filesystem::remove(blocker);
    EXPECT_TRUE(eventually([&] { return info("warnings").empty(); }));
    expect_there(kKeys, 10);
    EXPECT_FALSE(wire.rebuild(kBegin).is_error());
    EXPECT_EQ(wire.rebuild({"ABORT"}).text, "OK");
    expect_nothing_left_behind();
}

// Either version may be on the disk then, so both are fed, and the switch comes when it can.
TEST_F(RebuildRefused, WhenTheRegistryCannotBeWrittenAtItsEndItIsDoneLater) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys - 100);
    const std::string blocker = instance.state_dir() + "/registry.json.new";
    std::filesystem::create_directory(blocker);
    expect_says(wire.rebuild({"END"}), "IO", {"is switched when the registry can be written"});
    add(10'000, 100);
    expect_there(0, kKeys);
    expect_there(10'000, 100);
    EXPECT_EQ(wire.rebuild(kBegin).word(), "BUSY");
    EXPECT_EQ(instance.segment_names().size(), 2u);
    std::filesystem::remove(blocker);
    ASSERT_TRUE(eventually([&] { return instance.segment_names().size() == 1; }));
    expect_there(0, kKeys - 100);
    expect_gone(kKeys - 100, 100);
    expect_there(10'000, 100);
    expect_nothing_left_behind();
    instance.kill();
    instance.start();
    expect_there(10'000, 100);
    expect_gone(kKeys - 100, 100);
}

// The record is of the generation that is to come, so its snapshot must be, too.
TEST_F(RebuildRefused, WhenTheRegistryCannotBeWrittenAtItsEndASnapshotIsOfTheNewGeneration) {
    for (const char *capacity : {"20000", "2000000"}) { // of the same size, and of a greater one
        add(0, 1); // the journal has its file before the registry cannot name one
        FilterWire wire = begun({"BEGIN", "OVERLAP", "0", "CAPACITY", capacity});
        wire.bulk_range(0, kKeys);
        wire.bulk_range(50'000, 100); // from nowhere but the source
        const std::string blocker = instance.state_dir() + "/registry.json.new";
        std::filesystem::create_directory(blocker);
        EXPECT_EQ(wire.rebuild({"END"}).word(), "IO");
        Wire other = instance.wire();
        other.send({"SB.SNAPSHOT", "links"});
        add(60'000, 100);
        EXPECT_EQ(other.receive().word(), "IO"); // its name cannot be written either
        std::filesystem::remove(blocker);
        ASSERT_TRUE(eventually([&] { return instance.segment_names().size() == 1; }));
        instance.kill();
        instance.remove_segments();
        instance.start();
        ASSERT_TRUE(eventually([&] { return worker->tell("ask never-added") == "0"; }));
        expect_there(0, kKeys);
        expect_there(50'000, 100);
        expect_there(60'000, 100);
    }
}

// It waits for a change that waits for the registry; the drop comes before it is looked at again.
TEST_F(RebuildRefused, ADropOfAFilterWhoseSwitchWaitsAnswersWhoWaitsForIt) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys);
    instance.must_ctl({"pause", "links"});
    const std::string blocker = instance.state_dir() + "/registry.json.new";
    std::filesystem::create_directory(blocker);
    EXPECT_EQ(instance.wire().call({"SB.RESUME", "links"}).word(), "IO");
    wire.wire().send({"SB.REBUILD", "links", "END"});
    ASSERT_TRUE(eventually([&] { return has_snapshot(); })); // it has come to its last step
    std::filesystem::remove(blocker);
    Wire other = instance.wire();
    Wire::Reply dropped;
    EXPECT_TRUE(eventually([&] { return (dropped = other.call({"SB.DROP", "links"})).word() != "BUSY"; }));
    EXPECT_EQ(dropped.text, "OK");
    (void)wire.wire().receive(); // switched before, or stopped: told in either case
    EXPECT_TRUE(eventually([&] { return instance.segment_names().empty(); }));
}

// Its name is in the registry for as long as it may come to stand.
TEST_F(RebuildRefused, AConnectionThatClosesWhileTheSegmentIsMadeLeavesNoSegmentBehind) {
    instance.stop();
    instance.start({"--shm-reserve", "0"}, {{"SHMBLOOM_CRASH_AT", "build.made"}});
    {
        FilterWire wire{instance, "links"};
        wire.wire().send(
            {"SB.REBUILD", "links", "BEGIN", "OVERLAP", "0", "CAPACITY", "50000000"}); // 100 ms for its memory
    }
    EXPECT_EQ(instance.daemon().wait().signal, SIGKILL);
    EXPECT_EQ(instance.segment_names().size(), 2u);
    instance.start();
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, AFilterThatIsDroppedMeanwhile) {
    FilterWire wire = begun();
    wire.bulk_range(0, kKeys);
    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_EQ(wire.bulk(wire.keys().range(0, 10)).word(), "NOTFOUND");
    EXPECT_TRUE(wire.rebuild({"END"}).is_error());
    EXPECT_TRUE(eventually([&] { return instance.segment_names().empty(); }));
    expect_unverified(0, 100);
    instance.create("links", {"CAPACITY", "20000", "FPR", "1e-3"});
    EXPECT_EQ(wire.rebuild({"END"}).word(), "ERR"); // the rebuild was of the other one
    EXPECT_FALSE(wire.rebuild(kBegin).is_error());
}

TEST_F(RebuildRefused, AStopOfTheDaemonInTheMiddle) {
    FilterWire wire = begun();
    wire.bulk_range(0, 1000);
    instance.stop();
    expect_there(0, kKeys);
    instance.start();
    EXPECT_THROW(wire.rebuild({"END"}), std::runtime_error);
    expect_nothing_changed_and_can_be_rebuilt();
}

TEST_F(RebuildRefused, AKilledDaemonInTheMiddle) {
    FilterWire wire = begun();
    wire.bulk_range(0, 1000);
    instance.kill();
    expect_there(0, kKeys);
    instance.start();
    expect_nothing_changed_and_can_be_rebuilt();
}

} // namespace
} // namespace shmbloom::test
