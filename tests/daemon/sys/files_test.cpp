#include "sys/files.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <thread>

#include "process.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

using test::TempFolder;

mode_t mode_of(const std::string &path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
}

std::size_t entries_in(const std::string &path) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator{path}, {}));
}

TEST(ReadFile, TellsMissingFromUnreadable) {
    const TempFolder folder;
    EXPECT_FALSE(read_file(folder / "missing"));
    std::filesystem::create_directory(folder / "folder");
    EXPECT_THROW(read_file(folder / "folder"), std::system_error);
}

TEST(ReadFile, ReadsEveryByteOfALongFile) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    std::string content(100'001, 'x');
    content[16384] = '\0';
    replace_file(fd.get(), "long", content, 0600, folder.path());
    EXPECT_EQ(read_file(folder / "long"), content);
    EXPECT_EQ(read_file_at(fd.get(), "long", folder.path()), content);
}

TEST(ReplaceFile, LeavesNothingButTheFileWithItsMode) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    const mode_t before = ::umask(077);
    replace_file(fd.get(), "file", "old", 0640, folder.path());
    ::umask(before);
    EXPECT_EQ(mode_of(folder / "file"), 0640u);
    replace_file(fd.get(), "file", "new", 0600, folder.path());
    EXPECT_EQ(read_file(folder / "file"), "new");
    EXPECT_EQ(mode_of(folder / "file"), 0600u);
    EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(ReplaceFile, OverwritesWhatACrashLeft) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    replace_file(fd.get(), "file.new", "a longer text that a crash left half-written", 0600, folder.path());
    replace_file(fd.get(), "file", "new", 0600, folder.path());
    EXPECT_EQ(read_file(folder / "file"), "new");
    EXPECT_FALSE(file_id_at(folder / "file.new"));
}

TEST(ReplaceFile, KeepsTheOldOneWhenItCannotWrite) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    replace_file(fd.get(), "file", "old", 0600, folder.path());
    std::filesystem::create_directory(folder / "file.new"); // which even root cannot write to
    EXPECT_THROW(replace_file(fd.get(), "file", "new", 0600, folder.path()), std::system_error);
    EXPECT_EQ(read_file(folder / "file"), "old");
}

TEST(ReplaceFile, WritesThroughNoSymbolicLink) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    replace_file(fd.get(), "victim", "precious", 0600, folder.path());
    std::filesystem::create_symlink("victim", folder / "file.new");
    EXPECT_THROW(replace_file(fd.get(), "file", "new", 0600, folder.path()), std::system_error);
    EXPECT_EQ(read_file(folder / "victim"), "precious");
}

TEST(ReplaceFile, IsSeenWholeByWhoReadsMeanwhile) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    replace_file(fd.get(), "file", std::string(50'000, 'a'), 0600, folder.path());
    std::atomic<bool> stop{false};
    std::thread writer{[&] {
        for (int i = 0; i < 100; i++)
            replace_file(fd.get(), "file", std::string(50'000, static_cast<char>('a' + i % 26)), 0600, folder.path());
        stop = true;
    }};
    while (!stop) {
        const std::string content = read_file(folder / "file").value_or("");
        ASSERT_EQ(content.size(), 50'000u);
        ASSERT_EQ(std::ranges::count(content, content[0]), 50'000);
    }
    writer.join();
}

// In a process of its own, which is killed at a named step.
test::Process::Exit replace_in_child(const TempFolder &folder, const char *step) {
    test::Process process{{SYS_TEST_CHILD, "replace", folder.path()}, {{"SHMBLOOM_CRASH_AT", step}}};
    return process.wait();
}

std::optional<std::string> content_after_kill_at(const char *step) {
    const TempFolder folder;
    replace_file(open_folder(folder.path()).get(), "file", "old", 0600, folder.path());
    EXPECT_EQ(replace_in_child(folder, step).signal, SIGKILL) << step;
    return read_file(folder / "file");
}

TEST(ReplaceFile, KilledBeforeTheRenameLeavesTheOldOne) {
    EXPECT_EQ(content_after_kill_at("file.written"), "old");
}

TEST(ReplaceFile, KilledAfterTheRenameLeavesTheNewOne) {
    EXPECT_EQ(content_after_kill_at("file.renamed"), "new");
}

TEST(CrashPoint, IsReachedTheNthTimeThatIsAskedFor) {
    EXPECT_EQ(content_after_kill_at("file.written:1"), "old");
    const TempFolder folder;
    EXPECT_EQ(replace_in_child(folder, "file.written:2").code, 0);
    EXPECT_EQ(read_file(folder / "file"), "new");
}

TEST(FileId, TellsFilesApartAndFollowsARename) {
    const TempFolder folder;
    const UniqueFd fd = open_folder(folder.path());
    replace_file(fd.get(), "first", "x", 0600, folder.path());
    replace_file(fd.get(), "second", "x", 0600, folder.path());
    const auto first = file_id_at(folder / "first");
    ASSERT_TRUE(first);
    EXPECT_NE(first, file_id_at(folder / "second"));
    std::filesystem::rename(folder / "first", folder / "third");
    EXPECT_EQ(file_id_at(folder / "third"), first);
    EXPECT_FALSE(file_id_at(folder / "first"));
    EXPECT_FALSE(file_id_at(folder / "third/below")); // a file is no folder
}

TEST(FileId, OfALinkIsTheLinks) {
    const TempFolder folder;
    replace_file(open_folder(folder.path()).get(), "file", "x", 0600, folder.path());
    std::filesystem::create_symlink("file", folder / "link");
    EXPECT_NE(file_id_at(folder / "link"), file_id_at(folder / "file"));
}

TEST(MakeFolder, MakesWhatIsMissingAboveAndSaysWhetherItWasNew) {
    const TempFolder folder;
    const mode_t before = ::umask(027);
    EXPECT_TRUE(make_folder(folder / "a/b/c", 0750));
    ::umask(before);
    EXPECT_EQ(mode_of(folder / "a/b/c"), 0750u);
    EXPECT_FALSE(make_folder(folder / "a/b/c", 0700));
    EXPECT_EQ(mode_of(folder / "a/b/c"), 0750u);
}

TEST(MakeFolder, RefusesAFileInItsPlace) {
    const TempFolder folder;
    replace_file(open_folder(folder.path()).get(), "file", "x", 0600, folder.path());
    EXPECT_THROW(make_folder(folder / "file", 0700), std::system_error);
    EXPECT_THROW(open_folder(folder / "file"), std::system_error);
}

TEST(OsError, SaysWhatWasTriedOnWhat) {
    try {
        open_folder("/no/such/folder");
        FAIL();
    } catch (const std::system_error &error) {
        EXPECT_EQ(error.code().value(), ENOENT);
        EXPECT_STREQ(error.what(), "open the folder '/no/such/folder': No such file or directory");
    }
}

} // namespace
} // namespace shmbloom
