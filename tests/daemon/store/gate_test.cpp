#include "store/gate.h"

#include <gtest/gtest.h>

namespace shmbloom {
namespace {

constexpr std::uint32_t kPaused = SHMBLOOM_DOUBT_PAUSED;
constexpr std::uint32_t kWarming = SHMBLOOM_DOUBT_WARMING;
constexpr std::uint32_t kLossy = SHMBLOOM_DOUBT_LOSSY;

TEST(Gate, HoldsGenerationAndDoubts) {
    EXPECT_EQ(make_gate(1, 0), 0x10000u);
    EXPECT_EQ(generation_of(make_gate(SHMBLOOM_GENERATION_MAX, kLossy)), SHMBLOOM_GENERATION_MAX);
    EXPECT_EQ(doubts_of(make_gate(SHMBLOOM_GENERATION_MAX, kLossy | kPaused)), kLossy | kPaused);
}

TEST(Gate, KeepsPausedAndNothingElseWhenItIsSet) {
    for (std::uint32_t before = 0; before < 1u << SHMBLOOM_DOUBT_COUNT; before++) {
        std::uint64_t gate = make_gate(3, before);
        set_gate(&gate, 4, kWarming);
        EXPECT_EQ(gate, make_gate(4, kWarming | (before & kPaused)));
    }
}

TEST(Gate, LosesPausedWhenItEnds) {
    std::uint64_t gate = make_gate(3, kPaused);
    end_gate(&gate);
    EXPECT_EQ(gate, 0u);
}

class BothGates : public testing::Test {
  protected:
    std::uint64_t control = 0;
    std::uint64_t segment = 0;
    Gates gates{&control, &segment};
};

TEST_F(BothGates, OpenTogether) {
    gates.open(9, kWarming);
    EXPECT_EQ(control, make_gate(9, kWarming));
    EXPECT_EQ(segment, make_gate(9, kWarming));
    EXPECT_EQ(gates.doubts(), kWarming);
}

TEST_F(BothGates, KeepPausedEachForItself) {
    control = make_gate(9, kPaused);
    gates.open(9, 0);
    EXPECT_EQ(control, make_gate(9, kPaused));
    EXPECT_EQ(segment, make_gate(9, 0));
    EXPECT_EQ(gates.doubts(), kPaused); // one of them is enough
}

TEST_F(BothGates, AddDoubtsToThoseThatAreThere) {
    gates.open(9, kWarming);
    gates.doubt(kLossy);
    EXPECT_EQ(control, make_gate(9, kWarming | kLossy));
    EXPECT_EQ(segment, make_gate(9, kWarming | kLossy));
}

TEST_F(BothGates, LosePausedAndNothingElseWhenTheyResume) {
    gates.open(9, kWarming | kPaused);
    gates.resume();
    EXPECT_EQ(control, make_gate(9, kWarming));
    EXPECT_EQ(segment, make_gate(9, kWarming));
}

TEST_F(BothGates, EndTogether) {
    gates.open(9, kPaused);
    gates.end();
    EXPECT_EQ(control, 0u);
    EXPECT_EQ(segment, 0u);
}

TEST_F(BothGates, ServeAFilterWithoutASegment) {
    const Gates alone{&control, nullptr};
    alone.open(9, kWarming);
    alone.doubt(kLossy);
    EXPECT_EQ(control, make_gate(9, kWarming | kLossy));
    EXPECT_EQ(alone.doubts(), kWarming | kLossy);
    alone.doubt(kPaused);
    alone.resume();
    EXPECT_EQ(control, make_gate(9, kWarming | kLossy));
    alone.end();
    EXPECT_EQ(control, 0u);
    EXPECT_EQ(segment, 0u);
}

} // namespace
} // namespace shmbloom
