#include "sys/uuid.h"

#include <gtest/gtest.h>
#include <set>

namespace shmbloom {
namespace {

constexpr std::string_view kText = "01234567-89ab-4def-8123-456789abcdef";

TEST(UuidText, ReadsBackWhatItWrites) {
    const auto uuid = Uuid::parse(kText);
    ASSERT_TRUE(uuid);
    EXPECT_EQ(uuid->bytes[0], 0x01);
    EXPECT_EQ(uuid->bytes[15], 0xef);
    EXPECT_EQ(to_string(*uuid), kText);
    EXPECT_EQ(Uuid::from(uuid->bytes.data()), *uuid);
}

TEST(UuidText, TakesCapitalLettersAndWritesSmallOnes) {
    const auto uuid = Uuid::parse("01234567-89AB-4DEF-8123-456789ABCDEF");
    ASSERT_TRUE(uuid);
    EXPECT_EQ(to_string(*uuid), kText);
}

TEST(UuidText, RefusesAnyOtherForm) {
    EXPECT_FALSE(Uuid::parse(""));
    EXPECT_FALSE(Uuid::parse(kText.substr(1)));
    EXPECT_FALSE(Uuid::parse(std::string{kText} + "0"));
    for (std::size_t i = 0; i < kText.size(); i++) {
        std::string broken{kText};
        broken[i] = kText[i] == '-' ? '0' : 'g';
        EXPECT_FALSE(Uuid::parse(broken)) << broken;
        broken[i] = kText[i] == '-' ? ' ' : '-';
        EXPECT_FALSE(Uuid::parse(broken)) << broken;
        broken[i] = '\0';
        EXPECT_FALSE(Uuid::parse(broken)) << i;
    }
}

TEST(Uuid, IsRandomAndOfVersion4) {
    std::set<Uuid> seen;
    for (int i = 0; i < 1000; i++) {
        const Uuid uuid = Uuid::random();
        EXPECT_EQ(to_string(uuid)[14], '4');
        EXPECT_NE(std::string_view{"89ab"}.find(to_string(uuid)[19]), std::string_view::npos);
        EXPECT_TRUE(seen.insert(uuid).second);
    }
}

TEST(Uuid, IsZeroOnlyWhenNothingIsSet) {
    EXPECT_TRUE(Uuid{}.is_zero());
    EXPECT_FALSE(Uuid::random().is_zero());
}

TEST(Uuid, OfTheBootIsTheSameUntilTheNextOne) {
    EXPECT_EQ(boot_id(), boot_id());
    EXPECT_FALSE(boot_id().is_zero());
}

TEST(Hex, HasAlways16SmallDigits) {
    EXPECT_EQ(to_hex(0), "0000000000000000");
    EXPECT_EQ(to_hex(0x0123456789abcdef), "0123456789abcdef");
    EXPECT_EQ(to_hex(UINT64_MAX), "ffffffffffffffff");
    EXPECT_EQ(parse_hex("0123456789abcdef"), 0x0123456789abcdefu);
    EXPECT_EQ(parse_hex("ffffffffffffffff"), UINT64_MAX);
}

TEST(Hex, RefusesAnyOtherForm) {
    for (const char *text : {"", "0", "123456789abcdef", "00123456789abcdef", "0123456789ABCDEF", "0x23456789abcdef",
                             " 123456789abcdef", "+123456789abcdef", "0123456789abcdeg"})
        EXPECT_FALSE(parse_hex(text)) << "'" << text << "'";
}

} // namespace
} // namespace shmbloom
