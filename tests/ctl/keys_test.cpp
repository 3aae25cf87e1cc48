#include "keys.h"

#include <gtest/gtest.h>

#include <cerrno>

using namespace shmbloom::ctl;

namespace {

Keys keys_with(std::uint32_t normalization, std::uint32_t key_type = SHMBLOOM_KEY_TYPE_BYTES) {
    return Keys{shmbloom__hashing{1, 2, normalization, key_type}};
}

std::uint64_t hash_of(const Keys &keys, std::string_view key) {
    std::uint64_t hash = 0;
    EXPECT_EQ(keys.hash(key, &hash), 0) << key;
    return hash;
}

constexpr std::uint32_t kBoth = SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER;

} // namespace

TEST(Keys, AreShownAsTheyAreHashed) {
    EXPECT_EQ(keys_with(0).as_hashed(" Abc\r"), "\" Abc\\r\"");
    EXPECT_EQ(keys_with(SHMBLOOM_NORMALIZE_TRIM).as_hashed(" Abc\r"), "\"Abc\"");
    EXPECT_EQ(keys_with(SHMBLOOM_NORMALIZE_LOWER).as_hashed(" Abc"), "\" abc\"");
    EXPECT_EQ(keys_with(kBoth).as_hashed(" Abc\t"), "\"abc\"");
    EXPECT_EQ(keys_with(0, SHMBLOOM_KEY_TYPE_U64).as_hashed("007"), "7");
}

TEST(Keys, ThatAreShownAlikeHashAlike) {
    EXPECT_EQ(hash_of(keys_with(kBoth), " ABC "), hash_of(keys_with(0), "abc"));
    EXPECT_EQ(hash_of(keys_with(0, SHMBLOOM_KEY_TYPE_U64), "007"), hash_of(keys_with(0, SHMBLOOM_KEY_TYPE_U64), "7"));
}

TEST(Keys, StrayBlanksAreThoseThatNobodyWouldAskFor) {
    const Keys plain = keys_with(0);
    for (const char *key : {"abc\r", " abc", "abc ", "\tabc", "a\rb", " "})
        EXPECT_TRUE(plain.has_stray_blanks(key)) << key;
    for (const char *key : {"abc", "a b", "a\tb", ""})
        EXPECT_FALSE(plain.has_stray_blanks(key)) << key;
    EXPECT_FALSE(keys_with(SHMBLOOM_NORMALIZE_TRIM).has_stray_blanks(" abc\r"));
}

TEST(Keys, OfTypeU64AreDigitsBelow2To64) {
    const Keys numbers = keys_with(0, SHMBLOOM_KEY_TYPE_U64);
    std::uint64_t hash = 0;
    EXPECT_EQ(numbers.hash("0", &hash), 0);
    EXPECT_EQ(numbers.hash("18446744073709551615", &hash), 0);
    for (const char *key : {"", "18446744073709551616", "-1", "+1", "1.0", "0x1", "abc", " 1", "1\r"})
        EXPECT_EQ(numbers.hash(key, &hash), -ERANGE) << key;
    EXPECT_EQ(keys_with(SHMBLOOM_NORMALIZE_TRIM, SHMBLOOM_KEY_TYPE_U64).hash(" 1\r", &hash), 0);
}

TEST(Keys, SayWhyTheyAreNotValid) {
    const Keys numbers = keys_with(0, SHMBLOOM_KEY_TYPE_U64);
    EXPECT_NE(numbers.why_invalid("x", -ERANGE).find("\"x\" is not a u64"), std::string::npos);
    EXPECT_NE(numbers.why_invalid("1\r", -ERANGE).find("--normalize trim"), std::string::npos);
    const std::string huge((1 << 20) + 1, 'k');
    EXPECT_NE(keys_with(0).why_invalid(huge, -E2BIG).find("longer than 1 MiB"), std::string::npos);
    EXPECT_LT(keys_with(0).why_invalid(huge, -E2BIG).size(), 200u);
}
