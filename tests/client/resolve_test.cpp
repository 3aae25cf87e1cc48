// How a handle follows its name: switches, drops, a control that is replaced or lost, and what that costs.
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>

#include "world.h"

namespace shmbloom::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

TEST(Resolve, FollowsASwitchAtOnce) {
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "old");
    const Handle handle = open(world, "links");
    ASSERT_EQ(contains(handle, "old"), SHMBLOOM_MAYBE);
    world.switch_generation(filter);
    world.add(filter, "new");
    EXPECT_EQ(contains(handle, "old"), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(handle, "new"), SHMBLOOM_MAYBE);
    EXPECT_EQ(info(handle).generation, filter.generation);
}

TEST(Resolve, ReadsNoBitOfTheOldGenerationWhileControlNamesTheNew) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    ASSERT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    // As between the two gates of a switch, with the new segment not to be had.
    world.set_control_gate(filter, (filter.generation + 1) << 16);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
}

TEST(Resolve, OfADroppedFilterIsUnverified) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.drop(filter);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    const shmbloom_info after = info(handle);
    EXPECT_EQ(after.handle_doubts, SHMBLOOM_HANDLE_NO_FILTER);
    EXPECT_EQ(after.generation, SHMBLOOM_UNKNOWN);
    EXPECT_STREQ(after.uuid, "");
}

TEST(Resolve, FindsAFilterThatWasDroppedAndCreatedInAnotherSlotAtOnce) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.drop(filter);
    ASSERT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    Filter &again = world.create("links", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 3, 100}, .seed = 99}, 700);
    // The name counter was raised: no need to wait for 100 ms.
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    world.add(again, "x");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_MAYBE);
}

TEST(Resolve, OfASlotReusedByAnotherFilterDoesNotServeThatOne) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    const std::size_t slot = filter.slot;
    world.drop(filter);
    ASSERT_EQ(world.create("others").slot, slot);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_NO_FILTER);
}

TEST(Resolve, TellsNamesApartThatBeginAlike) {
    World world;
    const std::string longest(64, 'n');
    world.create(longest.substr(0, 63));
    world.create(longest);
    world.create("n");
    EXPECT_EQ(info(open(world, longest)).name, longest);
    EXPECT_EQ(open_error(world, "nn"), -ENOENT);
    EXPECT_EQ(contains(open(world, longest), "x"), SHMBLOOM_ABSENT);
}

TEST(Resolve, FindsAReplacedControlWithinAHundredMillisecondsAndNotEarlier) {
    World world;
    Filter &filter = world.create("links", {.doubts = SHMBLOOM_DOUBT_WARMING});
    const Handle handle = open(world, "links");
    ASSERT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    (void)info(handle); // looks now
    const auto begin = Clock::now();
    // The old control and the segment stay as they are: nothing that the handle watches changes. What the new one says
    // is another generation, live.
    auto *old_slot = world.slot(filter);
    world.replace_control();
    ASSERT_NE(old_slot, world.slot(filter));
    world.set_control_gate(filter, 0);
    world.create("links", {}, 5);
    ASSERT_TRUE(eventually([&] { return contains(handle, "x") == SHMBLOOM_ABSENT; }));
    const auto passed = Clock::now() - begin;
    EXPECT_GE(passed, milliseconds{80}); // the coarse clock may lag by a tick or two
    EXPECT_LE(passed, milliseconds{1000});
}

TEST(Resolve, OfAFilterWithoutALiveGateAnswersMillionsOfLookups) {
    World world;
    world.create("links", {.doubts = SHMBLOOM_DOUBT_WARMING});
    const Handle handle = open(world, "links");
    const auto begin = Clock::now();
    for (int i = 0; i < 1000000; i++)
        ASSERT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_LE(Clock::now() - begin, milliseconds{5000});
    EXPECT_EQ(info(handle).unverified, 1000000u);
}

TEST(Resolve, MovesToAControlThatReplacedItsOwn) {
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "there");
    const Handle handle = open(world, "links");
    world.replace_control();
    // The segment was adopted in its generation, so the handle is live until the segment's gate says otherwise.
    EXPECT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    world.set_doubts(filter, SHMBLOOM_DOUBT_PAUSED);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    world.switch_generation(filter);
    world.add(filter, "new");
    EXPECT_EQ(contains(handle, "new"), SHMBLOOM_MAYBE);
}

TEST(Resolve, OfAControlOfAnotherStateFolderReadsNoBitOfTheFormerOne) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    ASSERT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    // The same generation number in another state folder's control: another generation.
    world.replace_control();
    world.control()->state_uuid[12] ^= 1;
    (void)info(handle);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
}

TEST(Resolve, KeepsItsSegmentWhileControlsPathIsGone) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.remove_control();
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    world.set_segment_gate(filter, filter.generation << 16 | SHMBLOOM_DOUBT_PAUSED);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_NO_CONTROL);
    world.set_segment_gate(filter, filter.generation << 16);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
    world.set_segment_gate(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
}

TEST(Resolve, KeepsASegmentWhoseNameIsGone) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    filter.segment->remove_name();
    world.set_doubts(filter, SHMBLOOM_DOUBT_PAUSED);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
}

TEST(Resolve, OfASegmentWhoseNameIsGoneOpensAndIsUnverified) {
    World world;
    Filter &filter = world.create("links");
    filter.segment->remove_name();
    const Handle handle = open(world, "links");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_NO_SEGMENT);
    world.switch_generation(filter);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
}

TEST(Resolve, OfASlotHalfWrittenIsUnverifiedUntilItIsWhole) {
    World world;
    Filter &filter = world.create("links");
    // As a daemon that died while it wrote another generation's place would leave it.
    shmbloom_store_field(&world.slot(filter)->generation, 0);
    const Handle handle = open(world, "links");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_BUSY);
    shmbloom_store_field(&world.slot(filter)->generation, filter.generation);
    EXPECT_TRUE(eventually([&] { return contains(handle, "x") == SHMBLOOM_ABSENT; }));
}

} // namespace
} // namespace shmbloom::test
