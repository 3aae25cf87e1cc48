// Faults, stops and threads of a SimulatedDisk, and what is done past it.
#include "simulated_folder.h"

#include <atomic>
#include <thread>

namespace shmbloom::test {
namespace {

using Operation = SimulatedDisk::Operation;

class SimulatedDiskTest : public testing::Test, protected SimulatedFolder<> {
  protected:
    int error_of(const std::function<void()> &act) {
        try {
            act();
            return 0;
        } catch (const std::system_error &error) {
            return error.code().value();
        }
    }
};

TEST_F(SimulatedDiskTest, DoesEverythingForReal) {
    write("a", "content");
    rename("a", "b");
    write("c", "gone");
    ASSERT_EQ(shmbloom::disk().unlink(folder.get(), "c"), 0);
    ASSERT_EQ(shmbloom::disk().make_folder(folder.get(), "d", 0700), 0);
    EXPECT_EQ(tree_at(path), (Tree{{"b", "content"}, {"d", "/"}}));
    EXPECT_EQ(shmbloom::disk().unlink(folder.get(), "missing"), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(shmbloom::disk().open(folder.get(), "no/such/folder", O_RDWR | O_CREAT, 0600), -1);
    EXPECT_EQ(errno, ENOENT);
}

TEST_F(SimulatedDiskTest, FailsTheOperationsThatItIsToldTo) {
    disk.fail(Operation::open, 2, EIO, 2, "file");
    EXPECT_EQ(error_of([&] { open("file"); }), 0);
    EXPECT_EQ(error_of([&] { open("other"); }), 0);
    EXPECT_EQ(error_of([&] { open("file"); }), EIO);
    EXPECT_EQ(error_of([&] { open("file"); }), EIO);
    EXPECT_EQ(error_of([&] { open("file"); }), 0);

    const UniqueFd fd = open("file");
    for (const Operation operation : {Operation::allocate, Operation::truncate, Operation::rename, Operation::unlink,
                                      Operation::make_folder, Operation::sync})
        disk.fail(operation, 1, ENOSPC);
    EXPECT_EQ(error_of([&] { allocate_on_disk(fd.get(), 100, "file"); }), ENOSPC);
    EXPECT_EQ(shmbloom::disk().truncate(fd.get(), 10), -1);
    EXPECT_EQ(shmbloom::disk().rename(folder.get(), "file", "renamed"), -1);
    EXPECT_EQ(shmbloom::disk().unlink(folder.get(), "file"), -1);
    EXPECT_EQ(shmbloom::disk().make_folder(folder.get(), "below", 0700), -1);
    EXPECT_EQ(error_of([&] { sync(); }), ENOSPC);
    EXPECT_EQ(tree_at(path), (Tree{{"file", ""}, {"other", ""}}));
    EXPECT_EQ(durable(), Tree{});
}

TEST_F(SimulatedDiskTest, WritesHalfWhenAWriteIsToBeShort) {
    disk.fail(Operation::write, 1, 0);
    disk.fail(Operation::write, 2, ENOSPC);
    EXPECT_EQ(error_of([&] { write("file", "12345678"); }), ENOSPC);
    EXPECT_EQ(tree_at(path), (Tree{{"file", "1234"}}));
    disk.fail(Operation::write, 1, 0, 3);
    sync_to_disk(write("file", "abcdefgh").get(), "file"); // goes on where it stopped
    sync();
    EXPECT_EQ(durable(), (Tree{{"file", "abcdefgh"}}));
}

TEST_F(SimulatedDiskTest, WritesNothingMoreOfWhatASyncFailedOn) {
    write_and_sync("file", "old");
    const UniqueFd fd = write("file", "new");
    disk.fail(Operation::sync, 1, EIO);
    EXPECT_EQ(error_of([&] { sync_to_disk(fd.get(), "file"); }), EIO);
    sync_to_disk(fd.get(), "file");
    EXPECT_EQ(durable(), (Tree{{"file", "old"}}));
    EXPECT_EQ(outcomes(100).size(), 2u); // a part may have got there
    write("file", "new");
    sync_to_disk(fd.get(), "file");
    EXPECT_EQ(outcomes(100), (std::map<Tree, int>{{Tree{{"file", "new"}}, 100}}));
}

TEST_F(SimulatedDiskTest, StopsBeforeAndAfterTheSyncThatItIsToldTo) {
    Tree before, later;
    write_and_sync("first", "1");
    const std::uint64_t counted = disk.syncs();
    EXPECT_EQ(counted, 2u);
    disk.stop_at_sync(2, [&] { before = durable(); }, [&] { later = durable(); });
    write_and_sync("second", "2");
    write_and_sync("third", "3");
    EXPECT_EQ(before, (Tree{{"first", "1"}}));
    EXPECT_EQ(later, (Tree{{"first", "1"}, {"second", "2"}}));
    EXPECT_EQ(disk.syncs(), counted + 4);
}

TEST_F(SimulatedDiskTest, LetsAStopThrow) {
    disk.stop_at_sync(1, [] { throw std::runtime_error{"no power"}; });
    EXPECT_THROW(write_and_sync("file", "x"), std::runtime_error);
    EXPECT_EQ(durable(), Tree{});
    write_and_sync("file", "x");
    EXPECT_EQ(durable(), (Tree{{"file", "x"}}));
}

TEST_F(SimulatedDiskTest, CountsWhatWasMadePastItAsNotSynced) {
    std::filesystem::create_directory(path + "/past");
    const UniqueFd fd{::open((path + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    ASSERT_EQ(::write(fd.get(), "pid", 3), 3);
    EXPECT_EQ(durable(), Tree{});
    EXPECT_TRUE(outcomes(200).contains({{"lock", "pid"}, {"past", "/"}}));
    sync();
    EXPECT_EQ(durable(), (Tree{{"lock", ""}, {"past", "/"}}));
    sync_to_disk(fd.get(), "lock");
    EXPECT_EQ(durable(), (Tree{{"lock", "pid"}, {"past", "/"}}));
    std::filesystem::remove(path + "/lock");
    EXPECT_EQ(durable(), (Tree{{"lock", "pid"}, {"past", "/"}}));
    sync();
    EXPECT_EQ(durable(), (Tree{{"past", "/"}}));
}

TEST(SimulatedDisk, TakesWhatItFindsForDurable) {
    TempFolder temp;
    std::filesystem::create_directories(temp / "root/below");
    const UniqueFd below = open_folder(temp / "root/below");
    replace_file(below.get(), "old", std::string(2000, 'o'), 0600, "below");
    replace_file(below.get(), "cut", "cut", 0600, "below");
    std::filesystem::create_symlink("old", temp / "root/below/link");

    SimulatedDisk disk{temp / "root"};
    const InstalledDisk installed{disk};
    std::filesystem::create_directory(temp / "root/below/past");
    write_at(open_on_disk(below.get(), "old", O_RDWR, 0, "old").get(), bytes_of("new"), 0, "old");
    open_on_disk(below.get(), "cut", O_RDWR | O_TRUNC, 0, "cut");
    disk.lose_power(temp / "root", temp / "found", {.seed = 0, .keep_nothing = true});
    EXPECT_EQ(tree_at(temp / "found"), (Tree{{"below", "/"},
                                             {"below/cut", "cut"},
                                             {"below/link", std::string(2000, 'o')},
                                             {"below/old", std::string(2000, 'o')}}));
    EXPECT_TRUE(std::filesystem::is_symlink(temp / "found/below/link"));
}

TEST_F(SimulatedDiskTest, ComesBackInTheSameFolderWithAllOfItDurable) {
    write_and_sync("kept", "kept");
    write("lost", "lost");
    disk.lose_power(path, temp / "found", {.seed = 0, .keep_nothing = true});
    write("kept", "more");
    const FileId id = file_id(folder.get());
    disk.come_back(path, temp / "found");
    EXPECT_EQ(file_id(folder.get()), id);
    EXPECT_EQ(tree_at(path), (Tree{{"kept", "kept"}}));
    EXPECT_EQ(durable(), (Tree{{"kept", "kept"}}));
    write_and_sync("later", "later");
    EXPECT_EQ(durable(), (Tree{{"kept", "kept"}, {"later", "later"}}));
}

// Each thread appends to a file of its own and to one that all sync; power is lost in the middle of it, again and again.
TEST_F(SimulatedDiskTest, KeepsWhatAnyThreadWasPromised) {
    constexpr int kThreads = 3, kAppends = 200;
    const UniqueFd shared = open("shared");
    std::vector<UniqueFd> own;
    for (int i = 0; i < kThreads; i++)
        own.push_back(open("own" + std::to_string(i)));
    sync();
    std::array<std::atomic<std::uint64_t>, kThreads> promised{};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; i++)
        threads.emplace_back([&, i] {
            for (std::uint64_t n = 0; n < kAppends; n++) {
                write_at(own[i].get(), bytes_of("x"), n, "own");
                write_at(shared.get(), bytes_of("x"), i * kAppends + n, "shared");
                sync_to_disk(own[i].get(), "own");
                sync_to_disk(shared.get(), "shared");
                promised[i] = n + 1;
            }
        });
    for (std::uint64_t seed = 0; seed < 100; seed++) {
        std::array<std::uint64_t, kThreads> before;
        for (std::size_t i = 0; i < kThreads; i++)
            before[i] = promised[i];
        const Tree tree = after({.seed = seed, .keep_nothing = seed % 4 == 0});
        for (std::size_t i = 0; i < kThreads; i++) {
            const std::string kept(before[i], 'x');
            EXPECT_EQ(tree.at("own" + std::to_string(i)).substr(0, before[i]), kept);
            if (before[i] > 0) {
                EXPECT_EQ(tree.at("shared").substr(i * kAppends, before[i]), kept);
            }
        }
    }
    for (std::jthread &thread : threads)
        thread.join();
    EXPECT_EQ(durable().at("shared"), std::string(kThreads * kAppends, 'x'));
}

} // namespace
} // namespace shmbloom::test
