#include "store/control.h"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

#include "shmbloom/version.h"
#include "store/gate.h"
#include "sys/clock.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

class ControlFile : public testing::Test {
  protected:
    std::unique_ptr<Control> make() const {
        auto control = std::make_unique<Control>(Control::Create{}, folder.path(), state, boot);
        control->publish();
        return control;
    }

    shmbloom_control_header header() const {
        shmbloom_control_header result{};
        std::ifstream{path, std::ios::binary}.read(reinterpret_cast<char *>(&result), sizeof result);
        return result;
    }

    void write_at(std::size_t offset, const void *bytes, std::size_t size) const {
        const UniqueFd fd{::open(path.c_str(), O_RDWR)};
        EXPECT_EQ(::pwrite(fd.get(), bytes, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
    }

    // Why what stands there is not taken over; "" when it is.
    std::string refusal() const {
        std::string reason;
        const auto control = Control::open(folder.path(), reason);
        EXPECT_EQ(control == nullptr, !reason.empty());
        return reason;
    }

    const test::TempFolder folder;
    const std::string path = folder / "control";
    const Uuid state = Uuid::random();
    const Uuid boot = Uuid::random();
};

shmbloom_slot some_slot() {
    shmbloom_slot slot{};
    std::ranges::copy(std::string_view{"links"}, slot.name);
    slot.generation = 5;
    slot.capacity = 1000;
    slot.adds_new = 3;
    return slot;
}

TEST_F(ControlFile, IsInPlaceOnlyWhenItIsPublished) {
    Control control{Control::Create{}, folder.path(), state, boot};
    EXPECT_FALSE(file_id_at(path));
    EXPECT_FALSE(control.is_in_place());
    control.publish();
    EXPECT_EQ(file_id_at(path), control.id());
    EXPECT_TRUE(control.is_in_place());
    EXPECT_FALSE(file_id_at(path + ".new"));
}

TEST_F(ControlFile, ThatWasNeverPublishedLeavesNothing) {
    { const Control control{Control::Create{}, folder.path(), state, boot}; }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(ControlFile, OverwritesWhatACrashLeft) {
    std::ofstream{path + ".new"} << "half";
    EXPECT_TRUE(make()->is_in_place());
}

TEST_F(ControlFile, HasEveryPageAndTheModeForItsReaders) {
    const auto control = make();
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640u);
    EXPECT_EQ(status.st_size, SHMBLOOM_CONTROL_BYTES);
    EXPECT_GE(status.st_blocks * 512, status.st_size);
}

TEST_F(ControlFile, SaysWhoseItIs) {
    const auto control = make();
    const shmbloom_control_header found = header();
    EXPECT_EQ(found.magic, SHMBLOOM_CONTROL_MAGIC);
    EXPECT_EQ(found.version, 1u);
    EXPECT_EQ(found.compat, 0u);
    EXPECT_EQ(found.incompat, 0u);
    EXPECT_EQ(found.slot_count, 1024u);
    EXPECT_EQ(found.slot_bytes, 512u);
    EXPECT_EQ(found.slots_offset, 4096u);
    EXPECT_STREQ(found.writer, SHMBLOOM_VERSION);
    EXPECT_EQ(Uuid::from(found.state_uuid), state);
    EXPECT_EQ(Uuid::from(found.boot_id), boot);
    EXPECT_EQ(Uuid::from(found.control_uuid), control->uuid());
    EXPECT_FALSE(control->uuid().is_zero());
    EXPECT_NE(make()->uuid(), control->uuid());
}

TEST_F(ControlFile, IsAdoptedWithAllThatStandsInIt) {
    {
        const auto control = make();
        control->write_slot(3, some_slot());
        shmbloom_store_gate(&control->slot(3)->gate, make_gate(5, 0));
        control->set_next_generation(6);
    }
    std::string reason;
    const auto control = Control::open(folder.path(), reason);
    ASSERT_TRUE(control) << reason;
    EXPECT_EQ(control->state_uuid(), state);
    EXPECT_EQ(control->boot(), boot);
    EXPECT_EQ(control->next_generation(), 6u);
    shmbloom_slot copy;
    EXPECT_EQ(shmbloom_read_slot(control->slot(3), &copy), make_gate(5, 0));
    EXPECT_STREQ(copy.name, "links");
}

TEST_F(ControlFile, OfAnotherFormatIsRefused) {
    make();
    const auto refused_with = [&](std::size_t offset, auto value) {
        const shmbloom_control_header good = header();
        write_at(offset, &value, sizeof value);
        const std::string reason = refusal();
        write_at(0, &good, sizeof good);
        return reason;
    };
    const std::string expected = "its format is not this daemon's";
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, magic), SHMBLOOM_SEGMENT_MAGIC), expected);
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, version), 2u), expected);
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, header_bytes), 512u), expected);
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, incompat), std::uint64_t{1}), expected);
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, slot_count), 1023u), expected);
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, slot_bytes), 1024u), expected);
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, slots_offset), std::uint64_t{8192}), expected);
    // A compat bit is for readers that know it; the others may go on.
    EXPECT_EQ(refused_with(offsetof(shmbloom_control_header, compat), std::uint64_t{1}), "");
}

