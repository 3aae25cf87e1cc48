// What is not as it should be is never read: each check of control and segment, one by one.
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

#include "world.h"

namespace shmbloom::test {
namespace {

// ---- Segment ----

class SegmentFormat : public testing::Test {
  protected:
    World world;
    Filter &filter = world.create("links");
    shmbloom_segment_header &header = *filter.segment->header();

    // Both ways to meet it: at open, and by a handle that is open already.
    void expect_refused(int error) { EXPECT_EQ(open_error(world, "links"), error); }
};

TEST_F(SegmentFormat, IsWholeToBeginWith) {
    EXPECT_EQ(contains(open(world, "links"), "x"), SHMBLOOM_ABSENT);
}

TEST_F(SegmentFormat, RefusesEveryByteOfTheHeaderFlipped) {
    for (std::size_t at = 0; at < offsetof(shmbloom_segment_header, zero_b); at++) {
        filter.segment->corrupt_byte(at);
        EXPECT_LT(open_error(world, "links"), 0) << at;
        filter.segment->corrupt_byte(at);
    }
    EXPECT_EQ(open_error(world, "links"), 0);
}

TEST_F(SegmentFormat, IsUnverifiedToAHandleThatMeetsItLater) {
    const Handle handle = open(world, "links");
    world.switch_generation(filter);
    filter.segment->corrupt_byte(offsetof(shmbloom_segment_header, probes));
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_FORMAT);
    filter.segment->corrupt_byte(offsetof(shmbloom_segment_header, probes));
    EXPECT_TRUE(eventually([&] { return contains(handle, "x") == SHMBLOOM_ABSENT; }));
}

TEST_F(SegmentFormat, RefusesNewerVersionsAndUnknownIncompatBits) {
    header.version = 2;
    filter.segment->seal();
    expect_refused(-EPROTONOSUPPORT);
    header.version = 1;
    header.incompat = 1ull << 63;
    filter.segment->seal();
    expect_refused(-EPROTONOSUPPORT);
}

TEST_F(SegmentFormat, IgnoresUnknownCompatBits) {
    header.compat = ~0ull;
    filter.segment->seal();
    EXPECT_EQ(contains(open(world, "links"), "x"), SHMBLOOM_ABSENT);
}

struct Change {
    const char *name;
    void (*change)(shmbloom_segment_header &);
};

class SegmentField : public SegmentFormat, public testing::WithParamInterface<Change> {};

TEST_P(SegmentField, IsRefusedWithARightChecksum) {
    GetParam().change(header);
    filter.segment->seal();
    expect_refused(-EBADMSG);
}

TEST_P(SegmentField, IsUnverifiedToAHandleThatMeetsItLater) {
    world.add(filter, "there");
    const Handle handle = open(world, "links");
    ASSERT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    world.switch_generation(filter, [&] {
        GetParam().change(*filter.segment->header());
        filter.segment->seal();
    });
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(contains(handle, "there"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).handle_doubts, SHMBLOOM_HANDLE_FORMAT);
}

#define CHANGE(name, statement)                                                                                        \
    Change {                                                                                                           \
        name, [](shmbloom_segment_header &h) { h.statement; }                                                          \
    }

INSTANTIATE_TEST_SUITE_P(
    OutOfRange, SegmentField,
    testing::Values(
        CHANGE("Magic", magic ^= 1), CHANGE("HeaderBytesSmall", header_bytes = 128),
        CHANGE("HeaderBytesLarge", header_bytes = 8192), CHANGE("GenerationZero", generation = 0),
        CHANGE("LineageZero", lineage = 0), CHANGE("LineageLater", lineage = h.generation + 1),
        CHANGE("HashId", hash_id = 2), CHANGE("Normalization", normalization = 4), CHANGE("KeyType", key_type = 2),
        CHANGE("LayoutZero", layout = 0), CHANGE("LayoutUnknown", layout = 3),
        CHANGE("BlockedWithTooManyProbes", layout = SHMBLOOM_LAYOUT_BLOCKED), CHANGE("ProbesZero", probes = 0),
        CHANGE("ProbesMany", probes = 65), CHANGE("CapacityZero", capacity = 0),
        CHANGE("CapacityLarge", capacity = (1ull << 40) + 1), CHANGE("FprZero", fpr = 0), CHANGE("FprOne", fpr = 1),
        CHANGE("FprNotANumber", fpr = std::numeric_limits<double>::quiet_NaN()), CHANGE("SizeZero", size = 0),
        CHANGE("SizeSmall", size = 63), CHANGE("SizeBeyondTheBits", size = h.bits_bytes * 8 + 1),
        CHANGE("SizeHuge", size = UINT64_MAX), CHANGE("BitsOffsetZero", bits_offset = 0),
        CHANGE("BitsOffsetOdd", bits_offset = 4104), CHANGE("BitsOffsetBeyond", bits_offset = 2 << 20),
        CHANGE("BitsBytesSmall", bits_bytes -= 8), CHANGE("BitsBytesHuge", bits_bytes = UINT64_MAX - 7),
        CHANGE("SegmentBytesSmall", segment_bytes -= 4096), CHANGE("SegmentBytesLarge", segment_bytes += 4096)),
    [](const auto &param_info) { return std::string{param_info.param.name}; });

// In range, and yet not what the slot or control says.
INSTANTIATE_TEST_SUITE_P(DisagreesWithControl, SegmentField,
                         testing::Values(CHANGE("StateUuid", state_uuid[3] ^= 1),
                                         CHANGE("FilterUuid", filter_uuid[15] ^= 1),
                                         CHANGE("Generation", generation += 1), CHANGE("Seed", seed ^= 1),
                                         CHANGE("Domain", domain ^= 1),
                                         CHANGE("Normalization", normalization = SHMBLOOM_NORMALIZE_TRIM),
                                         CHANGE("KeyType", key_type = SHMBLOOM_KEY_TYPE_U64)),
                         [](const auto &param_info) { return std::string{param_info.param.name}; });

TEST_F(SegmentFormat, RefusesAnotherInodeUnderTheName) {
    shmbloom_store_field(&world.slot(filter)->inode, world.slot(filter)->inode + 1);
    expect_refused(-EBADMSG);
}

TEST_F(SegmentFormat, RefusesAnotherDevice) {
    shmbloom_store_field(&world.slot(filter)->dev, world.slot(filter)->dev + 1);
    expect_refused(-EBADMSG);
}

TEST_F(SegmentFormat, RefusesASegmentShorterOrLongerThanItsHeaderClaims) {
    ASSERT_EQ(::ftruncate(filter.segment->fd(), static_cast<off_t>(header.segment_bytes + 4096)), 0);
    expect_refused(-EBADMSG);
    ASSERT_EQ(::ftruncate(filter.segment->fd(), static_cast<off_t>(header.segment_bytes - 1)), 0);
    expect_refused(-EBADMSG);
    ASSERT_EQ(::ftruncate(filter.segment->fd(), 100), 0);
    expect_refused(-EBADMSG);
}

TEST_F(SegmentFormat, RefusesHoles) {
    ASSERT_EQ(::fallocate(filter.segment->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096), 0);
    expect_refused(-EBADMSG);
}

TEST_F(SegmentFormat, RefusesASegmentThatOthersMayWriteTo) {
    for (const mode_t mode : {mode_t{0660}, mode_t{0602}}) {
        ASSERT_EQ(::fchmod(filter.segment->fd(), mode), 0);
        expect_refused(-EPERM);
    }
}

TEST_F(SegmentFormat, RefusesASegmentOfAnotherOwnerThanControls) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to give a file away";
    ASSERT_EQ(::fchown(filter.segment->fd(), 12345, 12345), 0);
    expect_refused(-EPERM);
}

