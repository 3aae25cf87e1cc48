// The hashes that a growable filter is made from anew: taken over from the journal, compacted, damaged, lost.
#include <fstream>

#include "growth.h"
#include "remove_folder.h"

namespace shmbloom::test {
namespace {

class HashList : public Growth {
  protected:
    // Tried again before it is given up: a read error may pass.
    void expect_given_up() {
        ASSERT_TRUE(eventually([&] { return info("hash_list") == "incomplete"; }, std::chrono::seconds{120}));
        EXPECT_EQ(lines_of_log("the hash list of filter 'links' cannot be read: "), 1u);
        EXPECT_EQ(lines_of_log("the hash list of filter 'links' is incomplete: "), 1u);
        expect_blocked("incomplete");
    }
};

enum class Harm { flipped, cut, removed };

class DamagedHashList : public HashList, public ::testing::WithParamInterface<Harm> {};

TEST_P(DamagedHashList, IsRefusedLoudlyAndARebuildMendsIt) {
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
    for (int i = 0; i < 3; i++) {
        EXPECT_EQ(info("hash_list"), "complete");
        expect_says(grow(), "IO", {"did not grow", "hash list cannot be read", file.filename()});
    }
    EXPECT_EQ(info("generation"), before);
    expect_given_up();
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

INSTANTIATE_TEST_SUITE_P(Each, DamagedHashList, ::testing::Values(Harm::flipped, Harm::cut, Harm::removed));

// As often as one that cannot be read is tried, and then it goes on.
TEST_F(HashList, ThatCannotBeWrittenIsNotGivenUp) {
    start("2GiB", {"--journal-retention", "0"}, {{"SHMBLOOM_FAIL", "write:.hashes:EIO:1:3"}});
    create_growable("10000");
    add(0, 1000);
    ASSERT_TRUE(eventually([&] { return info("hash_list_bytes") == "8000"; }, std::chrono::seconds{120}));
    EXPECT_EQ(info("hash_list"), "complete");
    EXPECT_EQ(lines_of_log("the hash list of filter 'links' cannot be written: "), 1u);
    add(1000, 9000);
    EXPECT_TRUE(eventually([&] { return capacity() == 20'000; }));
    expect_there(0, 10'000);
}

// The journal's folder was removed, with adds that were in no file of the list yet.
TEST_F(HashList, ThatLostItsJournalIsGivenUpOnceAndForAll) {
    start();
    create_growable("10000");
    add(0, 1000);
    remove_folder(instance.state_dir() + "/journal");
    ASSERT_TRUE(instance.daemon().wait_for_log("every filter has a full snapshot again"));
    add(1000, 8500); // where it would grow
    expect_given_up();
    add(9500, 2500);
    EXPECT_EQ(capacity(), 10'000u);
    expect_there(0, 12'000);
    restart_without_segments();
    expect_there(0, 12'000);
}

// What the journal no longer has is in the hash list's files, and there are never many of those.
TEST_F(HashList, WhenTheHashListHasTakenOverFromTheJournal) {
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
TEST_F(HashList, DoesNotBringBackWhatARollbackTookAwayWhileTheHashListWasCompacted) {
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
    const auto is_compacting = [&] { return !filter_files(".new").empty(); };
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

} // namespace
} // namespace shmbloom::test
