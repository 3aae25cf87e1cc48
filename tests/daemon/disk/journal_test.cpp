// The journal by itself, with a loop of the test's and a disk that counts its syncs and fails on demand; and what a scan
// makes of what it wrote.
#include "disk/journal.h"

#include <fcntl.h>
#include <future>
#include <gtest/gtest.h>

#include "daemon/service/test_loop.h"
#include "disk/journal_format.h"
#include "disk/journal_replay.h"
#include "disk/journal_scan.h"
#include "support/simulated_disk.h"
#include "support/temp_folder.h"

namespace shmbloom {
namespace {

using test::SimulatedDisk;
using Operation = SimulatedDisk::Operation;

class JournalTest : public testing::Test {
  protected:
    JournalTest() {
        std::filesystem::create_directory(path);
        folder = open_folder(path);
        disk = std::make_unique<SimulatedDisk>(path);
        installed = std::make_unique<test::InstalledDisk>(*disk);
    }
    ~JournalTest() override { journal.reset(); }

    void open(std::uint64_t file_bytes = 64 << 10, Lsn next = 1, Lsn after = 1) {
        journal.reset();
        Journal::Settings settings;
        settings.folder = folder.get();
        settings.folder_path = path;
        settings.state_uuid = state;
        settings.next_number = named.empty() ? 1 : named.back().number + 1;
        settings.next = next;
        settings.after = after;
        settings.first_file_bytes = settings.file_bytes_max = file_bytes;
        journal = std::make_unique<Journal>(
            std::move(settings), Journal::Host{.post = loop.post(),
                                               .name_file =
                                                   [this](const JournalFileRecord &file, const Journal::Done &done) {
                                                       named.push_back(file);
                                                       done(std::nullopt);
                                                   },
                                               .durable = [this](Lsn lsn) { durable = lsn; },
                                               .sync_failed = [this](const std::string &) { sync_failures++; }});
        journal->prepare();
        loop.run_one(); // it is made
    }
    struct Told {
        bool done = false;
        std::optional<DiskError> error;
    };
    using ToldPtr = std::shared_ptr<Told>;
    ToldPtr append(std::size_t count, bool sync = true, std::uint64_t filter = 1) {
        std::vector<std::uint64_t> hashes(count);
        for (auto &hash : hashes)
            hash = ++hash_;
        const Lsn end = journal->append(filter, hashes);
        const auto told = std::make_shared<Told>();
        const auto done = [told](const std::optional<DiskError> &error) { *told = {true, error}; };
        sync ? journal->when_synced(end, done) : journal->when_written(end, done);
        return told;
    }
    std::optional<DiskError> wait(const ToldPtr &told) {
        loop.run_until([&] { return told->done; });
        return told->error;
    }
    JournalScan scan(Lsn from = 1) {
        JournalScan found{folder.get(), path, named, {state}};
        found.read(from, [](const JournalFrameView &) {});
        return found;
    }
    // What a power loss leaves of the folder, scanned.
    JournalScan scan_durable(Lsn from = 1) {
        const std::string to = temp / ("lost" + std::to_string(losses_++));
        disk->lose_power(path, to, {.keep_nothing = true});
        lost_folder = open_folder(to);
        JournalScan found{lost_folder.get(), to, named, {state}};
        found.read(from, [](const JournalFrameView &) {});
        return found;
    }

    const test::TempFolder temp;
    const std::string path = temp / "journal";
    const Uuid state = Uuid::random();
    UniqueFd folder, lost_folder;
    std::unique_ptr<SimulatedDisk> disk;
    std::unique_ptr<test::InstalledDisk> installed;
    std::vector<JournalFileRecord> named;
    Lsn durable = 0;
    int sync_failures = 0;
    TestLoop loop;
    std::unique_ptr<Journal> journal;

