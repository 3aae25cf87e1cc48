// What a SimulatedDisk loses, and what it never does.
#include "simulated_folder.h"

#include <algorithm>
#include <set>
#include <sys/stat.h>

namespace shmbloom::test {
namespace {

constexpr std::uint64_t kSeeds = 1000;
const std::string kContent = std::string(3000, 'c') + "end";

class PowerLoss : public testing::Test, protected SimulatedFolder<> {};

TEST_F(PowerLoss, NeverTakesWhatWasWrittenSyncedRenamedAndFolderSynced) {
    sync_to_disk(write("file.new", kContent).get(), "file.new");
    rename("file.new", "file");
    sync();
    const Tree whole{{"file", kContent}};
    EXPECT_EQ(durable(), whole);
    EXPECT_EQ(outcomes(kSeeds), (std::map<Tree, int>{{whole, kSeeds}}));
}

TEST_F(PowerLoss, TakesContentThatWasNotSynced) {
    write("file.new", kContent);
    rename("file.new", "file");
    sync();
    EXPECT_EQ(durable(), (Tree{{"file", ""}}));
    const auto found = outcomes(kSeeds);
    EXPECT_GT(found.at({{"file", kContent}}), 0);
    EXPECT_GT(found.at({{"file", ""}}), 0);
    EXPECT_GT(found.at({{"file", std::string(kContent.size(), '\0')}}), 0);
    EXPECT_GT(found.size(), 50u); // torn in many ways
}

TEST_F(PowerLoss, TakesNamesOfAFolderThatWasNotSynced) {
    sync_to_disk(write("file.new", kContent).get(), "file.new");
    rename("file.new", "file");
    EXPECT_EQ(durable(), Tree{});
    const auto found = outcomes(kSeeds);
    EXPECT_EQ(found.size(), 3u);
    for (const Tree &tree : {Tree{}, Tree{{"file.new", kContent}}, Tree{{"file", kContent}}})
        EXPECT_TRUE(found.contains(tree));
}

TEST_F(PowerLoss, LeavesTheOldOrTheNewUnderANameThatWasReplaced) {
    write_and_sync("file", "old");
    sync_to_disk(write("file.new", "new").get(), "file.new");
    sync();
    rename("file.new", "file");
    EXPECT_EQ(durable(), (Tree{{"file", "old"}, {"file.new", "new"}}));
    const auto found = outcomes(kSeeds);
    EXPECT_EQ(found.size(), 2u);
    EXPECT_TRUE(found.contains({{"file", "new"}}));
}

TEST_F(PowerLoss, MayBringBackWhatWasUnlinked) {
    write_and_sync("file", kContent);
    ASSERT_EQ(shmbloom::disk().unlink(folder.get(), "file"), 0);
    EXPECT_EQ(durable(), (Tree{{"file", kContent}}));
    EXPECT_EQ(outcomes(kSeeds).size(), 2u);
    sync();
    EXPECT_EQ(durable(), Tree{});
}

TEST_F(PowerLoss, LeavesEachSectorAsItWasAfterOneOfItsWrites) {
    const std::string a(2048, 'a'), b(1024, 'b'), c(1024, 'c');
    write_and_sync("file", a);
    write("file", b, 0);
    write("file", c, 512);
    EXPECT_EQ(durable(), (Tree{{"file", a}}));
    std::set<std::string> sectors_seen;
    for (const auto &[tree, count] : outcomes(kSeeds)) {
        const std::string &content = tree.at("file");
        ASSERT_EQ(content.size(), a.size());
        std::string sectors;
        for (std::size_t at = 0; at < content.size(); at += 512) {
            ASSERT_EQ(content.substr(at, 512), std::string(512, content[at])) << "a torn sector";
            sectors += content[at];
        }
        sectors_seen.insert(sectors);
    }
    // Two, three, two and one possible contents: all combinations, the last write without the first among them.
    EXPECT_EQ(sectors_seen.size(), 12u);
    EXPECT_TRUE(sectors_seen.contains("acca"));
}

TEST_F(PowerLoss, LeavesASizeBetweenTheDurableOneAndTheLast) {
    write_and_sync("file", std::string(700, 'a'));
    write("file", std::string(900, 'b'), 700);
    std::size_t least = 9999, most = 0, others = 0;
    for (const auto &[tree, count] : outcomes(kSeeds)) {
        const std::string &content = tree.at("file");
        EXPECT_EQ(content.substr(0, 700), std::string(700, 'a'));
        EXPECT_EQ(content.find_first_not_of(std::string_view{"b\0", 2}, 700), std::string::npos);
        least = std::min(least, content.size());
        most = std::max(most, content.size());
        others += content.size() != 700 && content.size() != 1600;
    }
    EXPECT_EQ(least, 700u);
    EXPECT_EQ(most, 1600u);
    EXPECT_GT(others, 10u);
}

TEST_F(PowerLoss, KeepsAnAllocationThatWasSyncedAndWritesIntoIt) {
    const UniqueFd fd = open("file");
    allocate_on_disk(fd.get(), 1500, "file");
    EXPECT_EQ(tree_at(path).at("file").size(), 1500u);
    sync_to_disk(fd.get(), "file");
    sync();
    EXPECT_EQ(durable().at("file"), std::string(1500, '\0'));
    write("file", "x", 1400);
    for (const auto &[tree, count] : outcomes(100))
        EXPECT_EQ(tree.at("file").size(), 1500u);
}

TEST_F(PowerLoss, ReadsZerosWhereAFileWasCutAndGrewAgain) {
    write_and_sync("file", kContent);
    const UniqueFd fd = open("file");
    ASSERT_EQ(shmbloom::disk().truncate(fd.get(), 100), 0);
    ASSERT_EQ(shmbloom::disk().truncate(fd.get(), 2000), 0);
    EXPECT_EQ(durable().at("file"), kContent);
    EXPECT_GT(outcomes(kSeeds).size(), 10u);
    sync_to_disk(fd.get(), "file");
    const std::string now = std::string(100, 'c') + std::string(1900, '\0');
    EXPECT_EQ(tree_at(path).at("file"), now);
    EXPECT_EQ(outcomes(kSeeds), (std::map<Tree, int>{{Tree{{"file", now}}, kSeeds}}));
}

TEST_F(PowerLoss, TakesAFolderWhoseParentWasNotSynced) {
    ASSERT_EQ(shmbloom::disk().make_folder(folder.get(), "below", 0700), 0);
    const UniqueFd below = open_folder(path + "/below");
    const UniqueFd fd = open_on_disk(below.get(), "file", O_RDWR | O_CREAT, 0600, "file");
    write_at(fd.get(), bytes_of(kContent), 0, "file");
    sync_to_disk(fd.get(), "file");
    sync_to_disk(below.get(), "below");
    EXPECT_EQ(durable(), Tree{});
    const Tree whole{{"below", "/"}, {"below/file", kContent}};
    EXPECT_EQ(outcomes(100).size(), 2u);
    sync();
    EXPECT_EQ(outcomes(100), (std::map<Tree, int>{{whole, 100}}));
}

TEST_F(PowerLoss, KeepsModes) {
    ASSERT_EQ(shmbloom::disk().make_folder(folder.get(), "below", 0700), 0);
    ASSERT_EQ(::fchmod(open("below/file").get(), 0640), 0);
    ASSERT_EQ(::fchmodat(folder.get(), "below", 0751, 0), 0);
    sync_to_disk(open_folder(path + "/below").get(), "below");
    sync();
    disk.lose_power(path, temp / "found", {});
    struct stat status {};
    ASSERT_EQ(::stat((temp / "found/below").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0751u);
    ASSERT_EQ(::stat((temp / "found/below/file").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
}

TEST_F(PowerLoss, FollowsAFileThatWasOpenedBeforeItsRename) {
    const UniqueFd fd = write("first", "one ");
    rename("first", "second");
    sync();
    write_at(fd.get(), bytes_of("two"), 4, "second");
    sync_to_disk(fd.get(), "second");
    EXPECT_EQ(durable(), (Tree{{"second", "one two"}}));
}

TEST_F(PowerLoss, TakesNoNewFileForAnUnlinkedOneOfTheSameInode) {
    write_and_sync("kept", "kept");
    for (int i = 0; i < 20; i++) {
        ASSERT_EQ(shmbloom::disk().unlink(folder.get(), "kept"), 0);
        write("kept", "other");
    }
    EXPECT_EQ(durable(), (Tree{{"kept", "kept"}}));
}

TEST_F(PowerLoss, DependsOnNothingButTheSeed) {
    write("a", kContent);
    write("b", kContent);
    for (std::uint64_t seed = 0; seed < 50; seed++)
        EXPECT_EQ(after({.seed = seed}), after({.seed = seed}));
}

// replace_file(), with the power lost before and after each of its syncs.
template <typename SomeDisk>
std::map<Tree, int> outcomes_of_replacing(std::uint64_t nth, bool after_it) {
    SimulatedFolder<SomeDisk> place;
    replace_file(place.folder.get(), "file", kContent, 0600, place.path);
    std::map<Tree, int> found;
    const std::function<void()> nothing, look = [&] { found = place.outcomes(200); };
    place.disk.stop_at_sync(nth, after_it ? nothing : look, after_it ? look : nothing);
    replace_file(place.folder.get(), "file", std::string(5000, 'n'), 0600, place.path);
    EXPECT_FALSE(found.empty()) << "there is no sync " << nth;
    return found;
}

std::set<std::string> contents_of_file(const std::map<Tree, int> &found) {
    std::set<std::string> contents;
    for (const auto &[tree, count] : found)
        contents.insert(tree.contains("file") ? tree.at("file") : "(missing)");
    return contents;
}

TEST(ReplaceFile, LeavesTheOldOrTheNewOneWholeWheneverPowerIsLost) {
    const std::string fresh(5000, 'n');
    EXPECT_EQ(contents_of_file(outcomes_of_replacing<SimulatedDisk>(1, false)), std::set<std::string>{kContent});
    EXPECT_EQ(contents_of_file(outcomes_of_replacing<SimulatedDisk>(1, true)), std::set<std::string>{kContent});
    EXPECT_EQ(contents_of_file(outcomes_of_replacing<SimulatedDisk>(2, false)), (std::set<std::string>{kContent, fresh}));
    EXPECT_EQ(contents_of_file(outcomes_of_replacing<SimulatedDisk>(2, true)), std::set<std::string>{fresh});
}

struct LiesAboutFiles : LyingDisk {
    explicit LiesAboutFiles(const std::string &root) : LyingDisk{root, Lies::about_files} {}
};
struct LiesAboutFolders : LyingDisk {
    explicit LiesAboutFolders(const std::string &root) : LyingDisk{root, Lies::about_folders} {}
};

TEST(LyingDisk, IsCaught) {
    const std::string fresh(5000, 'n');
    const auto all = contents_of_file(outcomes_of_replacing<LyingDisk>(2, true));
    EXPECT_TRUE(all.contains("(missing)"));
    EXPECT_GT(all.size(), 10u);
    const auto files = contents_of_file(outcomes_of_replacing<LiesAboutFiles>(2, true));
    EXPECT_FALSE(files.contains("(missing)"));
    EXPECT_GT(files.size(), 10u);
    EXPECT_EQ(contents_of_file(outcomes_of_replacing<LiesAboutFolders>(2, true)),
              (std::set<std::string>{"(missing)", kContent, fresh}));
}

} // namespace
} // namespace shmbloom::test
