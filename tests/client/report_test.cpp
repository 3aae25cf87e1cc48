// Reports: what the source said, counted, and a wrong "absent" told to the daemon.
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

#include "fake_daemon.h"

namespace shmbloom::test {
namespace {

int report_found(const Handle &handle, std::string_view key) {
    return shmbloom_report_found(handle.get(), key.data(), key.size());
}

int report_missing(const Handle &handle, std::string_view key) {
    return shmbloom_report_missing(handle.get(), key.data(), key.size());
}

// Bits cleared in memory that the test made: no add does that.
void forget_everything(const Filter &filter) {
    std::memset(filter.segment->words(), 0, shmbloom_shape_bytes(&filter.spec.shape));
}

class Report : public testing::TestWithParam<Spec> {
  protected:
    World world;
    Filter &filter = world.create("links", GetParam());
    Handle handle = open(world, "links");
};

TEST_P(Report, OfAWrongAbsentIsCountedToldAndAdded) {
    KeepingDaemon daemon{world};
    ASSERT_EQ(shmbloom_add(handle.get(), "key", 3), SHMBLOOM_ABSENT);
    EXPECT_EQ(report_found(handle, "key"), SHMBLOOM_MAYBE);
    EXPECT_EQ(daemon.commands().size(), 1u);
    forget_everything(filter);
    ASSERT_EQ(contains(handle, "key"), SHMBLOOM_ABSENT);
    EXPECT_EQ(report_found(handle, "key"), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(handle, "key"), SHMBLOOM_MAYBE);
    EXPECT_EQ(report_found(handle, "key"), SHMBLOOM_MAYBE);
    char hash[17], domain[17];
    std::snprintf(hash, sizeof hash, "%016" PRIx64, shmbloom_hash_bytes("key", 3, 0, filter.spec.seed));
    std::snprintf(domain, sizeof domain, "%016" PRIx64, info(handle).hash_domain);
    ASSERT_EQ(daemon.commands().size(), 2u);
    EXPECT_EQ(daemon.commands()[1], (Command{"SB.REPORT", "links", domain, hash, std::to_string(filter.generation)}));
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.wrong_absent, 1u);
    EXPECT_EQ(i.false_positives, 0u);
    EXPECT_EQ(i.absent, 1u); // reports are no answers
    EXPECT_EQ(i.maybe, 1u);
}

TEST_P(Report, OfAMaybeThatWasNotThereIsCounted) {
    world.add(filter, "key");
    EXPECT_EQ(report_missing(handle, "key"), SHMBLOOM_MAYBE);
    EXPECT_EQ(report_missing(handle, "other"), SHMBLOOM_ABSENT);
    world.set_doubts(filter, SHMBLOOM_DOUBT_WARMING);
    EXPECT_EQ(report_missing(handle, "key"), SHMBLOOM_UNVERIFIED);
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.false_positives, 1u);
    EXPECT_EQ(i.wrong_absent, 0u);
    EXPECT_EQ(i.absent + i.maybe + i.unverified, 0u);
}

INSTANTIATE_TEST_SUITE_P(EveryShape, Report, testing::ValuesIn(every_shape()));

