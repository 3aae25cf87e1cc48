// Control broken field by field: a lookup then answers 2, or open fails, or what was broken does not matter to it.
// Never a wrong answer, never a crash.
#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>

#include "world.h"

namespace shmbloom::test {
namespace {

// What `offset` is in a slot: without it a filter cannot be answered for.
bool is_gate_or_identity(std::size_t offset) {
    if (offset < sizeof(std::uint64_t))
        return true;
    if (offset >= offsetof(shmbloom_slot, name) && offset < offsetof(shmbloom_slot, seed))
        return offset < offsetof(shmbloom_slot, name) + 6; // "links" and its end; the padding says nothing
    return offset >= offsetof(shmbloom_slot, uuid) && offset < offsetof(shmbloom_slot, capacity);
}

class Broken : public testing::Test {
  protected:
    World world;
    Filter &other = world.create("others");
    Filter &filter = world.create("links");
    Handle opened;

    Broken() {
        world.add(filter, "there");
        reopen();
    }

    static bool is_right(const Handle &handle) {
        const int there = contains(handle, "there"), not_there = contains(handle, "not there");
        return (there == SHMBLOOM_MAYBE || there == SHMBLOOM_UNVERIFIED) &&
               (not_there == SHMBLOOM_ABSENT || not_there == SHMBLOOM_UNVERIFIED);
    }

    // Opened now: certain, not certain, or not to be opened.
    enum class Outcome { certain, unverified, refused };
    Outcome open_now() {
        shmbloom_filter *f = nullptr;
        const shmbloom_options options = options_for(world);
        if (shmbloom_open(&f, "links", &options) < 0)
            return Outcome::refused;
        const Handle handle{f};
        EXPECT_TRUE(is_right(handle));
        (void)info(handle);
        EXPECT_TRUE(is_right(handle));
        return contains(handle, "there") == SHMBLOOM_MAYBE ? Outcome::certain : Outcome::unverified;
    }

    // By a handle that was there before, one that finds the segment mapped, one that maps it.
    Outcome meet() {
        EXPECT_TRUE(is_right(opened));
        const Outcome mapped = open_now();
        (void)info(opened);
        EXPECT_TRUE(is_right(opened));
        opened.reset();
        open_others(); // its segment is the one that is kept now
        const Outcome fresh = open_now();
        EXPECT_EQ(mapped == Outcome::certain, fresh == Outcome::certain);
        return fresh;
    }

    void reopen() { opened = test::open(world, "links"); }

  private:
    void open_others() {
        const shmbloom_options options = options_for(world);
        shmbloom_filter *f = nullptr;
        (void)shmbloom_open(&f, "others", &options);
        shmbloom_close(f);
    }
};

TEST_F(Broken, EveryByteOfTheSlotFlipped) {
    auto *bytes = reinterpret_cast<std::uint8_t *>(world.slot(filter));
    for (std::size_t at = 0; at < SHMBLOOM_SLOT_BYTES; at++) {
        SCOPED_TRACE(at);
        bytes[at] ^= 0x5A;
        const Outcome outcome = meet();
        if (is_gate_or_identity(at)) {
            EXPECT_NE(outcome, Outcome::certain);
        } else if (at < offsetof(shmbloom_slot, name) || at >= offsetof(shmbloom_slot, seed)) {
            EXPECT_EQ(outcome, Outcome::certain);
        }
        bytes[at] ^= 0x5A;
        reopen();
    }
}

TEST_F(Broken, EveryWordOfTheSlotAtItsExtremes) {
    auto *words = reinterpret_cast<std::uint64_t *>(world.slot(filter));
    for (std::size_t at = 0; at < SHMBLOOM_SLOT_BYTES / 8; at++) {
        const std::uint64_t before = words[at];
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX, std::uint64_t{1} << 63,
                                          std::uint64_t{UINT32_MAX}, std::uint64_t{0x7FF8000000000000}}) {
            if (value == before)
                continue;
            SCOPED_TRACE(std::to_string(at) + " = " + std::to_string(value));
            words[at] = value;
            const Outcome outcome = meet();
            const std::size_t offset = at * 8;
            if (is_gate_or_identity(offset)) {
                EXPECT_NE(outcome, Outcome::certain);
            }
            words[at] = before;
            reopen();
        }
    }
}

TEST_F(Broken, EveryByteOfTheControlsHeaderFlipped) {
    auto *bytes = reinterpret_cast<std::uint8_t *>(world.control());
    for (std::size_t at = 0; at < sizeof(shmbloom_control_header); at++) {
        SCOPED_TRACE(at);
        bytes[at] ^= 0x5A;
        const Outcome outcome = meet();
        const bool matters = at < 16 || (at >= 24 && at < offsetof(shmbloom_control_header, control_uuid)) ||
                             (at >= offsetof(shmbloom_control_header, slot_count) &&
                              at < offsetof(shmbloom_control_header, next_generation));
        if (!matters) {
            EXPECT_EQ(outcome, Outcome::certain);
        }
        // A mapping was checked when it was made: only a process that maps this control anew refuses it.
        bytes[at] ^= 0x5A;
        reopen();
    }
}

TEST_F(Broken, TheControlsHeaderRefusesWhoMapsItAnew) {
    opened.reset();
    auto *words = reinterpret_cast<std::uint64_t *>(world.control());
    for (std::size_t at = 0; at < sizeof(shmbloom_control_header) / 8; at++) {
        const std::uint64_t before = words[at];
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX, std::uint64_t{1} << 63,
                                          std::uint64_t{UINT32_MAX}, before ^ 0x5A}) {
            if (value == before)
                continue;
            SCOPED_TRACE(std::to_string(at) + " = " + std::to_string(value));
            words[at] = value;
            {
                World elsewhere; // whose control is the one kept from now on
                elsewhere.create("links");
                test::open(elsewhere, "links").reset();
            }
            const Outcome outcome = open_now();
            const std::size_t offset = at * 8;
            const bool is_constant = offset < offsetof(shmbloom_control_header, next_generation);
            const bool ignored = offset == offsetof(shmbloom_control_header, compat) ||
                                 (offset >= offsetof(shmbloom_control_header, control_uuid) &&
                                  offset < offsetof(shmbloom_control_header, slot_count));
            EXPECT_EQ(outcome != Outcome::certain, is_constant && !ignored);
            words[at] = before;
        }
    }
}

} // namespace
} // namespace shmbloom::test
