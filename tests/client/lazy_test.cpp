// SHMBLOOM_OPEN_LAZY: who comes before the daemon or the filter need not open again; all else still fails at open.
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "forms.h"
#include "internal.h"

namespace shmbloom::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

class Lazy : public testing::Test {
  protected:
    World world;

    shmbloom_options lazy() const {
        shmbloom_options options = options_for(world);
        options.flags = SHMBLOOM_OPEN_LAZY;
        return options;
    }
    // What open returns, with its text.
    int open_lazily(const std::string &name, shmbloom_options options) {
        char line[512] = "";
        options.error_text = line;
        options.error_text_size = sizeof line;
        shmbloom_filter *f = nullptr;
        const int r = shmbloom_open(&f, name.c_str(), &options);
        shmbloom_close(f);
        text = line;
        return r;
    }
    std::string text;
};

TEST_F(Lazy, GoesFromNoFolderToLiveWithoutOpeningAgain) {
    const std::string elsewhere = world.folder() + ".away";
    std::filesystem::rename(world.folder(), elsewhere);
    const Handle handle = open("links", lazy());
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_NO_CONTROL);
    std::filesystem::rename(elsewhere, world.folder());
    (void)info(handle); // looks now
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_NO_FILTER);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    Filter &filter = world.create("links", {.doubts = SHMBLOOM_DOUBT_WARMING});
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).doubts, SHMBLOOM_INFO_WARMING);
    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(info(handle).unverified, 3u);
}

TEST_F(Lazy, LooksAgainByItselfAndAtMostOnceInAHundredMilliseconds) {
    const std::string elsewhere = world.folder() + "/away";
    world.create("links");
    std::filesystem::rename(world.control_path(), elsewhere);
    const Handle handle = open("links", lazy());
    (void)info(handle); // looks now
    const auto begin = Clock::now();
    std::filesystem::rename(elsewhere, world.control_path());
    ASSERT_TRUE(eventually([&] { return contains(handle, "x") == SHMBLOOM_ABSENT; }));
    const auto passed = Clock::now() - begin;
    EXPECT_GE(passed, milliseconds{80}); // the coarse clock may lag by a tick or two
    EXPECT_LE(passed, milliseconds{1000});
}

TEST_F(Lazy, DoesAllElseWithoutADaemonToo) {
    world.remove_control();
    const Handle handle = open("links", lazy());
    const std::vector<std::string> keys{"a", "b"};
    std::vector<std::uint8_t> answers(2);
    EXPECT_EQ(shmbloom_contains_many(handle.get(), Keys{keys}.data(), 2, answers.data()), 0);
    EXPECT_EQ(answers, std::vector<std::uint8_t>(2, SHMBLOOM_UNVERIFIED));
    EXPECT_EQ(shmbloom_contains_u64(handle.get(), 1), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(shmbloom_add(handle.get(), "x", 1), -ENXIO);
    EXPECT_EQ(shmbloom_add_many(handle.get(), Keys{keys}.data(), 2, answers.data()), -ENXIO);
    EXPECT_EQ(answers, std::vector<std::uint8_t>(2, SHMBLOOM_NOT_ADDED));
    std::uint64_t hash = 0, domain = 0;
    EXPECT_EQ(shmbloom_hash(handle.get(), "x", 1, &hash, &domain), -ENXIO);
    EXPECT_EQ(shmbloom_report_found(handle.get(), "x", 1), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(shmbloom_report_missing(handle.get(), "x", 1), SHMBLOOM_UNVERIFIED);
    EXPECT_STREQ(shmbloom__runtime_dir(handle.get()), "");
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.live, 0);
    EXPECT_EQ(i.daemon_pid, SHMBLOOM_UNKNOWN);
    EXPECT_EQ(i.heartbeat_age_ms, SHMBLOOM_UNKNOWN);
    EXPECT_STREQ(i.runtime_dir, "");
    EXPECT_NE(std::strstr(i.handle_doubts_text, world.folder().c_str()), nullptr) << i.handle_doubts_text;
}

TEST_F(Lazy, AddsOnceThereIsAFilter) {
    const Handle handle = open("links", lazy());
    EXPECT_EQ(shmbloom_add(handle.get(), "x", 1), -ENOENT);
    world.create("links");
    KeepingDaemon daemon{world};
    EXPECT_EQ(shmbloom_add(handle.get(), "x", 1), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_MAYBE);
}

TEST_F(Lazy, ForgivesNoBadNameNorOption) {
    EXPECT_EQ(open_lazily("a b", lazy()), -EINVAL);
    shmbloom_options options = lazy();
    options.instance = "a/b";
    EXPECT_EQ(open_lazily("links", options), -EINVAL);
    options = lazy();
    options.flags |= 4;
    EXPECT_EQ(open_lazily("links", options), -EINVAL);
}

TEST_F(Lazy, ForgivesNoFormatThatIsUnknown) {
    world.create("links");
    world.control()->version = 2;
    EXPECT_EQ(open_lazily("links", lazy()), -EPROTONOSUPPORT);
    world.control()->version = 1;
    world.control()->magic ^= 1;
    EXPECT_EQ(open_lazily("links", lazy()), -EBADMSG);
    world.control()->magic ^= 1;
    Segment &segment = *world.find("links")->segment;
    segment.corrupt_byte(100);
    EXPECT_EQ(open_lazily("links", lazy()), -EBADMSG);
    segment.corrupt_byte(100);
    segment.header()->incompat = 1;
    segment.seal();
    EXPECT_EQ(open_lazily("links", lazy()), -EPROTONOSUPPORT);
}

TEST_F(Lazy, ForgivesNoFolderThatIsNotToBeTrusted) {
    ASSERT_EQ(::chmod(world.folder().c_str(), 0777), 0);
    EXPECT_EQ(open_lazily("links", lazy()), -EPERM);
}

TEST_F(Lazy, ForgivesNoLackOfPermission) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to become somebody else";
    // Neither where a control is nor where one may be.
    for (const bool with_control : {true, false}) {
        if (!with_control)
            world.remove_control();
        ASSERT_EQ(::chmod(world.folder().c_str(), 0700), 0);
        EXPECT_EQ(in_child([&] {
                      if (::setgid(65534) != 0 || ::setuid(65534) != 0)
                          return 1;
                      return open_lazily("links", lazy()) == -EACCES ? 42 : 0;
                  }),
                  42);
    }
}