TEST(Reports, OfNumbersAreTheSame) {
    World world;
    Filter &filter = world.create("numbers", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    const Handle handle = open(world, "numbers");
    KeepingDaemon daemon{world};
    EXPECT_EQ(shmbloom_report_found_u64(handle.get(), 42), SHMBLOOM_ABSENT);
    EXPECT_EQ(shmbloom_report_found_u64(handle.get(), 42), SHMBLOOM_MAYBE);
    EXPECT_EQ(shmbloom_report_missing_u64(handle.get(), 42), SHMBLOOM_MAYBE);
    EXPECT_EQ(shmbloom_report_missing_u64(handle.get(), 43), SHMBLOOM_ABSENT);
    EXPECT_EQ(shmbloom_contains_u64(handle.get(), 42), SHMBLOOM_MAYBE);
    EXPECT_EQ(info(handle).wrong_absent, 1u);
    EXPECT_EQ(info(handle).false_positives, 1u);
    EXPECT_EQ(report_found(handle, "42"), -EPROTOTYPE);
    EXPECT_EQ(report_missing(handle, "42"), -EPROTOTYPE);
    // The type is known while the filter is in doubt.
    world.set_doubts(filter, SHMBLOOM_DOUBT_PAUSED);
    EXPECT_EQ(report_found(handle, "42"), -EPROTOTYPE);
}

TEST(Reports, OfAFilterInDoubtAddNothing) {
    World world;
    Filter &filter = world.create("links", {.doubts = SHMBLOOM_DOUBT_WARMING});
    const Handle handle = open(world, "links");
    KeepingDaemon daemon{world};
    EXPECT_EQ(report_found(handle, "key"), SHMBLOOM_UNVERIFIED);
    world.drop(filter);
    EXPECT_EQ(report_found(handle, "key"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(report_missing(handle, "key"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(daemon.commands().size(), 0u);
    EXPECT_EQ(info(handle).wrong_absent, 0u);
}

TEST(Reports, ThatDoNotReachTheDaemonAreCountedAllTheSame) {
    World world;
    world.create("links");
    const Handle handle = open(world, "links", 20);
    EXPECT_EQ(report_found(handle, "key"), -ENXIO);
    EXPECT_EQ(info(handle).wrong_absent, 1u);
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(world.control()->control_uuid);
                          for (const char *reply :
                               {"-NOSPC the disk is full\r\n", "-STALE\r\n", "-ERR unknown command\r\n", ":3\r\n"}) {
                              session.next();
                              session.send(reply);
                          }
                      }};
    EXPECT_EQ(report_found(handle, "key"), -ENOSPC);
    EXPECT_EQ(report_found(handle, "key"), -ESTALE);
    EXPECT_EQ(report_found(handle, "key"), -EPROTO);
    EXPECT_EQ(report_found(handle, "key"), -EPROTO);
    EXPECT_EQ(info(handle).wrong_absent, 5u);
}

TEST(Reports, OfBadArgumentsAreRefused) {
    World world;
    world.create("links");
    const Handle handle = open(world, "links");
    const std::string too_long((1 << 20) + 1, 'x');
    EXPECT_EQ(shmbloom_report_found(nullptr, "k", 1), -EINVAL);
    EXPECT_EQ(shmbloom_report_missing(nullptr, "k", 1), -EINVAL);
    EXPECT_EQ(shmbloom_report_found_u64(nullptr, 1), -EINVAL);
    EXPECT_EQ(shmbloom_report_missing_u64(nullptr, 1), -EINVAL);
    EXPECT_EQ(shmbloom_report_found(handle.get(), nullptr, 1), -EINVAL);
    EXPECT_EQ(shmbloom_report_missing(handle.get(), nullptr, 1), -EINVAL);
    EXPECT_EQ(report_found(handle, too_long), -E2BIG);
    EXPECT_EQ(report_missing(handle, too_long), -E2BIG);
    EXPECT_EQ(shmbloom_report_found_u64(handle.get(), 1), -EPROTOTYPE);
}

TEST(Reports, LookPastShadowModeAndAudits) {
    World world;
    Filter &filter = world.create("links");
    KeepingDaemon daemon{world};
    shmbloom_options options = options_for(world);
    options.flags = SHMBLOOM_OPEN_SHADOW;
    options.audit_one_in = 1;
    const Handle handle = open("links", options);
    EXPECT_EQ(contains(handle, "key"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(report_missing(handle, "key"), SHMBLOOM_ABSENT); // so it is no false positive
    EXPECT_EQ(report_found(handle, "key"), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(handle, "key"), SHMBLOOM_MAYBE);
    EXPECT_EQ(info(handle).wrong_absent, 1u);
    EXPECT_EQ(info(handle).would_be_absent, 1u);
    EXPECT_EQ(filter.generation, info(handle).generation);
}

} // namespace
} // namespace shmbloom::test
