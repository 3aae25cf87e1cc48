// Growth: a growable filter keeps its rate from its first key to many times what it was made for, and every key.
#include <csignal>
#include <random>

#include "generations.h"

namespace shmbloom::test {
namespace {

using Words = std::vector<std::string>;

class Growth : public Generations {
  protected:
    // So much memory that what else runs on this machine plays no part.
    void start(const std::string &max_memory = "2GiB", const Words &more = {},
               const Process::Environment &environment = {}) {
        Words words{"--max-memory", max_memory, "--shm-reserve", "0"};
        words.insert(words.end(), more.begin(), more.end());
        instance.start(words, environment);
    }
    void create_growable(const std::string &capacity, const Words &more = {}) {
        Words words{"GROWABLE", "NOTHING-EXISTS-YET"};
        words.insert(words.end(), more.begin(), more.end());
        create(words, capacity);
    }
    std::uint64_t capacity() { return std::stoull(info("capacity")); }
    Wire::Reply grow(const Words &more = {}) {
        Words words{"GROW"};
        words.insert(words.end(), more.begin(), more.end());
        return FilterWire{instance, "links"}.rebuild(words);
    }
    bool becomes_live() {
        return eventually([&] { return worker->tell("ask never-added") != "2"; });
    }
    // It has room for what it holds, and nothing is under way.
    bool has_room() {
        return eventually([&] {
            return info("building").empty() && std::stoull(info("estimated_keys")) <= capacity() &&
                   std::stoull(info("estimated_keys")) < std::stoull(info("grows_at_keys"));
        });
    }
    // At a rate of no more than p, four standard deviations allowed for chance.
    void expect_rate_kept(std::uint64_t asked) {
        const Answers answers = worker->count("base62", kNeverAdded, asked);
        EXPECT_LE(answers.maybe, maybes_allowed(asked, kRate))
            << "at " << info("estimated_keys") << " of " << capacity();
        EXPECT_EQ(answers.unverified, 0u);
    }
    void restart_without_segments(const Words &more = {}) {
        instance.kill();
        instance.remove_segments();
        start("2GiB", more);
        ASSERT_TRUE(becomes_live());
    }
    // With a journal that is kept no longer than it must, adds are in the hash list after a second or two.
    void wait_for_hash_files(std::uint64_t keys) {
        ASSERT_TRUE(eventually([&] { return info("hash_list_bytes") == std::to_string(8 * keys); }))
            << info("hash_list_bytes");
        ASSERT_FALSE(hash_files().empty());
    }
    std::vector<std::filesystem::path> hash_files() {
        std::vector<std::filesystem::path> files;
        for (const auto &entry : std::filesystem::directory_iterator{filter_folder()})
            if (entry.path().extension() == ".hashes")
                files.push_back(entry.path());
        return files;
    }
    std::size_t lines_of_fill() {
        const std::string &log = instance.daemon().log();
        std::size_t count = 0;
        for (auto at = log.find("above, its rate rises"); at != std::string::npos;
             at = log.find("above, its rate rises", at + 1))
            count++;
        return count;
    }
    void load_in_bulk(std::uint64_t from, std::uint64_t count) {
        FilterWire wire{instance, "links"};
        ASSERT_EQ(wire.load({"BEGIN"}).text, "OK");
        wire.bulk_range(from, count);
        const auto ended = wire.load({"END"});
        ASSERT_FALSE(ended.is_error()) << ended.text;
        EXPECT_EQ(ended.fields().at("live"), "1");
    }

