// Growth: a growable filter keeps its rate from its first key to many times what it was made for, and every key.
#include <random>

#include "growth.h"

namespace shmbloom::test {
namespace {

// Adds as clients send them, one by one and by ten thousands; looked at where it is fullest, and at every power of two.
class GrowthOfAll : public Growth {
  protected:
    GrowthOfAll() { RecordProperty("seed", std::to_string(seed_)); }

    void add_up_to(std::uint64_t count) {
        FilterWire wire{instance, "links"};
        while (added_ < count) {
            const std::uint64_t most = std::uint64_t{1} << random_() % 17;
            const std::uint64_t n = std::min({count - added_, 1 + random_() % most, std::uint64_t{65536}});
            const auto reply = wire.add(wire.keys().range(added_, n));
            ASSERT_FALSE(reply.is_error()) << reply.text;
            added_ += n;
        }
    }
    // Keys that answer "maybe" before they are added: the filter's bits say nothing of whether they were.
    void add_lucky_ones() {
        FilterWire wire{instance, "links"};
        constexpr std::uint64_t kAsked = 50'000;
        auto found = wire.maybes(kLucky + next_lucky_, kAsked);
        next_lucky_ += kAsked;
        found.resize(std::min<std::size_t>(found.size(), 10));
        for (const std::uint64_t index : found)
            if (worker->tell("put " + base62_key(index)) == "1") // else it has grown since
                lucky_.push_back(index);
    }
    void expect_every_lucky_one() { EXPECT_EQ(worker->count_all("base62", lucky_).maybe, lucky_.size()); }

