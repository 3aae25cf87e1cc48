#include "segment_fixture.h"

namespace shmbloom {
namespace {

class Memory : public SegmentFixture {};

TEST_F(Memory, IsMappedWhereHugePagesCanBe) {
    const SharedMemory created{SharedMemory::Create{}, name, 5000};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(created.data()) % SHMBLOOM_HUGE_PAGE_BYTES, 0u);
    EXPECT_EQ(created.size(), 5000u);
    const SharedMemory attached{SharedMemory::Attach{}, name};
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(attached.data()) % SHMBLOOM_HUGE_PAGE_BYTES, 0u);
    EXPECT_EQ(attached.size(), 5000u);
    EXPECT_EQ(attached.id(), created.id());
    created.data()[4999] = std::byte{7};
    EXPECT_EQ(attached.data()[4999], std::byte{7});
}

TEST_F(Memory, LeavesItsNameToWhoDecides) {
    { const SharedMemory created{SharedMemory::Create{}, name, 4096}; }
    EXPECT_TRUE(shared_memory_id(name));
}

TEST_F(Memory, LeavesNoNameWhenItCannotBeMade) {
    EXPECT_THROW((SharedMemory{SharedMemory::Create{}, name, std::size_t{1} << 50}), std::system_error);
    EXPECT_FALSE(shared_memory_id(name));
}

TEST_F(Memory, ThatIsEmptyOrMissingIsNotAttached) {
    EXPECT_THROW((SharedMemory{SharedMemory::Attach{}, name}), std::system_error);
    const UniqueFd fd{::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640)};
    EXPECT_THROW((SharedMemory{SharedMemory::Attach{}, name}), std::system_error);
}

TEST_F(Memory, IsRemovedOnlyAsWhatItWasRecorded) {
    const SharedMemory created{SharedMemory::Create{}, name, 4096};
    FileId other = created.id();
    other.inode++;
    EXPECT_FALSE(remove_shared_memory(name, other));
    EXPECT_TRUE(shared_memory_id(name));
    EXPECT_TRUE(remove_shared_memory(name, created.id()));
    EXPECT_FALSE(shared_memory_id(name));
    EXPECT_FALSE(remove_shared_memory(name, created.id()));
}

TEST_F(Memory, UnfinishedIsRemovedWhenItIsOurs) {
    EXPECT_FALSE(remove_unfinished_shared_memory(name));
    { const SharedMemory created{SharedMemory::Create{}, name, 4096}; }
    if (::geteuid() == 0) { // only root can give it away
        ASSERT_EQ(::chown(("/dev/shm" + name).c_str(), 1, 1), 0);
        EXPECT_FALSE(remove_unfinished_shared_memory(name));
        ASSERT_EQ(::chown(("/dev/shm" + name).c_str(), 0, 0), 0);
    }
    EXPECT_TRUE(remove_unfinished_shared_memory(name));
    EXPECT_FALSE(shared_memory_id(name));
}

} // namespace
} // namespace shmbloom
