// Rebuild: what is in a new generation, and what is not in it any more. Refusals: rebuild_refused_test.cpp.
#include "generations.h"
#include "remove_folder.h"

namespace shmbloom::test {
namespace {

using Words = std::vector<std::string>;

const Words kBegin{"BEGIN", "OVERLAP", "0"}; // every add is in the source at once
const Words kEnd{"END", "SHRINK", "100"};

class Rebuild : public Generations {
  protected:
    void SetUp() override { instance.start(); }
    // From a source with these keys; what END replies.
    std::map<std::string, std::string> rebuild(std::uint64_t from, std::uint64_t count, const Words &begin = kBegin,
                                               const Words &end = kEnd) {
        FilterWire wire{instance, "links"};
        const auto begun = wire.rebuild(begin);
        EXPECT_FALSE(begun.is_error()) << begun.text;
        wire.bulk_range(from, count);
        const auto ended = wire.rebuild(end);
        EXPECT_FALSE(ended.is_error()) << ended.text;
        return ended.fields();
    }
    // Adds as workers do, without pause, with a watcher of what was acknowledged.
    struct Flood {
        Flood(TestInstance &instance, std::uint64_t from)
            : file{instance.folder() / "flood"}, adder{instance.worker()}, watcher{instance.worker()} {
            adder.tell("timeout 5000");
            adder.open("links");
            watcher.open("links");
            adder.begin("flood base62 " + std::to_string(from) + " 0 " + file);
            watcher.begin("watch base62 0 0 " + file);
            more();
        }
        std::size_t count() const { return read_indexes(file).size(); }
        void more() {
            const std::size_t before = count();
            EXPECT_TRUE(eventually([&] { return count() >= before + 50; }));
        }
        std::vector<std::uint64_t> end() {
            const std::string said = adder.finish();
            EXPECT_NE(said.find(" refused 0 unknown 0 "), std::string::npos) << said;
            const Answers seen = parse_answers(watcher.finish());
            EXPECT_EQ(seen.absent + seen.unverified, 0u);
            EXPECT_GT(seen.maybe, 0u);
            return read_indexes(file);
        }