    const unsigned seed_ = std::random_device{}();
    std::mt19937_64 random_{seed_};
    std::uint64_t added_ = 0, next_lucky_ = 0;
    std::vector<std::uint64_t> lucky_;
};

TEST_F(GrowthOfAll, FromAThousandToTenMillionKeysTheRateIsKeptAndNoKeyIsLost) {
    SCOPED_TRACE("seed " + std::to_string(seed_));
    start();
    create_growable("1000");
    int stage = 0;
    for (std::uint64_t keys = 1000; keys < 10'000'000; keys *= 2) {
        add_up_to(keys);
        ASSERT_TRUE(has_room()) << info("growth_blocked");
        EXPECT_GE(capacity(), keys);
        expect_rate_kept(keys < 100'000 ? 1'000'000 : 200'000);
        add_up_to(std::min<std::uint64_t>(keys * 84 / 50, 10'000'000)); // of twice as many: just before it grows
        expect_rate_kept(200'000);
        add_lucky_ones();
        expect_every_lucky_one();
        if (++stage % 4 == 0) {
            instance.kill();
            expect_every_lucky_one();
            start();
        }
        if (HasFailure())
            return;
    }
    add_up_to(10'000'000);
    ASSERT_TRUE(has_room());
    expect_rate_kept(1'000'000);
    EXPECT_GE(lucky_.size(), 40u);
    expect_every_lucky_one();
    expect_there(0, added_);
    EXPECT_EQ(info("warnings"), "");
    EXPECT_EQ(info("hash_list"), "complete");
    expect_nothing_left_behind();
    restart_without_segments();
    expect_every_lucky_one();
    expect_there(0, added_);
}

TEST_F(Growth, AfterABulkLoadFarAboveItsCapacity) {
    start();
    create({"GROWABLE"}, "1000");
    add(5'000'000, 500); // by others, before and while
    load_in_bulk(0, 1'000'000);
    EXPECT_GE(capacity(), 1'000'000u);
    expect_there(0, 1'000'000);
    expect_there(5'000'000, 500);
    expect_rate_kept(1'000'000);
    EXPECT_EQ(info("hash_list"), "complete");

    instance.kill();
    start();
    ASSERT_TRUE(becomes_live());
    add(1'000'000, 300'000);
    const auto grown = grow();
    ASSERT_FALSE(grown.is_error()) << grown.text;
    EXPECT_EQ(grown.fields().at("switched"), "1");
    EXPECT_GE(std::stoull(grown.fields().at("keys")) + std::stoull(grown.fields().at("replayed")), 1'300'500u);
    expect_there(0, 1'300'000);
    expect_there(5'000'000, 500);
    expect_rate_kept(200'000);
    expect_nothing_left_behind();
    restart_without_segments();
    expect_there(0, 1'300'000);
    expect_there(5'000'000, 500);
    expect_rate_kept(200'000);
}

TEST_F(Growth, WhileWorkersAddAndLookUp) {
    start();
    create_growable("1000");
    const std::string file = instance.folder() / "flood";
    Worker adder = instance.worker(), watcher = instance.worker();
    adder.tell("timeout 20000");
    adder.open("links");
    watcher.open("links");
    adder.begin("flood base62 0 0 " + file);
    watcher.begin("watch base62 0 0 " + file);
    EXPECT_TRUE(eventually([&] { return capacity() >= 8000; }, std::chrono::seconds{60}));
    const std::string said = adder.finish();
    EXPECT_NE(said.find(" refused 0 unknown 0 "), std::string::npos) << said;
    const Answers seen = parse_answers(watcher.finish());
    EXPECT_EQ(seen.absent + seen.unverified, 0u);
    const auto keys = read_indexes(file);
    EXPECT_EQ(worker->count_all("base62", keys).maybe, keys.size());
    expect_rate_kept(100'000);
}

TEST_F(Growth, SaysBeforehandWhenAndToWhatSize) {
    start();
    create_growable("10000", {"EXPANSION", "4"});
    const auto says = instance.info("links");
    EXPECT_GE(std::stoull(says.at("grows_at_keys")), 8500u);
    EXPECT_LE(std::stoull(says.at("grows_at_keys")), 9200u);
    EXPECT_EQ(says.at("grows_to_capacity"), "40000");
    EXPECT_EQ(says.at("when_full"), "grow");
    add(0, 8200);
    EXPECT_EQ(capacity(), 10'000u);
    EXPECT_TRUE(instance.daemon().wait_for_log("% of its capacity of 10000 keys; it grows at " +
                                               says.at("grows_at_keys") + " keys to 40000, which takes " +
                                               says.at("growth_bytes") + " bytes"));
    add(8200, 1200);
    ASSERT_TRUE(eventually([&] { return capacity() == 40'000; }));
    EXPECT_EQ(info("memory_bytes"), says.at("growth_bytes"));
    expect_there(0, 9400);
    expect_rate_kept(50'000);
}

TEST_F(Growth, OfAFilterThatRedisClientsReserved) {
    start();
    Wire wire = instance.wire();
    ASSERT_EQ(wire.call({"BF.RESERVE", "grows", "0.001", "1000"}).text, "OK");
    ASSERT_EQ(wire.call({"BF.RESERVE", "stays", "0.001", "1000", "NONSCALING"}).text, "OK");
    EXPECT_EQ(instance.info("grows").at("when_full"), "grow");
    EXPECT_EQ(instance.info("stays").at("when_full"), "warn");
    FilterWire{instance, "grows"}.add_range(0, 3000); // while it is warming
    FilterWire{instance, "stays"}.add_range(0, 3000);
    EXPECT_TRUE(eventually([&] { return instance.info("grows").at("capacity") == "4000"; }));
    EXPECT_EQ(instance.info("grows").at("doubts"), "warming");
    EXPECT_EQ(instance.info("stays").at("capacity"), "1000");
    expect_says(FilterWire{instance, "stays"}.rebuild({"GROW"}), "RANGE", {"not growable", "rebuild"});
}

TEST_F(Growth, OnDemand) {
    start();
    create_growable("1000");
    add(0, 800);
    FilterWire rebuild{instance, "links"};
    ASSERT_FALSE(rebuild.rebuild({"BEGIN"}).is_error());
    expect_says(grow(), "BUSY", {"a rebuild of filter 'links' is under way"});
    ASSERT_EQ(rebuild.rebuild({"ABORT"}).text, "OK");
    instance.must_ctl({"pause", "links"});
    const auto grown = grow({"CAPACITY", "5000"}).fields();
    EXPECT_EQ(grown.at("switched"), "1");
    EXPECT_EQ(grown.at("capacity"), "5000");
    EXPECT_EQ(grown.at("doubts"), "paused");
    instance.must_ctl({"resume", "links"});
    ASSERT_TRUE(becomes_live());
    expect_there(0, 800);
    expect_rate_kept(50'000);
    const auto before = state();
    expect_says(grow({"CAPACITY", "5000"}), "RANGE", {"5000 already"});
    expect_says(grow({"CAPACITY", "4000"}), "RANGE", {"needs a rebuild"});
    EXPECT_EQ(grow({"CAPACITY", "much"}).word(), "ERR");
    EXPECT_EQ(instance.wire().call({"SB.REBUILD", "lonks", "GROW"}).word(), "NOTFOUND");
    EXPECT_EQ(state(), before);
    EXPECT_EQ(grow().fields().at("capacity"), "10000");
}

TEST_F(Growth, KeepsWhatARebuildCanBeRolledBackTo) {
    start();
    create_growable("10000");
    add(0, 5000);
    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error());
    wire.bulk_range(2000, 3000);
    ASSERT_FALSE(wire.rebuild({"END", "SHRINK", "100"}).is_error());
    EXPECT_EQ(info("hash_list"), "complete"); // of the source's hashes
    add(10'000, 10'000);
    ASSERT_TRUE(eventually([&] { return capacity() == 20'000; }));
    expect_gone(0, 2000);
    expect_there(2000, 3000);
    ASSERT_FALSE(wire.call("SB.ROLLBACK", {}).is_error());
    ASSERT_TRUE(has_room()); // it holds more than it did then, and grows again
    EXPECT_EQ(info("hash_list"), "complete");
    for (int i = 0; i < 2; i++) {
        expect_there(0, 5000);
        expect_there(10'000, 10'000);
        expect_rate_kept(50'000);
        ASSERT_FALSE(grow().is_error());
    }
    ASSERT_FALSE(wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error());
    wire.bulk_range(0, 5000);
    ASSERT_FALSE(wire.rebuild({"END", "SHRINK", "100"}).is_error());
    ASSERT_FALSE(wire.call("SB.ROLLBACK", {"UNION"}).is_error());
    EXPECT_EQ(info("hash_list"), "incomplete"); // nobody has the hashes of both
    expect_there(0, 5000);
    expect_there(10'000, 10'000);
}

} // namespace
} // namespace shmbloom::test
