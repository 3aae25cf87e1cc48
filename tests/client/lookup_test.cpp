// What a lookup answers: from live filters, in each doubt, for keys of every kind.
#include <gtest/gtest.h>

#include "internal.h"
#include "world.h"

namespace shmbloom::test {
namespace {

std::string text(int i) {
    return "key-" + std::to_string(i);
}

class EveryShape : public testing::TestWithParam<Spec> {};

TEST_P(EveryShape, FindsEveryKeyThatWasAddedAndFewOthers) {
    World world;
    Filter &filter = world.create("links", GetParam());
    const Handle handle = open(world, "links");
    for (int i = 0; i < 500; i++)
        world.add(filter, text(i));
    int wrong = 0;
    for (int i = 0; i < 500; i++) {
        ASSERT_EQ(contains(handle, text(i)), SHMBLOOM_MAYBE);
        wrong += contains(handle, text(i + 1000)) == SHMBLOOM_MAYBE;
    }
    EXPECT_LE(wrong, 10);
    const shmbloom_info counts = info(handle);
    EXPECT_EQ(counts.maybe, 500u + static_cast<unsigned>(wrong));
    EXPECT_EQ(counts.absent, 500u - static_cast<unsigned>(wrong));
    EXPECT_EQ(counts.unverified, 0u);
}

INSTANTIATE_TEST_SUITE_P(Lookup, EveryShape, testing::ValuesIn(every_shape()));

class EveryDoubt : public testing::TestWithParam<unsigned> {};

TEST_P(EveryDoubt, MakesEveryAnswerUnverifiedUntilItIsCleared) {
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "there");
    const Handle handle = open(world, "links");
    ASSERT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    ASSERT_EQ(contains(handle, "not there"), SHMBLOOM_ABSENT);

    world.set_doubts(filter, 1u << GetParam());
    EXPECT_EQ(contains(handle, "there"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(contains(handle, "not there"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).doubts, 1u << GetParam());
    EXPECT_EQ(info(handle).live, 0);

    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    EXPECT_EQ(contains(handle, "not there"), SHMBLOOM_ABSENT);
    EXPECT_EQ(info(handle).live, 1);
}

TEST_P(EveryDoubt, CountsInTheControlsGateAlone) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.set_control_gate(filter, filter.generation << 16 | 1u << GetParam());
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
}

TEST_P(EveryDoubt, CountsInTheSegmentsGateAlone) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.set_segment_gate(filter, filter.generation << 16 | 1u << GetParam());
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).doubts, 1u << GetParam());
}

TEST_P(EveryDoubt, IsThereFromTheStart) {
    World world;
    Filter &filter = world.create("links", {.doubts = 1u << GetParam()});
    const Handle handle = open(world, "links");
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT);
}

// The last two: bits that only a newer daemon knows.
INSTANTIATE_TEST_SUITE_P(Lookup, EveryDoubt, testing::Values(0, 1, 2, 3, 4, 5, 15));

TEST(Lookup, NeedsBothGatesToNameTheGenerationMapped) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    for (const std::uint64_t gate : {std::uint64_t{0}, (filter.generation + 1) << 16, (filter.generation - 1) << 16,
                                     UINT64_MAX, std::uint64_t{4} /* paused, generation 0 */}) {
        world.set_segment_gate(filter, gate);
        EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED) << gate;
        world.set_doubts(filter, 0);
        EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT) << gate;
        world.set_control_gate(filter, gate);
        EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED) << gate;
        world.set_doubts(filter, 0);
        world.raise_name_counter();
        EXPECT_EQ(contains(handle, "x"), SHMBLOOM_ABSENT) << gate;
    }
}

TEST(Lookup, TakesAnyBytesAlsoNone) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    EXPECT_EQ(shmbloom_contains(handle.get(), nullptr, 0), SHMBLOOM_ABSENT);
    world.add(filter, std::string_view{});
    EXPECT_EQ(shmbloom_contains(handle.get(), nullptr, 0), SHMBLOOM_MAYBE);
    EXPECT_EQ(shmbloom_contains(handle.get(), "", 0), SHMBLOOM_MAYBE);
    const std::string bytes{"\0\xff\r\n", 4};
    EXPECT_EQ(contains(handle, bytes), SHMBLOOM_ABSENT);
    world.add(filter, bytes);
    EXPECT_EQ(contains(handle, bytes), SHMBLOOM_MAYBE);
}

TEST(Lookup, TakesKeysUpToOneMebibyte) {
    World world;
    for (const std::uint32_t normalization : {0u, SHMBLOOM_NORMALIZE_LOWER}) {
        Filter &filter = world.create("links" + std::to_string(normalization), {.normalization = normalization});
        const Handle handle = open(world, filter.name);
        const std::string key(1 << 20, 'K');
        EXPECT_EQ(contains(handle, key), SHMBLOOM_ABSENT);
        world.add(filter, key);
        EXPECT_EQ(contains(handle, key), SHMBLOOM_MAYBE);
        EXPECT_EQ(contains(handle, key + "K"), SHMBLOOM_UNVERIFIED);
    }
}

TEST(Lookup, NormalizesAsTheFilterSays) {
    World world;
    Filter &filter = world.create("links", {.normalization = SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER});
    const Handle handle = open(world, "links");
    world.add(filter, "some key");
    EXPECT_EQ(contains(handle, "\t Some KEY\r\n"), SHMBLOOM_MAYBE);
    EXPECT_EQ(contains(handle, "somekey"), SHMBLOOM_ABSENT);
}

TEST(Lookup, DoesNotNormalizeUnlessTheFilterSays) {
    World world;
    Filter &filter = world.create("links");
    const Handle handle = open(world, "links");
    world.add(filter, "key");
    EXPECT_EQ(contains(handle, "KEY"), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(handle, "key "), SHMBLOOM_ABSENT);
}

TEST(Lookup, OfTheOtherKeyTypeIsUnverified) {
    World world;
    Filter &numbers = world.create("numbers", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    world.create("bytes");
    const Handle of_numbers = open(world, "numbers");
    const Handle of_bytes = open(world, "bytes");
    world.add(numbers, std::uint64_t{42});
    EXPECT_EQ(shmbloom_contains_u64(of_numbers.get(), 42), SHMBLOOM_MAYBE);
    EXPECT_EQ(shmbloom_contains_u64(of_numbers.get(), 43), SHMBLOOM_ABSENT);
    EXPECT_EQ(contains(of_numbers, "42"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(shmbloom_contains_u64(of_bytes.get(), 42), SHMBLOOM_UNVERIFIED);
}

TEST(Lookup, OfAHashMadeForAnotherDomainIsUnverified) {
    World world;
    world.create("links");
    const Handle handle = open(world, "links");
    const std::uint64_t domain = info(handle).hash_domain;
    EXPECT_EQ(shmbloom__contains_hash(handle.get(), domain, 7), SHMBLOOM_ABSENT);
    EXPECT_EQ(shmbloom__contains_hash(handle.get(), domain + 1, 7), SHMBLOOM_UNVERIFIED);
}

TEST(Lookup, WithoutAHandleOrAKeyIsUnverified) {
    World world;
    world.create("links");
    const Handle handle = open(world, "links");
    EXPECT_EQ(shmbloom_contains(nullptr, "x", 1), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(shmbloom_contains_u64(nullptr, 1), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(shmbloom_contains(handle.get(), nullptr, 1), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(shmbloom_close(nullptr), nullptr);
}

} // namespace
} // namespace shmbloom::test
