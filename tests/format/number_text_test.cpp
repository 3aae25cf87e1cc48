// Text of a u64 key: digits with a value below 2^64 and nothing else.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "shmbloom/key.h"

namespace {

std::optional<std::uint64_t> parse(std::string_view text, std::uint32_t normalization = 0) {
    std::uint64_t number = 4711;
    if (shmbloom_parse_number(text.data(), text.size(), normalization, &number))
        return number;
    EXPECT_EQ(number, 4711u) << "changed on failure by '" << text << "'";
    return std::nullopt;
}

TEST(NumberText, TakesDigitsUpToTheGreatestNumber) {
    EXPECT_EQ(parse("0"), 0u);
    EXPECT_EQ(parse("7"), 7u);
    EXPECT_EQ(parse("100000000"), 100'000'000u);
    EXPECT_EQ(parse("9999999999999999999"), 9'999'999'999'999'999'999u);
    EXPECT_EQ(parse("18446744073709551615"), UINT64_MAX);
}

TEST(NumberText, RefusesValuesFrom2To64) {
    EXPECT_EQ(parse("18446744073709551616"), std::nullopt);
    EXPECT_EQ(parse("18446744073709551620"), std::nullopt);
    EXPECT_EQ(parse("20000000000000000000"), std::nullopt);
    EXPECT_EQ(parse("99999999999999999999"), std::nullopt);
}

TEST(NumberText, LeadingZerosCountAsDigits) {
    EXPECT_EQ(parse("007"), 7u);
    EXPECT_EQ(parse("00000000000000000007"), 7u);
    EXPECT_EQ(parse("000000000000000000007"), std::nullopt) << "21 digits";
}

TEST(NumberText, RefusesWhatIsNoDigit) {
    for (const std::string_view text :
         {"", "-1", "+1", "-0", "1.0", "1e3", "0x10", "1_000", "1,000", "abc", "12a", "a12"})
        EXPECT_EQ(parse(text), std::nullopt) << text;
    EXPECT_EQ(parse(std::string_view("1\0", 2)), std::nullopt);
    EXPECT_EQ(parse("\xD9\xA1"), std::nullopt) << "a digit, but not an ASCII one";
}

TEST(NumberText, BlanksAroundNeedTrim) {
    for (const std::string_view text : {" 7", "7 ", "7\n", "\t7", "7\r"}) {
        EXPECT_EQ(parse(text), std::nullopt) << text;
        EXPECT_EQ(parse(text, SHMBLOOM_NORMALIZE_TRIM), 7u) << text;
    }
    EXPECT_EQ(parse("  18446744073709551615\r\n", SHMBLOOM_NORMALIZE_TRIM), UINT64_MAX);
}

TEST(NumberText, BlanksInsideAreRefused) {
    EXPECT_EQ(parse("1 0", SHMBLOOM_NORMALIZE_TRIM), std::nullopt);
    EXPECT_EQ(parse("- 1", SHMBLOOM_NORMALIZE_TRIM), std::nullopt);
    EXPECT_EQ(parse("   ", SHMBLOOM_NORMALIZE_TRIM), std::nullopt);
}

TEST(NumberText, WithoutBytesIsRefused) {
    std::uint64_t number = 0;
    EXPECT_EQ(shmbloom_parse_number(nullptr, 0, 0, &number), 0);
    EXPECT_EQ(shmbloom_parse_number(nullptr, 0, SHMBLOOM_NORMALIZE_TRIM, &number), 0);
}

} // namespace