TEST_F(Lazy, TakesAFolderThatIsYetToCome) {
    world.create("links");
    const std::string elsewhere = world.folder() + ".away";
    std::filesystem::rename(world.folder(), elsewhere);
    const auto before = std::filesystem::current_path();
    std::filesystem::current_path("/tmp");
    shmbloom_options options = lazy();
    const std::string relative = world.folder().substr(5);
    options.runtime_dir = relative.c_str();
    const Handle handle = open("links", options);
    options.flags = 0;
    EXPECT_EQ(open_lazily("links", options), -ENXIO);
    std::filesystem::current_path(before);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    std::filesystem::rename(elsewhere, world.folder());
    EXPECT_EQ(info(handle).live, 1);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
}

TEST_F(Lazy, DoesNotLookWhereAnotherDaemonCouldBeMeanwhile) {
    // Under $XDG_RUNTIME_DIR, where an open that is not lazy finds it.
    world.create("links");
    const std::string base = "/tmp/shmbloom-lazy-" + std::to_string(::getpid());
    const std::string instance = "test" + std::to_string(::getpid());
    std::filesystem::create_directories(base + "/shmbloom");
    ::chmod((base + "/shmbloom").c_str(), 0755);
    std::filesystem::rename(world.folder(), base + "/shmbloom/" + instance);
    EXPECT_EQ(in_child([&] {
                  ::setenv("XDG_RUNTIME_DIR", base.c_str(), 1);
                  ::unsetenv("SHMBLOOM_RUNTIME_DIR");
                  shmbloom_options options{};
                  options.struct_size = sizeof options;
                  options.instance = instance.c_str();
                  shmbloom_filter *f = nullptr;
                  if (shmbloom_open(&f, "links", &options) != 0 || shmbloom_contains(f, "x", 1) != SHMBLOOM_ABSENT)
                      return 1;
                  f = shmbloom_close(f);
                  options.flags = SHMBLOOM_OPEN_LAZY;
                  if (shmbloom_open(&f, "links", &options) != 0 || shmbloom_contains(f, "x", 1) != SHMBLOOM_UNVERIFIED)
                      return 2;
                  shmbloom_info i{};
                  i.struct_size = sizeof i;
                  (void)shmbloom_get_info(f, &i);
                  f = shmbloom_close(f);
                  if (std::strstr(i.handle_doubts_text, ("in /run/shmbloom/" + instance + ":").c_str()) == nullptr)
                      return 3;
                  // The environment may name it.
                  ::setenv("SHMBLOOM_RUNTIME_DIR", (base + "/shmbloom/" + instance).c_str(), 1);
                  if (shmbloom_open(&f, "links", &options) != 0 || shmbloom_contains(f, "x", 1) != SHMBLOOM_ABSENT)
                      return 4;
                  return 42;
              }),
              42);
    std::filesystem::rename(base + "/shmbloom/" + instance, world.folder());
    std::filesystem::remove_all(base);
}

TEST_F(Lazy, MayBeInShadowModeToo) {
    shmbloom_options options = lazy();
    options.flags |= SHMBLOOM_OPEN_SHADOW;
    const Handle handle = open("links", options);
    world.create("links");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).would_be_absent, 1u);
}

} // namespace
} // namespace shmbloom::test
