// SHMBLOOM_FAIL, which a process reads at its first operation: each test acts in a child and looks at what it tells.
#include "sys/disk.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "sys/files.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

class DiskFault : public testing::Test {
  protected:
    // What `act` returns, a word for each operation, in a child with SHMBLOOM_FAIL set to `fault` (null: not set).
    std::string in_child(const char *fault, const std::function<std::string()> &act) {
        int pipe[2];
        if (::pipe2(pipe, O_CLOEXEC) != 0)
            return "no pipe";
        const UniqueFd from{pipe[0]};
        UniqueFd to{pipe[1]};
        const pid_t child = ::fork();
        if (child == 0) {
            ::unsetenv("SHMBLOOM_FAIL");
            if (fault != nullptr)
                ::setenv("SHMBLOOM_FAIL", fault, 1);
            const std::string told = act();
            ::_exit(::write(to.get(), told.data(), told.size()) == static_cast<ssize_t>(told.size()) ? 0 : 1);
        }
        { const UniqueFd closed{std::move(to)}; } // else the read below would wait for this process itself
        char told[4096];
        const ssize_t n = ::read(from.get(), told, sizeof told);
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
        return {told, static_cast<std::size_t>(n < 0 ? 0 : n)};
    }

    static std::string word(std::int64_t result) {
        return result >= 0 ? "ok " : std::string{::strerrorname_np(errno)} + " ";
    }

    // Each operation once, on "file" and a new folder.
    std::string one_of_each() const {
        const UniqueFd fd{disk().open(folder.get(), "file", O_RDWR | O_CREAT, 0600)};
        std::string told = "open " + word(fd.get());
        told += "write " + word(disk().write(fd.get(), "12345678", 8, 0));
        told += "allocate " + word(disk().allocate(fd.get(), 100));
        told += "truncate " + word(disk().truncate(fd.get(), 8));
        told += "sync " + word(disk().sync(fd.get()));
        told += "rename " + word(disk().rename(folder.get(), "file", "renamed"));
        told += "unlink " + word(disk().unlink(folder.get(), "renamed"));
        told += "mkdir " + word(disk().make_folder(folder.get(), "below", 0700));
        ::unlinkat(folder.get(), "file", 0);
        ::unlinkat(folder.get(), "renamed", 0);
        ::unlinkat(folder.get(), "below", AT_REMOVEDIR);
        return told;
    }

    const test::TempFolder temp;
    const UniqueFd folder = open_folder(temp.path());
};

const std::string kAllWell = "open ok write ok allocate ok truncate ok sync ok rename ok unlink ok mkdir ok ";

TEST_F(DiskFault, IsNoneWithoutTheVariable) {
    EXPECT_EQ(in_child(nullptr, [&] { return one_of_each(); }), kAllWell);
    EXPECT_EQ(in_child("", [&] { return one_of_each(); }), kAllWell);
}

TEST_F(DiskFault, HitsTheNamedOperationAlone) {
    for (const std::string operation : {"write", "allocate", "truncate", "sync", "mkdir"}) {
        std::string told = kAllWell;
        told.replace(told.find(operation + " ok"), operation.size() + 3, operation + " EROFS");
        EXPECT_EQ(in_child((operation + "::EROFS").c_str(), [&] { return one_of_each(); }), told);
    }
    EXPECT_EQ(in_child("open::EIO", [&] { return one_of_each(); }).substr(0, 9), "open EIO ");
    EXPECT_EQ(in_child("rename::EIO", [&] { return one_of_each(); }),
              "open ok write ok allocate ok truncate ok sync ok rename EIO unlink ENOENT mkdir ok ");
    EXPECT_EQ(in_child("unlink::EIO", [&] { return one_of_each(); }),
              "open ok write ok allocate ok truncate ok sync ok rename ok unlink EIO mkdir ok ");
}

TEST_F(DiskFault, HitsPathsThatHoldThePart) {
    EXPECT_EQ(in_child("sync:other:EIO", [&] { return one_of_each(); }), kAllWell);
    EXPECT_NE(in_child("sync:file:EIO", [&] { return one_of_each(); }), kAllWell);
    // Of a rename the name it makes.
    EXPECT_EQ(in_child("rename:file:EIO", [&] { return one_of_each(); }), kAllWell);
    EXPECT_NE(in_child("rename:renamed:EIO", [&] { return one_of_each(); }), kAllWell);
    // The whole path counts, not the name alone.
    EXPECT_NE(in_child(("mkdir:" + temp.path() + "/bel:EIO").c_str(), [&] { return one_of_each(); }), kAllWell);
}

TEST_F(DiskFault, HitsFromTheFirstToTheLastThatItCounts) {
    const auto five_syncs = [&] {
        std::string told;
        for (int i = 0; i < 5; i++)
            told += word(disk().sync(folder.get()));
        return told;
    };
    EXPECT_EQ(in_child("sync::EIO", five_syncs), "EIO EIO EIO EIO EIO ");
    EXPECT_EQ(in_child("sync::EIO:3", five_syncs), "ok ok EIO EIO EIO ");
    EXPECT_EQ(in_child("sync::EIO:3:1", five_syncs), "ok ok EIO ok ok ");
    EXPECT_EQ(in_child("sync::EIO:2:3", five_syncs), "ok EIO EIO EIO ok ");
    EXPECT_EQ(in_child("sync::EIO:6:1", five_syncs), "ok ok ok ok ok ");
}

TEST_F(DiskFault, FillsADiskWithAPartOfTheWriteFirst) {
    const auto sizes = [&] {
        const UniqueFd fd{disk().open(folder.get(), "file", O_RDWR | O_CREAT | O_TRUNC, 0600)};
        const auto n = disk().write(fd.get(), "12345678", 8, 0);
        return std::to_string(n) + " then " + word(disk().write(fd.get(), "x", 1, 4));
    };
    EXPECT_EQ(in_child("write::ENOSPC", sizes), "4 then ENOSPC ");
    EXPECT_EQ(read_file(temp / "file"), "1234");
    EXPECT_EQ(in_child("write::EIO", sizes), "-1 then EIO ");
    EXPECT_EQ(read_file(temp / "file"), "");
    // With its caller that goes on: the disk takes less and less, then nothing.
    const auto write_all = [&]() -> std::string {
        try {
            replace_file(folder.get(), "file", "12345678", 0600, "folder");
            return "ok";
        } catch (const std::system_error &error) {
            return error.what();
        }
    };
    EXPECT_EQ(in_child("write::ENOSPC", write_all), "write 'folder/file.new': No space left on device");
    EXPECT_EQ(read_file(temp / "file"), "");
    EXPECT_EQ(read_file(temp / "file.new"), "1234567");
    EXPECT_EQ(in_child("write::ENOSPC:1:2", write_all), "ok");
    EXPECT_EQ(read_file(temp / "file"), "12345678");
}

} // namespace
} // namespace shmbloom