// ---- Control ----

class ControlFormat : public testing::Test {
  protected:
    World world;
    Filter &filter = world.create("links");
    shmbloom_control_header &header = *world.control();
};

struct ControlChange {
    const char *name;
    void (*change)(shmbloom_control_header &);
    int error;
};

class ControlField : public ControlFormat, public testing::WithParamInterface<ControlChange> {};

TEST_P(ControlField, IsRefused) {
    GetParam().change(header);
    EXPECT_EQ(open_error(world, "links"), GetParam().error);
}

#define CONTROL_CHANGE(name, statement, error)                                                                         \
    ControlChange {                                                                                                    \
        name, [](shmbloom_control_header &h) { h.statement; }, error                                                   \
    }

INSTANTIATE_TEST_SUITE_P(OutOfRange, ControlField,
                         testing::Values(CONTROL_CHANGE("Magic", magic ^= 1, -EBADMSG),
                                         CONTROL_CHANGE("Version", version = 2, -EPROTONOSUPPORT),
                                         CONTROL_CHANGE("Incompat", incompat = 1, -EPROTONOSUPPORT),
                                         CONTROL_CHANGE("BootId", boot_id[0] ^= 1, -ENXIO),
                                         CONTROL_CHANGE("HeaderBytesSmall", header_bytes = 256, -EBADMSG),
                                         CONTROL_CHANGE("HeaderBytesBeyondTheSlots", header_bytes = 8192, -EBADMSG),
                                         CONTROL_CHANGE("SlotCountZero", slot_count = 0, -EBADMSG),
                                         CONTROL_CHANGE("SlotCountBeyondTheFile", slot_count = 1025, -EBADMSG),
                                         CONTROL_CHANGE("SlotCountHuge", slot_count = 65537, -EBADMSG),
                                         CONTROL_CHANGE("SlotBytesSmall", slot_bytes = 384, -EBADMSG),
                                         CONTROL_CHANGE("SlotBytesOdd", slot_bytes = 520, -EBADMSG),
                                         CONTROL_CHANGE("SlotsOffsetZero", slots_offset = 0, -EBADMSG),
                                         CONTROL_CHANGE("SlotsOffsetOdd", slots_offset = 4100, -EBADMSG),
                                         CONTROL_CHANGE("SlotsOffsetHuge", slots_offset = UINT64_MAX - 127, -EBADMSG)),
                         [](const auto &param_info) { return std::string{param_info.param.name}; });