TEST_F(ControlFile, ThatIsMissingShortOrNoFileIsRefused) {
    EXPECT_EQ(refusal(), "there is none");
    make();
    std::filesystem::resize_file(path, SHMBLOOM_CONTROL_BYTES - 1);
    EXPECT_EQ(refusal(), "it is not a control file");
    std::filesystem::remove(path);
    std::filesystem::create_directory(path);
    EXPECT_NE(refusal(), "");
    std::filesystem::remove(path);
    std::filesystem::create_symlink("control.new", path);
    EXPECT_NE(refusal(), "");
}

TEST_F(ControlFile, IsNotInPlaceOnceAnotherIs) {
    const auto control = make();
    std::filesystem::remove(path);
    EXPECT_FALSE(control->is_in_place());
    make();
    EXPECT_FALSE(control->is_in_place());
}

TEST_F(ControlFile, GivesTheFirstSlotWithoutAFilter) {
    const auto control = make();
    EXPECT_EQ(control->free_slot(), 0u);
    shmbloom_store_gate(&control->slot(0)->gate, make_gate(1, SHMBLOOM_DOUBT_WARMING));
    shmbloom_store_gate(&control->slot(1)->gate, SHMBLOOM_DOUBT_PAUSED); // set in a slot that just ended: no filter
    EXPECT_EQ(control->free_slot(), 1u);
    for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        shmbloom_store_gate(&control->slot(i)->gate, make_gate(i + 1, 0));
    EXPECT_FALSE(control->free_slot());
    control->end_all_gates();
    EXPECT_EQ(control->free_slot(), 0u);
}

TEST_F(ControlFile, SlotIsWrittenWithItsGateClosed) {
    const auto control = make();
    shmbloom_store_gate(&control->slot(0)->gate, make_gate(4, SHMBLOOM_DOUBT_PAUSED));
    EXPECT_EQ(control->write_slot(0, some_slot()), make_gate(4, SHMBLOOM_DOUBT_PAUSED)); // paused is not lost
    EXPECT_EQ(control->slot(0)->gate, 0u);
    shmbloom_slot copy;
    EXPECT_EQ(shmbloom_read_slot(control->slot(0), &copy), 0u);
    shmbloom_store_gate(&control->slot(0)->gate, make_gate(4, 0)); // not the generation that the fields speak of
    EXPECT_EQ(shmbloom_read_slot(control->slot(0), &copy), 0u);
    shmbloom_store_gate(&control->slot(0)->gate, make_gate(5, 0));
    EXPECT_EQ(shmbloom_read_slot(control->slot(0), &copy), make_gate(5, 0));
    EXPECT_EQ(copy.capacity, 1000u);
}

TEST_F(ControlFile, StatusChangesNeitherGateNorIdentity) {
    const auto control = make();
    control->write_slot(0, some_slot());
    shmbloom_store_gate(&control->slot(0)->gate, make_gate(5, 0));
    shmbloom_slot other{};
    other.generation = 99;
    other.capacity = 2000;
    other.adds_new = 4;
    control->write_status(0, other);
    shmbloom_slot copy;
    EXPECT_EQ(shmbloom_read_slot(control->slot(0), &copy), make_gate(5, 0));
    EXPECT_STREQ(copy.name, "links");
    EXPECT_EQ(copy.generation, 5u);
    EXPECT_EQ(copy.capacity, 2000u);
    EXPECT_EQ(copy.adds_new, 4u);
}

TEST_F(ControlFile, ShowsLifeAndNameChanges) {
    const auto control = make();
    const std::uint64_t before = boottime_ns();
    control->beat();
    control->set_daemon_pid(123);
    control->raise_name_counter();
    control->raise_name_counter();
    const shmbloom_control_header found = header();
    EXPECT_GE(found.heartbeat_ns, before);
    EXPECT_LE(found.heartbeat_ns, boottime_ns());
    EXPECT_EQ(found.daemon_pid, 123u);
    EXPECT_EQ(found.name_counter, 2u);
}

} // namespace
} // namespace shmbloom
