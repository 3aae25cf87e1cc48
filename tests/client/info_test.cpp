// What get_info says, and the texts of the library.
#include <cerrno>
#include <gtest/gtest.h>
#include <time.h>

#include "internal.h"
#include "shmbloom/version.h"
#include "world.h"

namespace shmbloom::test {
namespace {

TEST(Info, DescribesALiveFilter) {
    World world;
    Filter &filter = world.create("links", {.normalization = SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER});
    shmbloom_slot *slot = world.slot(filter);
    slot->bits_set = 4793;
    slot->adds_acknowledged = 30;
    slot->adds_new = 20;
    slot->adds_refused = 10;
    slot->wrong_absents = 3;
    slot->keys_per_day = 1234.5;
    slot->estimated_keys = 400;
    slot->estimated_fpr = 0.001;
    slot->live_since = 1700000000;
    slot->warnings = SHMBLOOM_WARNING_FULL | SHMBLOOM_WARNING_NAME_LOST;
    slot->huge_page_bytes = 4;
    const shmbloom_info i = info(open(world, "links"));
    EXPECT_EQ(i.live, 1);
    EXPECT_STREQ(i.name, "links");
    EXPECT_EQ(std::string{i.uuid}.size(), 36u);
    EXPECT_STREQ(i.doubts_text, "");
    EXPECT_STREQ(i.handle_doubts_text, "");
    EXPECT_STREQ(i.warnings_text, "full,name_lost");
    EXPECT_STREQ(i.layout, "classic");
    EXPECT_STREQ(i.key_type, "bytes");
    EXPECT_STREQ(i.normalize, "trim,lower");
    EXPECT_STREQ(i.durability, "memory");
    EXPECT_EQ(i.probes, 7u);
    EXPECT_EQ(i.bits, 9586u);
    EXPECT_EQ(i.blocks, 0u);
    EXPECT_EQ(i.memory_bytes, 8192u);
    EXPECT_EQ(i.huge_page_bytes, 4u);
    EXPECT_EQ(i.generation, filter.generation);
    EXPECT_EQ(i.lineage, filter.generation);
    EXPECT_EQ(i.capacity, 1000u);
    EXPECT_EQ(i.fpr, 0.01);
    EXPECT_EQ(i.fill, 0.5);
    EXPECT_EQ(i.adds_acknowledged, 30u);
    EXPECT_EQ(i.adds_new, 20u);
    EXPECT_EQ(i.adds_refused, 10u);
    EXPECT_EQ(i.wrong_absents_of_all, 3u);
    EXPECT_EQ(i.keys_per_day, 1234.5);
    EXPECT_EQ(i.estimated_keys, 400u);
    EXPECT_EQ(i.headroom_keys, 600u);
    EXPECT_EQ(i.estimated_fpr, 0.001);
    EXPECT_EQ(i.live_since, 1700000000u);
    EXPECT_EQ(i.daemon_pid, 4711u);
    EXPECT_EQ(i.heartbeat_age_ms, SHMBLOOM_UNKNOWN);
    EXPECT_EQ(i.hash_domain, filter.spec.domain ^ (1 | 3 << 8));
    EXPECT_EQ(i.runtime_dir, world.folder());
}

TEST(Info, CountsBlocks) {
    World world;
    world.create("links", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 3, 40}});
    const shmbloom_info i = info(open(world, "links"));
    EXPECT_STREQ(i.layout, "blocked");
    EXPECT_EQ(i.blocks, 40u);
    EXPECT_EQ(i.bits, 40u * 512);
    EXPECT_EQ(i.probes, 3u);
}

TEST(Info, HasNoHeadroomBeyondTheCapacity) {
    World world;
    world.slot(world.create("links"))->estimated_keys = 2000;
    EXPECT_EQ(info(open(world, "links")).headroom_keys, 0u);
}

TEST(Info, NamesTheDoubtsOfBothGates) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.set_control_gate(filter, filter.generation << 16 | SHMBLOOM_DOUBT_WARMING);
    world.set_segment_gate(filter, filter.generation << 16 | SHMBLOOM_DOUBT_DAMAGED | 0x100);
    world.slot(filter)->doubt_since[1] = 77;
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.live, 0);
    EXPECT_EQ(i.doubts, SHMBLOOM_INFO_WARMING | SHMBLOOM_INFO_DAMAGED | 0x100);
    EXPECT_STREQ(i.doubts_text, "warming,damaged,other");
    EXPECT_EQ(i.handle_doubts, 0u);
    EXPECT_EQ(i.doubt_since[1], 77u);
}