    static constexpr std::uint64_t kNeverAdded = 1'000'000'000, kLucky = 2'000'000'000;
};

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

class GrowthBlocked : public Growth {
  protected:
    void expect_blocked(const std::string &why) {
        EXPECT_TRUE(eventually([&] { return info("growth_blocked") != "nil"; }));
        EXPECT_NE(info("growth_blocked").find(why), std::string::npos) << info("growth_blocked");
        EXPECT_TRUE(eventually([&] { return info("warnings").find("growth_blocked") != std::string::npos; }))
            << info("warnings");
    }
};

TEST_F(GrowthBlocked, ByMaxMemoryItGoesOnAndGrowsWhenThereIsRoom) {
    start("700KiB");
    create_growable("100000"); // about 180 KiB
    add(0, 95'000);
    ASSERT_TRUE(eventually([&] { return capacity() == 200'000; }));
    add(95'000, 85'000); // 720 KiB are wanted now
    expect_blocked("more than --max-memory");
    EXPECT_GT(std::stoull(info("growth_missing_bytes")), 300'000u);
    EXPECT_TRUE(instance.daemon().wait_for_log("'links' does not grow: "));
    expect_says(grow(), "NOMEM", {"bytes", "more than --max-memory 716800", "larger --max-memory"});
    add(180'000, 120'000); // the rate rises, and is shown
    EXPECT_TRUE(eventually([&] { return info("warnings").find("full") != std::string::npos; }));
    EXPECT_TRUE(eventually([&] { return std::stod(info("estimated_fpr")) > kRate; }));
    EXPECT_EQ(capacity(), 200'000u);
    expect_there(0, 300'000);

    instance.stop();
    start("16MiB");
    ASSERT_TRUE(eventually([&] { return capacity() == 400'000; }));
    EXPECT_TRUE(eventually([&] { return info("warnings").empty(); })) << info("warnings");
    EXPECT_EQ(info("growth_blocked"), "nil");
    expect_there(0, 300'000);
    expect_rate_kept(500'000);
}

TEST_F(GrowthBlocked, ByASnapshotThatCannotBeWrittenItTriesAgain) {
    start("2GiB", {}, {{"SHMBLOOM_FAIL", "sync:.snapshot:ENOSPC:1:2"}});
    create_growable("10000");
    add(0, 12'000);
    expect_blocked("no snapshot of the new generation");
    expect_there(0, 12'000);
    EXPECT_EQ(capacity(), 10'000u);
    ASSERT_TRUE(eventually([&] { return capacity() == 20'000; }, std::chrono::seconds{60}));
    EXPECT_TRUE(eventually([&] { return info("warnings").empty(); })) << info("warnings");
    expect_there(0, 12'000);
    expect_rate_kept(50'000);
    expect_nothing_left_behind();
}

TEST_F(GrowthBlocked, ByAnImportWhoseHashesNobodyHas) {
    start();
    create_growable("10000");
    add(0, 1000);
    ASSERT_FALSE(instance.wire().call({"SB.SNAPSHOT", "links"}).is_error());
    std::filesystem::create_directories(instance.state_dir() + "/import");
    for (const auto &entry : std::filesystem::directory_iterator{filter_folder()})
        std::filesystem::copy_file(entry.path(), instance.state_dir() + "/import/brought");
    EXPECT_EQ(info("hash_list"), "complete");
    ASSERT_FALSE(instance.wire().call({"SB.IMPORT", "links", "brought"}).is_error());
    EXPECT_EQ(info("hash_list"), "incomplete");
    expect_blocked("hash list is incomplete");
    expect_says(grow(), "RANGE", {"hash list", "incomplete", "'shmbloomctl rebuild links'"});
    add(1000, 11'000);
    EXPECT_EQ(capacity(), 10'000u);
    expect_there(0, 12'000);
}

enum class Harm { flipped, cut, removed };

class GrowthOverADamagedHashList : public GrowthBlocked, public ::testing::WithParamInterface<Harm> {};

TEST_P(GrowthOverADamagedHashList, IsRefusedLoudlyAndARebuildMendsIt) {
    start("2GiB", {"--journal-retention", "0"});
    create_growable("10000");
    add(0, 5000);
    wait_for_hash_files(5000);
    const auto file = hash_files().front();
    if (GetParam() == Harm::removed)
        std::filesystem::remove(file);
    else if (GetParam() == Harm::cut)
        std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
    else {
        std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
        stream.seekg(20'000);
        const char byte = static_cast<char>(stream.get());
        stream.seekp(20'000);
        stream.put(static_cast<char>(byte ^ 0x10));
    }
    const std::string before = info("generation");
    expect_says(grow(), "IO", {"did not grow", "hash list is damaged", file.filename()});
    EXPECT_EQ(info("generation"), before);
    EXPECT_EQ(info("hash_list"), "incomplete");
    expect_blocked("incomplete");
    add(5000, 4500); // past where it would grow
    EXPECT_EQ(info("live"), "1");
    EXPECT_EQ(capacity(), 10'000u);
    expect_there(0, 9500);
    instance.kill(); // and it is not forgotten
    start();
    expect_says(grow(), "RANGE", {"incomplete", "rebuild"});

    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error());
    wire.bulk_range(0, 9300);
    ASSERT_FALSE(wire.rebuild({"END"}).is_error());
    EXPECT_EQ(info("hash_list"), "complete");
    ASSERT_TRUE(eventually([&] { return capacity() == 20'000; })); // at once, by itself
    EXPECT_TRUE(eventually([&] { return info("warnings").empty(); })) << info("warnings");
    expect_there(0, 9300);
    expect_rate_kept(50'000);
}

INSTANTIATE_TEST_SUITE_P(Each, GrowthOverADamagedHashList, ::testing::Values(Harm::flipped, Harm::cut, Harm::removed));

// What the journal no longer has is in the hash list's files, and there are never many of those.
TEST_F(Growth, WhenTheHashListHasTakenOverFromTheJournal) {
    const Words short_journal{"--journal-retention", "0"};
    start("2GiB", short_journal);
    create_growable("100000", {"DURABILITY", "logged"});
    const std::string first = instance.state_dir() + "/journal/1";
    std::uint64_t added = 0;
    for (int i = 0; i < 12; i++) {
        add(added, 1000);
        added += 1000;
        ASSERT_TRUE(i != 0 || std::filesystem::exists(first));
        wait_for_hash_files(added);
        if (i % 4 == 3) { // a new file of the journal, so that the one of before can go
            instance.stop();
            start("2GiB", short_journal);
        }
    }
    EXPECT_TRUE(eventually([&] { return hash_files().size() <= 8; }));
    EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(first); })) << first;
    restart_without_segments(short_journal);
    const auto grown = grow().fields();
    EXPECT_EQ(grown.at("switched"), "1");
    expect_there(0, added);
    expect_rate_kept(200'000);
    expect_nothing_left_behind();
}

// A list that is just being made smaller when a rollback replaces it is of the content of before.
TEST_F(Growth, DoesNotBringBackWhatARollbackTookAwayWhileTheHashListWasCompacted) {
    start();
    create_growable("20000");
    FilterWire wire{instance, "links"};
    ASSERT_FALSE(wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error());
    wire.bulk_range(2500, 2500);
    ASSERT_FALSE(wire.rebuild({"END"}).is_error());
    Hashes hashes;
    for (const Hashes &once = wire.keys().range(0, 2500); hashes.size() < FilterWire::kBatch;)
        hashes.insert(hashes.end(), once.begin(), once.end());
    ASSERT_FALSE(wire.rebuild({"BEGIN", "OVERLAP", "0"}).is_error());
    for (int i = 0; i < 60; i++)
        ASSERT_FALSE(wire.bulk(hashes).is_error());
    ASSERT_FALSE(wire.rebuild({"END"}).is_error());
    const auto is_compacting = [&] {
        for (const auto &entry : std::filesystem::directory_iterator{filter_folder()})
            if (entry.path().extension() == ".new")
                return true;
        return false;
    };
    ASSERT_TRUE(eventually(is_compacting));
    ASSERT_FALSE(wire.call("SB.ROLLBACK", {}).is_error());
    RecordProperty("overlapped", is_compacting() ? "yes" : "no"); // the machine's matter
    ASSERT_TRUE(eventually([&] { return !is_compacting(); }, std::chrono::seconds{60}));
    expect_gone(0, 2500);
    Wire::Reply grown = grow();
    while (grown.word() == "BUSY")
        grown = grow();
    ASSERT_FALSE(grown.is_error()) << grown.text;
    expect_gone(0, 2500);
    expect_there(2500, 2500);
    expect_nothing_left_behind();
}

TEST_F(Growth, IsNotForAFilterThatIsToRefuseWhenItIsFull) {
    start();
    Wire wire = instance.wire();
    EXPECT_EQ(
        wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "GROWABLE", "WHENFULL", "refuse"}).word(),
        "RANGE");
    EXPECT_EQ(
        wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "EXPANSION", "2", "DURABILITY", "memory"})
            .word(),
        "RANGE");
    for (const char *expansion : {"0", "1", "32769", "x"})
        EXPECT_EQ(wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "EXPANSION", expansion}).word(),
                  "RANGE")
            << expansion;
    create({"NOTHING-EXISTS-YET", "WHENFULL", "refuse"}, "1000");
    EXPECT_EQ(info("when_full"), "refuse");
    for (std::uint64_t i = 0; i < 1100; i++) // the estimate is one: by ones
        worker->tell("put " + base62_key(i));
    const std::uint64_t taken = std::stoull(info("adds_acknowledged"));
    EXPECT_NEAR(static_cast<double>(taken), 1000, 60);
    FilterWire full{instance, "links"};
    expect_says(full.add(full.keys().range(5000, 100)), "FULL", {"1000 keys", "rebuild", "--capacity"});
    EXPECT_EQ(worker->tell("put " + base62_key(5000)), std::to_string(-EDQUOT));
    EXPECT_FALSE(full.add(full.keys().range(0, 500)).is_error()); // no new ones
    EXPECT_GE(std::stoull(info("adds_refused")), 101u);
    expect_there(0, 900);
    expect_gone(5000, 100);
    expect_rate_kept(200'000);

    ASSERT_FALSE(full.rebuild({"BEGIN", "CAPACITY", "2000"}).is_error());
    full.bulk_range(0, 1000);
    ASSERT_FALSE(full.rebuild({"END"}).is_error());
    EXPECT_EQ(worker->tell("put " + base62_key(5000)), "0");
    EXPECT_EQ(info("when_full"), "refuse");
}

TEST_F(Growth, IsNotForAFilterThatOnlyWarnsWhenItIsFull) {
    start();
    create_live();
    EXPECT_EQ(info("when_full"), "warn");
    std::uint64_t added = 0;
    std::size_t lines = 0;
    for (const std::uint64_t percent : {72u, 73u, 87u, 88u, 102u, 103u}) { // a line each at 70, 85 and 100
        const std::uint64_t until = 20'000 * percent / 100;
        add(added, until - added);
        added = until;
        lines += percent % 5 == 2 ? 1 : 0;
        EXPECT_TRUE(eventually([&] { return lines_of_fill() == lines; })) << percent << ": " << lines_of_fill();
    }
    EXPECT_TRUE(eventually([&] { return info("warnings") == "full"; }));
    add(100'000, 5000);
    expect_there(100'000, 5000);
    EXPECT_EQ(capacity(), 20'000u);
}

} // namespace
} // namespace shmbloom::test
