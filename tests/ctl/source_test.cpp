#include "source.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace shmbloom::ctl;

namespace {

class SourceTest : public testing::Test {
  protected:
    void SetUp() override { std::ofstream{path_} << "one\ntwo\n"; }
    void TearDown() override { std::remove(path_.c_str()); }

    static Source opened(const LoadOptions &options) {
        auto source = Source::open(options);
        EXPECT_EQ(failure_of(source), nullptr);
        return std::get<Source>(std::move(source));
    }
    static LoadOptions from_file(const std::string &path) {
        LoadOptions options;
        options.file = path;
        return options;
    }

    const std::string path_ = testing::TempDir() + "shmbloomctl-source-" + std::to_string(::getpid());
};

} // namespace

TEST_F(SourceTest, AFileCountsWhenItWasReadWhole) {
    Source source = opened(from_file(path_));
    EXPECT_FALSE(source.start());
    EXPECT_TRUE(source.is_end_certain());
    EXPECT_EQ(source.size_bytes(), 8u);
    EXPECT_FALSE(source.check_end(8, -1));
    const auto cut = source.check_end(4, -1);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->code, Exit::source_failed);
}

TEST_F(SourceTest, AFileThatIsNotThereOrAFolderFails) {
    for (const char *path : {"/nonexistent/ids", "/"}) {
        const auto source = Source::open(from_file(path));
        ASSERT_NE(failure_of(source), nullptr);
        EXPECT_EQ(failure_of(source)->code, Exit::source_failed);
    }
}

// `load links <(psql ...)`: the shell gives a pipe's path.
TEST_F(SourceTest, APipeGivenAsFileIsStillAPipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const LoadOptions options = from_file("/dev/fd/" + std::to_string(ends[0]));
    EXPECT_FALSE(opened(options).is_end_certain());
    EXPECT_FALSE(opened(from_file("-")).is_end_certain());
    EXPECT_FALSE(opened(from_file("/dev/null")).is_end_certain());
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(SourceTest, ACommandCountsByItsExitCode) {
    LoadOptions options;
    options.command = {"false"};
    Source source = opened(options);
    EXPECT_TRUE(source.is_end_certain());
    ASSERT_FALSE(source.start());
    EXPECT_EQ(source.check_end(0, -1)->code, Exit::source_failed);
}
