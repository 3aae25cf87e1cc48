#include "sys/memory.h"

#include <gtest/gtest.h>

namespace shmbloom {
namespace {

TEST(MemoryRoom, NamesWhatLimitsIt) {
    const MemoryRoom room = memory_room();
    EXPECT_GT(room.bytes, 0u);
    EXPECT_LT(room.bytes, std::uint64_t{1} << 50);
    EXPECT_TRUE(room.where == "/dev/shm" || room.where == "the machine's available memory" ||
                room.where.starts_with("the memory limit of control group '"))
        << room.where;
}

TEST(MemoryRefusal, IsNoneForWhatFits) {
    EXPECT_FALSE(memory_refusal(8192, 0));
}

TEST(MemoryRefusal, SaysNeedHaveAndWhere) {
    const auto text = memory_refusal(std::uint64_t{1} << 50, std::uint64_t{256} << 20);
    ASSERT_TRUE(text);
    EXPECT_NE(text->find("needs 1073741824 MiB (1125899906842624 bytes)"), std::string::npos) << *text;
    EXPECT_NE(text->find("a reserve of 256 MiB (268435456 bytes)"), std::string::npos) << *text;
    EXPECT_NE(text->find(" has "), std::string::npos) << *text;
    EXPECT_NE(text->find(memory_room().where), std::string::npos) << *text;
    EXPECT_EQ(text->find('\n'), std::string::npos);
}

TEST(MemoryRefusal, KeepsTheReserveHoweverLittleIsAskedFor) {
    EXPECT_TRUE(memory_refusal(0, std::uint64_t{1} << 50));
    EXPECT_TRUE(memory_refusal(4096, UINT64_MAX));
    EXPECT_TRUE(memory_refusal(UINT64_MAX, 0));
    EXPECT_TRUE(memory_refusal(UINT64_MAX, UINT64_MAX)); // a sum that wraps around must not fit
}

} // namespace
} // namespace shmbloom