        const std::string file;
        Worker adder, watcher;
    };
};

TEST_F(Rebuild, IdsThatTheSourceLacksAreGone) {
    create_live();
    add(0, 8000);
    const std::string before = info("generation");
    const auto ended = rebuild(4000, 4000);
    EXPECT_EQ(ended.at("switched"), "1");
    EXPECT_EQ(ended.at("keys"), "4000");
    EXPECT_EQ(ended.at("replayed"), "0");
    EXPECT_NEAR(std::stod(ended.at("estimated_keys")), 4000, 200);
    EXPECT_NEAR(std::stod(ended.at("estimated_keys_before")), 8000, 200);
    EXPECT_EQ(ended.at("live"), "1");
    expect_gone(0, 4000);
    expect_there(4000, 4000);
    expect_gone(1'000'000, 50'000);

    const std::string generation = info("generation");
    EXPECT_EQ(ended.at("generation"), generation);
    EXPECT_EQ(info("lineage"), generation);
    EXPECT_NE(generation, before);
    EXPECT_EQ(info("previous_generation"), before);
    EXPECT_EQ(info("building"), "");
    expect_nothing_left_behind();
    instance.kill();
    instance.remove_segments(); // the new generation's snapshot is all there is
    instance.start();
    ASSERT_TRUE(eventually([&] { return worker->count("base62", 0, 1).unverified == 0; }));
    expect_gone(0, 4000);
    expect_there(4000, 4000);
}

TEST_F(Rebuild, AddsBeforeDuringAndAfterTheStreamAreThere) {
    create({"NOTHING-EXISTS-YET"}, "2000000");
    add(0, 5000);
    Flood flood{instance, 1'000'000};
    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild({"BEGIN"}).is_error()); // the overlap is an hour
    flood.more();
    for (std::uint64_t at = 0; at < 4000; at += 1000) {
        wire.bulk_range(at, 1000);
        flood.more();
    }
    const auto ended = wire.rebuild(kEnd);
    ASSERT_FALSE(ended.is_error()) << ended.text;
    EXPECT_GE(std::stoull(ended.fields().at("replayed")), 5000u);
    flood.more();
    const auto flooded = flood.end();
    EXPECT_EQ(worker->count_all("base62", flooded).maybe, flooded.size());
    expect_there(0, 5000); // also the last thousand, which is younger than the overlap
    expect_nothing_left_behind();
}

TEST_F(Rebuild, FromANotedLsnOnEveryAddIsBroughtAlong) {
    create_live();
    add(0, 3000);
    const std::string noted = next_lsn();
    add(3000, 500);
    const auto ended = rebuild(0, 1000, {"BEGIN", "SINCE", noted, "OVERLAP", "0"});
    EXPECT_EQ(ended.at("replayed"), "500");
    expect_there(0, 1000);
    expect_gone(1000, 2000);
    expect_there(3000, 500);
}

TEST_F(Rebuild, ThatBeganSomeSecondsAgoBringsTheAddsOfThemAndOfTheOverlap) {
    create_live();
    add(0, 1000);
    EXPECT_EQ(rebuild(0, 500, {"BEGIN", "SINCE-SECONDS", "60", "OVERLAP", "0"}).at("replayed"), "1000");
    EXPECT_EQ(rebuild(0, 500, {"BEGIN", "SINCE-SECONDS", "0", "OVERLAP", "60"}).at("replayed"), "1000");
    expect_there(0, 1000);
    EXPECT_EQ(rebuild(0, 500, {"BEGIN", "SINCE-SECONDS", "0", "OVERLAP", "0"}).at("replayed"), "0");
    expect_gone(500, 500);
}

TEST_F(Rebuild, AnIdThatWasDeletedAndAddedAgainIsThere) {
    create_live();
    add(0, 2000);
    rebuild(1000, 1000);
    expect_gone(0, 1000);
    add(0, 100); // the source has them again, from its next reading on
    expect_there(0, 100);
    const std::string noted = next_lsn();
    add(100, 100);
    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild({"BEGIN", "SINCE", noted, "OVERLAP", "0"}).is_error());
    wire.bulk_range(1000, 1000);
    add(200, 100);
    ASSERT_FALSE(wire.rebuild(kEnd).is_error());
    add(300, 100);
    expect_gone(0, 100);
    expect_there(100, 300);
    expect_there(1000, 1000);
}

TEST_F(Rebuild, AnIdThatWasAddedWhileItAnsweredMaybeIsThere) {
    create_live();
    add(0, 20'000);
    const auto lucky = FilterWire{instance, "links"}.maybes(1'000'000, 200'000);
    ASSERT_GE(lucky.size(), 100u);
    const std::vector<std::uint64_t> added{lucky.begin(), lucky.begin() + 50},
        never_added{lucky.begin() + 50, lucky.end()};
    const std::string noted = next_lsn();
    for (const std::uint64_t index : added)
        ASSERT_EQ(worker->tell("put " + base62_key(index)), "1"); // acknowledged, "maybe" before
    EXPECT_EQ(rebuild(0, 5000, {"BEGIN", "SINCE", noted, "OVERLAP", "0"}).at("replayed"), "50");
    EXPECT_EQ(worker->count_all("base62", added).maybe, added.size());
    EXPECT_LE(worker->count_all("base62", never_added).maybe, never_added.size() / 4); // luck was all that they had
}

TEST_F(Rebuild, WithAnotherSizeRateAndLayout) {
    create_live();
    add(0, 1000);
    FilterWire wire{instance, "links"};
    const auto begun =
        wire.rebuild({"BEGIN", "OVERLAP", "0", "CAPACITY", "50000", "FPR", "0.0001", "LAYOUT", "classic"});
    ASSERT_FALSE(begun.is_error()) << begun.text;
    EXPECT_EQ(begun.fields().at("capacity"), "50000");
    EXPECT_EQ(std::stod(begun.fields().at("fpr")), 1e-4);
    EXPECT_EQ(begun.fields().at("overlap"), "0");
    EXPECT_EQ(begun.fields().at("since_lsn"), next_lsn());
    EXPECT_EQ(info("building"), "rebuild");
    EXPECT_NE(info("building_by").find("pid " + std::to_string(::getpid())), std::string::npos) << info("building_by");
    EXPECT_NE(info("building_since"), "nil");
    EXPECT_NE(info("generation"), begun.fields().at("generation"));
    wire.bulk_range(0, 1000);
    EXPECT_EQ(info("building_keys"), "1000");
    EXPECT_EQ(info("layout"), "blocked"); // until the switch
    ASSERT_FALSE(wire.rebuild(kEnd).is_error());
    EXPECT_EQ(info("generation"), begun.fields().at("generation"));
    EXPECT_EQ(info("memory_bytes"), begun.fields().at("memory_bytes"));
    EXPECT_EQ(info("capacity"), "50000");
    EXPECT_EQ(info("layout"), "classic");
    expect_there(0, 1000);
    EXPECT_LE(worker->count("base62", 1'000'000, 50'000).maybe, maybes_allowed(50'000, 1e-4));
}

TEST_F(Rebuild, EndsWarmingAndKeepsPaused) {
    create({});
    expect_unverified(0, 10);
    instance.must_ctl({"pause", "links"});
    EXPECT_EQ(rebuild(0, 1000).at("doubts"), "paused");
    expect_unverified(0, 1000);
    instance.must_ctl({"resume", "links"});
    ASSERT_TRUE(eventually([&] { return worker->count("base62", 0, 1).maybe == 1; }));
    expect_there(0, 1000);
    expect_gone(1'000'000, 10'000);
}

TEST_F(Rebuild, OfAFilterThatIsPausedMeanwhileStaysPaused) {
    create_live();
    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild(kBegin).is_error());
    wire.bulk_range(0, 100);
    instance.must_ctl({"pause", "links"});
    EXPECT_EQ(wire.rebuild(kEnd).fields().at("doubts"), "paused");
    expect_unverified(0, 100);
}

TEST_F(Rebuild, OfAFilterInMemoryOnlyNeedsASourceThatHasEveryAddAtOnce) {
    create({"NOTHING-EXISTS-YET", "DURABILITY", "memory"});
    add(0, 1000);
    FilterWire wire{instance, "links"};
    for (const Words &words : {Words{"BEGIN"}, Words{"BEGIN", "SINCE-SECONDS", "5", "OVERLAP", "0"}})
        expect_says(wire.rebuild(words), "RANGE", {"keeps no journal", "OVERLAP 0"});
    ASSERT_FALSE(wire.rebuild(kBegin).is_error());
    add(2000, 100);
    wire.bulk_range(500, 500);
    const auto ended = wire.rebuild(kEnd);
    ASSERT_FALSE(ended.is_error()) << ended.text;
    expect_gone(0, 500);
    expect_there(500, 500);
    expect_there(2000, 100);
    EXPECT_EQ(info("previous_generation"), "nil");
    expect_says(wire.call("SB.ROLLBACK", {}), "NOTFOUND", {"no previous generation"});
}

// What was lost came before: a source that began an overlap later has it.
TEST_F(Rebuild, OfAFilterThatLostAddsIsRefusedUntilTheOverlapHasPassedAndThenMendsIt) {
    create_live();
    add(0, 1000);
    instance.kill();
    instance.remove_segments();
    remove_folder(instance.state_dir() + "/journal");
    instance.start();
    ASSERT_EQ(info("doubts"), "damaged");
    FilterWire wire{instance, "links"};
    for (const Words &words :
         {Words{"BEGIN"}, Words{"BEGIN", "OVERLAP", "60"}, Words{"BEGIN", "SINCE-SECONDS", "60", "OVERLAP", "0"}})
        expect_says(wire.rebuild(words), "RANGE", {"damaged since", "UTC", "OVERLAP 0"});
    ASSERT_TRUE(eventually([&] { return !wire.rebuild({"BEGIN", "OVERLAP", "1"}).is_error(); }));
    ASSERT_EQ(wire.rebuild({"ABORT"}).text, "OK");
    EXPECT_EQ(info("doubts"), "damaged");
    EXPECT_EQ(rebuild(0, 1000).at("live"), "1");
    ASSERT_TRUE(eventually([&] { return worker->count("base62", 0, 1).maybe == 1; }));
    expect_there(0, 1000);
    expect_gone(1'000'000, 10'000);
}

TEST_F(Rebuild, OfAFilterInMemoryThatLostItsBitsMendsIt) {
    create({"NOTHING-EXISTS-YET", "DURABILITY", "memory"});
    add(0, 1000);
    instance.kill();
    instance.remove_segments();
    instance.start();
    ASSERT_EQ(info("doubts"), "lossy");
    FilterWire wire{instance, "links"};
    ASSERT_TRUE(eventually([&] { return !wire.rebuild(kBegin).is_error(); }));
    wire.bulk_range(0, 1000);
    EXPECT_EQ(wire.rebuild(kEnd).fields()["live"], "1");
    ASSERT_TRUE(eventually([&] { return worker->count("base62", 0, 1).maybe == 1; }));
    expect_there(0, 1000);
}

class RebuildFromASnapshot : public Rebuild {
  protected:
    // The filter's newest, as a file that was brought here.
    void bring_snapshot() {
        ASSERT_FALSE(instance.wire().call({"SB.SNAPSHOT", "links"}).is_error());
        std::filesystem::path newest;
        for (const auto &file : filter_files(".snapshot"))
            if (newest.empty() || std::stoull(file.stem()) > std::stoull(newest.stem()))
                newest = file;
        ASSERT_FALSE(newest.empty());
        std::filesystem::create_directories(instance.state_dir() + "/import");
        std::filesystem::copy_file(newest, instance.state_dir() + "/import/brought");
    }
};

TEST_F(RebuildFromASnapshot, TakesItsKeysAndEveryAddSinceItsSourceBegan) {
    create_live();
    add(0, 1000);
    bring_snapshot();
    const std::string noted = next_lsn();
    add(1000, 1000);
    FilterWire wire{instance, "links"};
    expect_says(wire.rebuild({"BEGIN", "SNAPSHOT", "brought", "CAPACITY", "5000"}), "RANGE", {"CAPACITY"});
    expect_says(wire.rebuild({"BEGIN", "SNAPSHOT", "brought"}), "RANGE", {"does not say when", "SINCE"});
    expect_says(wire.rebuild({"BEGIN", "SNAPSHOT", "brought"}), "RANGE",
                {"not rebuilt"}); // its name is gone with the first
    bring_snapshot();
    add(2000, 1000);
    ASSERT_FALSE(wire.rebuild({"BEGIN", "SNAPSHOT", "brought", "SINCE", noted, "OVERLAP", "0"}).is_error());
    add(3000, 100);
    const auto ended = wire.rebuild(kEnd);
    ASSERT_FALSE(ended.is_error()) << ended.text;
    EXPECT_EQ(ended.fields().at("replayed"), "2000");
    EXPECT_NEAR(std::stod(ended.fields().at("keys")), 2000, 100);
    expect_there(0, 3100);
    expect_gone(1'000'000, 10'000);
    expect_nothing_left_behind();
}

TEST_F(RebuildFromASnapshot, OfARebuildKnowsWhenItsSourceBegan) {
    create_live();
    rebuild(0, 1000);
    bring_snapshot();
    add(1000, 500);
    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild({"BEGIN", "SNAPSHOT", "brought"}).is_error());
    const auto ended = wire.rebuild(kEnd);
    ASSERT_FALSE(ended.is_error()) << ended.text;
    EXPECT_EQ(ended.fields().at("replayed"), "500");
    expect_there(0, 1500);
}

TEST_F(RebuildFromASnapshot, OfAnotherHashDomainIsRefused) {
    create({"NOTHING-EXISTS-YET", "NORMALIZE", "lower"});
    add(0, 100);
    bring_snapshot();
    instance.create("other", {"CAPACITY", "20000", "FPR", "1e-3", "NOTHING-EXISTS-YET"});
    expect_says(FilterWire{instance, "other"}.rebuild({"BEGIN", "SNAPSHOT", "brought", "OVERLAP", "0"}), "STALE",
                {"hash domain"});
}

} // namespace
} // namespace shmbloom::test
