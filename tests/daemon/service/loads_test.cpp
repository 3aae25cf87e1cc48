#include "service/loads.h"

#include <gtest/gtest.h>

namespace shmbloom {
namespace {

TEST(Load, BelongsToItsConnection) {
    Loads loads;
    loads.begin(1, 1000, 60);
    EXPECT_TRUE(loads.is_open(1));
    EXPECT_FALSE(loads.is_open(2));
    loads.count_keys(1, 10);
    loads.count_keys(2, 5); // adds of somebody without a load
    loads.count_keys(1, 1);
    EXPECT_EQ(loads.keys(1), 11u);
    EXPECT_EQ(loads.keys(2), 0u);
}

TEST(Load, CountsFromItsOwnBegin) {
    Loads loads;
    loads.begin(1, 1000, 0);
    loads.count_keys(1, 10);
    loads.end(1);
    loads.begin(1, 2000, 0);
    EXPECT_EQ(loads.keys(1), 0u);
}

TEST(Load, AloneDecidesAlone) {
    Loads loads;
    loads.begin(1, 1000, 60);
    const auto verdict = loads.end(1);
    EXPECT_TRUE(verdict.last);
    EXPECT_FALSE(verdict.spoiled);
    EXPECT_EQ(verdict.begun, 1000u);
    EXPECT_EQ(verdict.begun_less_overlap, 940u);
    EXPECT_EQ(loads.open_count(), 0u);
}

TEST(Load, OverlapBeyondTheBeginningOfTimeIsZero) {
    Loads loads;
    loads.begin(1, 1000, 5000);
    EXPECT_EQ(loads.end(1).begun_less_overlap, 0u);
}

TEST(LoadsThatOverlap, AreDecidedByTheLastToEnd) {
    Loads loads;
    loads.begin(1, 1000, 60);
    loads.begin(2, 1010, 60);
    loads.begin(3, 1020, 60);
    EXPECT_FALSE(loads.end(2).last);
    EXPECT_FALSE(loads.end(1).last);
    EXPECT_EQ(loads.open_count(), 1u);
    const auto verdict = loads.end(3);
    EXPECT_TRUE(verdict.last);
    EXPECT_FALSE(verdict.spoiled);
}

TEST(LoadsThatOverlap, CountFromTheEarliestOfThem) {
    Loads loads;
    loads.begin(1, 1000, 10);
    loads.begin(2, 1010, 500); // begun later, but sees less far
    loads.end(1);
    const auto verdict = loads.end(2);
    EXPECT_EQ(verdict.begun, 1000u);
    EXPECT_EQ(verdict.begun_less_overlap, 510u);
}

TEST(LoadsThatOverlap, TakeTheEarlierOneEvenWhenTheClockIsSetBack) {
    Loads loads;
    loads.begin(1, 1000, 10);
    loads.begin(2, 900, 10);
    loads.end(1);
    EXPECT_EQ(loads.end(2).begun, 900u);
}

TEST(LoadsThatOverlap, AreSpoiledByOneAbort) {
    Loads loads;
    loads.begin(1, 1000, 0);
    loads.begin(2, 1000, 0);
    loads.abort(1);
    const auto verdict = loads.end(2);
    EXPECT_TRUE(verdict.last);
    EXPECT_TRUE(verdict.spoiled);
}

TEST(LoadsThatOverlap, AreSpoiledByAnAbortBeforeSomeBegan) {
    Loads loads;
    loads.begin(1, 1000, 0);
    loads.begin(2, 1000, 0);
    loads.abort(1);
    loads.begin(3, 1001, 0); // overlaps with 2, which overlapped with 1
    loads.end(2);
    EXPECT_TRUE(loads.end(3).spoiled);
}

TEST(LoadsThatOverlap, DoNotSpoilTheNextOnes) {
    Loads loads;
    loads.begin(1, 1000, 0);
    loads.begin(2, 1000, 0);
    loads.abort(2);
    loads.end(1);
    loads.begin(3, 2000, 0);
    const auto verdict = loads.end(3);
    EXPECT_FALSE(verdict.spoiled);
    EXPECT_EQ(verdict.begun, 2000u);
}

TEST(Load, ThatIsAbortedAloneLeavesNothing) {
    Loads loads;
    loads.begin(1, 1000, 0);
    loads.abort(1);
    EXPECT_FALSE(loads.is_open(1));
    loads.begin(2, 2000, 0);
    EXPECT_FALSE(loads.end(2).spoiled);
}

TEST(Load, OfNobodyCannotSpoilOthers) {
    Loads loads;
    loads.begin(1, 1000, 0);
    loads.abort(2); // a connection without a load closes
    EXPECT_FALSE(loads.end(1).spoiled);
}

} // namespace
} // namespace shmbloom