TEST_F(ControlFormat, IgnoresUnknownCompatBits) {
    header.compat = ~0ull;
    EXPECT_EQ(contains(open(world, "links"), "x"), SHMBLOOM_ABSENT);
}

TEST_F(ControlFormat, MayHaveWiderSlotsLaterAndFewer) {
    // A later format with a compat bit: slots of 1024 bytes.
    header.slot_bytes = 1024;
    header.slot_count = 8;
    Filter &wide = world.create("wide", {}, 6); // byte 6 * 512 is the later format's slot 3
    EXPECT_EQ(contains(open(world, wide.name), "x"), SHMBLOOM_ABSENT);
}

TEST_F(ControlFormat, RefusesAControlShorterThanItsHeaderClaims) {
    world.truncate_control(SHMBLOOM_CONTROL_BYTES - 1);
    EXPECT_EQ(open_error(world, "links"), -EBADMSG);
    world.truncate_control(200);
    EXPECT_EQ(open_error(world, "links"), -EBADMSG);
    world.truncate_control(0);
    EXPECT_EQ(open_error(world, "links"), -EBADMSG);
}

TEST_F(ControlFormat, RefusesAControlThatOthersMayWriteTo) {
    ASSERT_EQ(::chmod(world.control_path().c_str(), 0660), 0);
    EXPECT_EQ(open_error(world, "links"), -EPERM);
}

TEST_F(ControlFormat, RefusesAFolderThatOthersMayWriteTo) {
    ASSERT_EQ(::chmod(world.folder().c_str(), 0770), 0);
    EXPECT_EQ(open_error(world, "links"), -EPERM);
}

TEST_F(ControlFormat, RefusesAControlOfAnotherOwnerThanItsFolders) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "needs root to give a file away";
    ASSERT_EQ(::chown(world.control_path().c_str(), 12345, 12345), 0);
    EXPECT_EQ(open_error(world, "links"), -EPERM);
}

TEST_F(ControlFormat, RefusesASymbolicLink) {
    ASSERT_EQ(::rename(world.control_path().c_str(), (world.folder() + "/elsewhere").c_str()), 0);
    ASSERT_EQ(::symlink("elsewhere", world.control_path().c_str()), 0);
    EXPECT_EQ(open_error(world, "links"), -EPERM);
    ::unlink((world.folder() + "/elsewhere").c_str());
}

TEST_F(ControlFormat, RefusesAPipeWithoutWaitingForIt) {
    world.remove_control();
    ASSERT_EQ(::mkfifo(world.control_path().c_str(), 0640), 0);
    EXPECT_EQ(open_error(world, "links"), -EBADMSG);
}

TEST_F(ControlFormat, OfASlotWithNumbersThatAreNotTheSegmentsIsRefused) {
    shmbloom_slot &slot = *world.slot(filter);
    slot.hash_domain ^= 1;
    EXPECT_EQ(open_error(world, "links"), -EBADMSG);
    slot.hash_domain ^= 1;
    EXPECT_EQ(contains(open(world, "links"), "x"), SHMBLOOM_ABSENT);
}

TEST_F(ControlFormat, SurvivesASlotFullOfRandomBytes) {
    std::uint64_t x = 42;
    for (int round = 0; round < 2000; round++) {
        auto *words = reinterpret_cast<std::uint64_t *>(world.slot(filter));
        for (std::size_t i = 0; i < SHMBLOOM_SLOT_BYTES / 8; i++)
            words[i] = x = shmbloom_next_probe(x);
        if (round % 2) {
            std::memset(world.slot(filter)->name, 0, SHMBLOOM_NAME_BYTES);
            std::memcpy(world.slot(filter)->name, "links", 5);
            world.slot(filter)->generation = world.slot(filter)->gate >> 16;
        }
        shmbloom_filter *f = nullptr;
        const shmbloom_options options = options_for(world);
        (void)shmbloom_open(&f, "links", &options);
        EXPECT_EQ(shmbloom_contains(f, "x", 1), SHMBLOOM_UNVERIFIED);
        shmbloom_close(f);
    }
}

} // namespace
} // namespace shmbloom::test