  private:
    std::uint64_t hash_ = 0, losses_ = 0;
};

TEST_F(JournalTest, AddsThatArriveDuringASyncFormOneGroup) {
    open();
    std::promise<void> reached, go;
    disk->stop_at_sync(1, [&] {
        reached.set_value();
        go.get_future().wait();
    });
    const std::uint64_t before = disk->syncs();
    const auto first = append(1);
    reached.get_future().wait();
    std::vector<ToldPtr> others;
    for (int i = 0; i < 50; i++)
        others.push_back(append(1, true, static_cast<std::uint64_t>(1 + i % 3)));
    go.set_value();
    EXPECT_FALSE(wait(first));
    for (const auto &told : others)
        EXPECT_FALSE(wait(told));
    EXPECT_EQ(disk->syncs() - before, 2u);
    EXPECT_EQ(scan_durable().next(), 52u);
    EXPECT_EQ(durable, 52u);
}

TEST_F(JournalTest, IsToldOnlyWhenItIsOnTheDisk) {
    open();
    for (int i = 0; i < 20; i++) {
        ASSERT_FALSE(wait(append(3)));
        const JournalScan found = scan_durable();
        EXPECT_EQ(found.next(), journal->next());
        EXPECT_EQ(found.damage(1), "");
    }
}

TEST_F(JournalTest, FileIsSyncedBeforeTheNextTakesAFrame) {
    open(5000);
    for (int i = 0; i < 40; i++) {
        // Only written, so that nobody but the rotation syncs them.
        ASSERT_FALSE(wait(append(4, false)));
        const JournalScan now = scan_durable();
        const auto firsts = scan().first_lsns();
        ASSERT_FALSE(firsts.empty());
        if (firsts.size() > 1) {
            EXPECT_GE(now.next(), firsts.back().second) << "a former file's frames are not on the disk";
        }
    }
    EXPECT_GT(scan().first_lsns().size(), 2u);
    EXPECT_EQ(scan().damage(1), "");
}

TEST_F(JournalTest, FailedWriteAbandonsItsLsns) {
    open();
    ASSERT_FALSE(wait(append(2)));
    disk->fail(Operation::write, 1, EIO, 1, "/journal/1");
    ASSERT_TRUE(wait(append(3)));
    EXPECT_TRUE(journal->failing());
    journal->tick();
    loop.run_until([&] { return !journal->failing(); });
    ASSERT_FALSE(wait(append(2)));
    const JournalScan found = scan_durable();
    EXPECT_EQ(found.next(), 8u);
    EXPECT_EQ(found.damage(1), "");
    EXPECT_FALSE(found.has_abandoned(1)) << "they were never written, so nobody was told that they were";
}

TEST_F(JournalTest, FailedSyncAbandonsItsLsnsAndGoesOnInAnotherFile) {
    open();
    ASSERT_FALSE(wait(append(2)));
    disk->fail(Operation::sync, 1, EIO, 1, "/journal/1");
    ASSERT_TRUE(wait(append(3)));
    EXPECT_EQ(sync_failures, 1);
    EXPECT_EQ(durable, 3u);
    ASSERT_FALSE(wait(append(2)));
    EXPECT_EQ(journal->files().all().back().record.number, 2u);
    const JournalScan found = scan_durable();
    EXPECT_EQ(found.next(), 8u);
    EXPECT_EQ(found.damage(1), "");
}

// The kernel may forget what it could not write: then only `logged` filters have lost acknowledged adds.
TEST_F(JournalTest, ReplayOfAFilterThatIsLoggedMissesWhatAFailedSyncForgot) {
    open();
    ASSERT_FALSE(wait(append(2)));
    ASSERT_FALSE(wait(append(3, false))); // acknowledged to one that is logged
    disk->fail(Operation::sync, 1, EIO, 1, "/journal/1");
    ASSERT_TRUE(wait(append(1)));
    ASSERT_FALSE(wait(append(2)));
    (void)scan_durable();
    const JournalPlace place{lost_folder.get(), temp / "lost0", named, {state}};
    const auto replay = [&](Lsn from, bool is_logged) {
        return replay_adds(place, 1, from, journal->next(), is_logged, [](std::span<const std::uint64_t>) {});
    };
    EXPECT_EQ(replay(1, false), "");
    EXPECT_NE(replay(1, true), "");
    EXPECT_EQ(replay(journal->next() - 2, true), "");
}

// What a failed sync abandoned stays so, whatever fails next.
TEST_F(JournalTest, FailedWriteBehindAFailedSyncLeavesNoHole) {
    open();
    ASSERT_FALSE(wait(append(2)));
    disk->fail(Operation::sync, 1, EIO, 1, "/journal/1");
    ASSERT_TRUE(wait(append(3)));
    disk->fail(Operation::allocate, 1, EIO, 1); // or the file is made already, and then:
    disk->fail(Operation::write, 2, EIO, 1, "/journal/2");
    for (int i = 0; i < 4; i++) {
        if (!journal->failing())
            wait(append(1));
        journal->tick();
        while (loop.run_one_within(std::chrono::milliseconds{50})) {
        }
    }
    ASSERT_FALSE(journal->failing());
    ASSERT_FALSE(wait(append(1)));
    ASSERT_FALSE(wait(append(1)));
    const JournalScan found = scan_durable();
    EXPECT_EQ(found.next(), journal->next());
    EXPECT_EQ(found.damage(1), "");
}

TEST_F(JournalTest, FirstFileThatCannotBeMadeAfterAStartLeavesNoHole) {
    open();
    ASSERT_FALSE(wait(append(2)));
    disk->fail(Operation::allocate, 1, ENOSPC, 1);
    open(64 << 10, 10, 3); // 3 to 9 were given out and are gone
    EXPECT_TRUE(journal->failing());
    journal->tick();
    loop.run_until([&] { return !journal->failing(); });
    ASSERT_FALSE(wait(append(1)));
    ASSERT_FALSE(wait(append(1)));
    EXPECT_EQ(scan_durable().damage(1), "");
}

TEST_F(JournalTest, MarkersCompleteWhatTheNewestFrameSays) {
    open();
    ASSERT_FALSE(wait(append(2, false)));
    for (int i = 0; i < 4; i++) {
        journal->tick();
        while (loop.run_one_within(std::chrono::milliseconds{50})) {
        }
    }
    EXPECT_EQ(journal->durable(), 3u);
    JournalScan found = scan_durable();
    EXPECT_EQ(found.chain_end(), 3u);
    EXPECT_EQ(found.counts().frames, 3u); // adds, then two markers: synced, and said so
    const std::uint64_t syncs = disk->syncs();
    journal->tick();
    EXPECT_TRUE(loop.is_idle());
    EXPECT_EQ(disk->syncs(), syncs); // an idle journal leaves the disk alone
}

TEST_F(JournalTest, ScanFindsTheHoleThatALaterFrameProves) {
    open();
    for (int i = 0; i < 5; i++)
        ASSERT_FALSE(wait(append(2)));
    const UniqueFd fd{::open((path + "/1").c_str(), O_RDWR | O_CLOEXEC)};
    const std::string zeros(80, '\0');
    const auto frame_at = [](int i) { return 4096 + i * 80; };
    ASSERT_EQ(::pwrite(fd.get(), zeros.data(), 80, frame_at(1)), 80);
    EXPECT_NE(scan().damage(1).find("from LSN 3 to 4"), std::string::npos) << scan().damage(1);
    EXPECT_EQ(scan().damage(5), "");
    // The last one, that nothing proves.
    ASSERT_EQ(::pwrite(fd.get(), zeros.data(), 80, frame_at(4)), 80);
    EXPECT_EQ(scan().damage(5), "");
    JournalScan found = scan();
    found.is_durable_below(11);
    EXPECT_NE(found.damage(5), "");
}

TEST_F(JournalTest, ScanMissesANamedFileUnlessALaterOneBeginsBelow) {
    open(5000);
    for (int i = 0; i < 20; i++)
        ASSERT_FALSE(wait(append(10)));
    const auto firsts = scan().first_lsns();
    ASSERT_GT(firsts.size(), 2u);
    std::filesystem::remove(path + "/1");
    EXPECT_NE(scan(1).damage(1).find("/journal/1' is missing"), std::string::npos);
    EXPECT_EQ(scan(firsts[1].second).damage(firsts[1].second), "");
    const std::string last = path + "/" + std::to_string(named.back().number);
    std::filesystem::resize_file(last, 10);
    const Lsn next = journal->next();
    EXPECT_NE(scan(next).damage(next).find(last), std::string::npos);
    JournalScan complete = scan(next);
    complete.is_durable_below(next);
    complete.is_complete();
    EXPECT_EQ(complete.damage(next), "");
}

// A start that adopts everything reads the newest file alone. Nothing may be said of the adds in the others, least of all
// that they were abandoned: the start after it would believe that, and skip them.
TEST(JournalScan, OfTheNewestFileAloneSaysNothingAgainstTheOthers) {
    const test::TempFolder temp;
    const UniqueFd folder{::open(temp.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    const Uuid state = Uuid::random();
    std::vector<JournalFileRecord> named;
    for (std::uint64_t number = 1; number <= 2; number++) {
        JournalFile file{folder.get(), temp.path(), state, number, 65536};
        JournalFrame frame;
        frame.type = journal_format::kAdds;
        frame.first = frame.after = number == 1 ? 1 : 100;
        frame.durable = 1; // as in a journal that is only written
        frame.hashes.resize(number == 1 ? 99 : 50);
        file.write({frame});
        named.push_back(file.record());
    }
    const auto scan = [&](Lsn from) {
        auto found = std::make_unique<JournalScan>(folder.get(), temp.path(), named, std::vector{state});
        found->read(from, [](const JournalFrameView &) {});
        return found;
    };
    EXPECT_EQ(scan(UINT64_MAX)->counts().frames, 1u);
    EXPECT_EQ(scan(UINT64_MAX)->chain_end(), 150u);
    EXPECT_EQ(scan(UINT64_MAX)->next(), 150u);
    // And a file is left out by where its successor's adds begin, not by what that says of the gap before.
    JournalFile third{folder.get(), temp.path(), state, 3, 65536};
    JournalFrame frame;
    frame.type = journal_format::kAdds;
    frame.first = 150;
    frame.after = 2;
    frame.hashes.resize(1);
    third.write({frame});
    named.push_back(third.record());
    EXPECT_EQ(scan(10)->counts().frames, 3u);
}

TEST(LsnRanges, JoinsWhatTouches) {
    LsnRanges ranges;
    ranges.add(10, 20);
    ranges.add(30, 40);
    ranges.add(5, 5);
    EXPECT_EQ(ranges.first_missing(1), 1u);
    EXPECT_EQ(ranges.first_missing(10), 20u);
    EXPECT_EQ(ranges.first_missing(19), 20u);
    EXPECT_EQ(ranges.first_missing(20), 20u);
    EXPECT_EQ(ranges.next_present(20), 30u);
    EXPECT_EQ(ranges.next_present(31), std::nullopt);
    EXPECT_TRUE(ranges.has_any(19, 30));
    EXPECT_FALSE(ranges.has_any(20, 30));
    EXPECT_FALSE(ranges.has_all(10, 40));
    ranges.add(20, 30);
    EXPECT_TRUE(ranges.has_all(10, 40));
    EXPECT_EQ(ranges.first_missing(10), 40u);
    ranges.add(1, 100);
    EXPECT_TRUE(ranges.has_all(1, 100));
    EXPECT_TRUE(ranges.has_all(7, 7));
}

TEST(JournalFiles, RemovableAreTheOldestThatNobodyNeeds) {
    JournalFiles files;
    for (std::uint64_t i = 1; i <= 4; i++)
        files.begin({{i, i}, 100 * i, 1000 + i, 10});
    const JournalFiles::Retention keep{.seconds = 100, .limit_bytes = 1000};
    EXPECT_TRUE(files.removable(1000, 1000, keep).empty()); // too young
    EXPECT_EQ(files.removable(1000, 5000, keep).size(), 3u); // never the last
    EXPECT_EQ(files.removable(300, 5000, keep).size(), 2u);
    EXPECT_TRUE(files.removable(199, 5000, keep).empty());
    EXPECT_EQ(files.removable(1000, 1000, {.seconds = 100, .limit_bytes = 25}).size(), 2u); // too many
    files.forget(1);
    EXPECT_EQ(files.bytes(), 30u);
}

} // namespace
} // namespace shmbloom
