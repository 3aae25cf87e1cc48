#include "sys/lock_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <sys/wait.h>

#include "sys/os_error.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

class Lock : public testing::Test {
  protected:
    std::string refusal() {
        try {
            LockFile{path, "instance 'second'"};
        } catch (const Refusal &error) {
            return error.what();
        }
        return "";
    }

    test::TempFolder folder;
    const std::string path = folder / "lock";
};

TEST_F(Lock, IsRefusedToASecondOneSayingWhoHoldsIt) {
    const LockFile held{path, "instance 'first'"};
    EXPECT_EQ(refusal(),
              "another shmbloomd holds '" + path + "': pid " + std::to_string(::getpid()) +
                  ", instance 'first'; stop it first, or give this one folders and an --instance of its own");
    EXPECT_TRUE(held.is_in_place()); // the refused one changed nothing
    EXPECT_EQ(refusal().find("second"), std::string::npos);
}

TEST_F(Lock, IsFreeAgainWithItsObject) {
    std::optional<LockFile> held{std::in_place, path, "a longer text than the next one's"};
    held.reset();
    const LockFile again{path, "x"};
    EXPECT_EQ(read_file(path), "pid " + std::to_string(::getpid()) + ", x\n");
}

TEST_F(Lock, IsForItsOwnerAlone) {
    std::ofstream{path} << "somebody's";
    std::filesystem::permissions(path, std::filesystem::perms{0644});
    const LockFile held{path, "x"};
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
}

TEST_F(Lock, IsFreeAgainWhenItsProcessIsKilled) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const LockFile held{path, "child"};
        if (::write(ready[1], "x", 1) == 1)
            ::pause();
        ::_exit(1);
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    EXPECT_NE(refusal().find("pid " + std::to_string(child) + ", child"), std::string::npos);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ready[0]);
    ::close(ready[1]);
    EXPECT_EQ(refusal(), "");
}

TEST_F(Lock, IsNotInPlaceOnceItsNameIsGone) {
    const LockFile held{path, "x"};
    EXPECT_TRUE(held.is_in_place());
    std::filesystem::remove(path);
    EXPECT_FALSE(held.is_in_place());
    EXPECT_EQ(refusal(), ""); // so that another one may run by now: the holder must notice
    EXPECT_FALSE(held.is_in_place());
}

TEST_F(Lock, IsNotInPlaceOnceItsNameLeadsElsewhere) {
    const LockFile held{path, "x"};
    std::ofstream{folder / "other"} << "x";
    std::filesystem::rename(folder / "other", path);
    EXPECT_FALSE(held.is_in_place());
}

TEST_F(Lock, FollowsNoSymbolicLink) {
    std::filesystem::create_symlink("elsewhere", path);
    EXPECT_THROW((LockFile{path, "x"}), std::system_error);
    EXPECT_FALSE(file_id_at(folder / "elsewhere"));
}

TEST_F(Lock, InAMissingFolderIsTheSystemsError) {
    EXPECT_THROW((LockFile{folder / "missing/lock", "x"}), std::system_error);
}

} // namespace
} // namespace shmbloom
