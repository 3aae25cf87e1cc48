#include "sys/log.h"

#include <gtest/gtest.h>

#include "process.h"

namespace shmbloom::log {
namespace {

class Log : public testing::Test {
  protected:
    void TearDown() override { set_level(Level::info); }

    static std::string all_levels_at(Level level) {
        set_level(level);
        testing::internal::CaptureStderr();
        critical("c");
        error("e");
        warning("w");
        info("i");
        debug("d");
        return testing::internal::GetCapturedStderr();
    }
};

TEST_F(Log, WritesItsLevelAndWhatIsMoreUrgent) {
    EXPECT_EQ(all_levels_at(Level::critical), "shmbloomd: critical: c\n");
    EXPECT_EQ(all_levels_at(Level::error), "shmbloomd: critical: c\nshmbloomd: error: e\n");
    EXPECT_EQ(all_levels_at(Level::warning), "shmbloomd: critical: c\nshmbloomd: error: e\nshmbloomd: warning: w\n");
    EXPECT_EQ(all_levels_at(Level::info),
              "shmbloomd: critical: c\nshmbloomd: error: e\nshmbloomd: warning: w\nshmbloomd: info: i\n");
    EXPECT_EQ(all_levels_at(Level::debug), "shmbloomd: critical: c\nshmbloomd: error: e\nshmbloomd: warning: w\n"
                                           "shmbloomd: info: i\nshmbloomd: debug: d\n");
}

TEST_F(Log, KnowsItsLevelsByName) {
    EXPECT_EQ(parse_level("critical"), Level::critical);
    EXPECT_EQ(parse_level("error"), Level::error);
    EXPECT_EQ(parse_level("warning"), Level::warning);
    EXPECT_EQ(parse_level("info"), Level::info);
    EXPECT_EQ(parse_level("debug"), Level::debug);
    for (const char *text : {"", "Info", "warn", "info ", "6"})
        EXPECT_FALSE(parse_level(text)) << "'" << text << "'";
}

// In a process of its own: what a line looks like is decided once a process.
TEST_F(Log, UnderSystemdBeginsWithThePriority) {
    const auto finished = test::run({SYS_TEST_CHILD, "log"}, "", {{"JOURNAL_STREAM", "8:1"}});
    EXPECT_EQ(finished.code, 0);
    EXPECT_EQ(finished.log, "<2>c\n<3>e\n<4>w\n<6>i\n<7>d\n");
}

} // namespace
} // namespace shmbloom::log