TEST(Info, SaysThatAGenerationIsOver) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.set_segment_gate(filter, 0);
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.live, 0);
    EXPECT_EQ(i.doubts, 0u);
    EXPECT_EQ(i.handle_doubts, SHMBLOOM_HANDLE_NO_SEGMENT);
    EXPECT_EQ(std::string{i.handle_doubts_text}.find("no segment: "), 0u) << i.handle_doubts_text;
}

TEST(Info, ShowsWhatIsUnknownAsUnknown) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.drop(filter);
    const shmbloom_info i = info(handle);
    for (const std::uint64_t value :
         {i.hash_domain, i.generation, i.lineage, i.capacity, i.bits, i.blocks, i.memory_bytes, i.bits_set,
          i.adds_acknowledged, i.estimated_keys, i.headroom_keys})
        EXPECT_EQ(value, SHMBLOOM_UNKNOWN);
    EXPECT_LT(i.fpr, 0);
    EXPECT_LT(i.estimated_fpr, 0);
    EXPECT_LT(i.fill, 0);
    EXPECT_EQ(i.probes, 0u);
    EXPECT_NE(std::string{i.handle_doubts_text}.find("no filter: no filter 'links'"), std::string::npos)
        << i.handle_doubts_text;
}

TEST(Info, HasRoomForAPathInTheHandlesDoubts) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    const std::string longest(64, 'n');
    world.drop(world.create(longest));
    world.drop(filter);
    const std::string text = info(handle).handle_doubts_text;
    EXPECT_NE(text.find(world.folder() + ": create it with shmbloomctl create"), std::string::npos) << text;
}

TEST(Info, MovesAnIdleHandleToTheNewGeneration) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.switch_generation(filter);
    EXPECT_EQ(info(handle).generation, filter.generation);
    EXPECT_EQ(info(handle).live, 1);
}

TEST(Info, TellsTheHeartbeatsAge) {
    World world;
    world.create("links");
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    world.control()->heartbeat_ns =
        static_cast<std::uint64_t>(now.tv_sec - 5) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
    const std::uint64_t age_ms = info(open(world, "links")).heartbeat_age_ms;
    EXPECT_GE(age_ms, 5000u);
    EXPECT_LE(age_ms, 60000u);
}

TEST(Text, OfEveryErrorIsThere) {
    EXPECT_STREQ(shmbloom_version(), SHMBLOOM_VERSION);
    const std::string unknown = shmbloom_strerror(-12345);
    for (const int r :
         {0,        1,       2,       -EINVAL, -ENXIO,  -ENOENT,     -EACCES,       -EPERM,       -EPROTONOSUPPORT,
          -EBADMSG, -ENOMEM, -EMFILE, -ENFILE, -E2BIG,  -EPROTOTYPE, -ETIMEDOUT,    -EINPROGRESS, -ECONNREFUSED,
          -ENOSPC,  -EIO,    -EBUSY,  -ERANGE, -EPROTO, -ESTALE,     -ENAMETOOLONG, -EEXIST})
        EXPECT_NE(shmbloom_strerror(r), unknown) << r;
}

TEST(Text, OfKeysIsHashedByTheirType) {
    std::uint64_t by_text = 0, by_number = 0;
    const shmbloom__hashing numbers{1, 2, 0, SHMBLOOM_KEY_TYPE_U64};
    EXPECT_EQ(shmbloom__hash_text(&numbers, "42", 2, &by_text), 0);
    EXPECT_EQ(shmbloom__hash_u64(&numbers, 42, &by_number), 0);
    EXPECT_EQ(by_text, by_number);
    EXPECT_EQ(shmbloom__hash_text(&numbers, "x", 1, &by_text), -ERANGE);
    EXPECT_EQ(shmbloom__hash_text(&numbers, "18446744073709551616", 20, &by_text), -ERANGE);
    EXPECT_EQ(shmbloom__hash(&numbers, "42", 2, &by_text), -EPROTOTYPE);
    const shmbloom__hashing bytes{1, 2, 0, SHMBLOOM_KEY_TYPE_BYTES};
    EXPECT_EQ(shmbloom__hash_u64(&bytes, 42, &by_number), -EPROTOTYPE);
    EXPECT_EQ(shmbloom__hash(&bytes, "42", (1 << 20) + 1, &by_text), -E2BIG);
}

} // namespace
} // namespace shmbloom::test
