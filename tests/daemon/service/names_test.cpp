#include "service/names.h"

#include <gtest/gtest.h>
#include <string>

#include "shmbloom/layout.h"

namespace shmbloom {
namespace {

TEST(FilterName, Is1To64OfItsCharacters) {
    EXPECT_TRUE(is_filter_name("a"));
    EXPECT_TRUE(is_filter_name("Links.v2_eu:codes-1"));
    EXPECT_TRUE(is_filter_name("."));
    EXPECT_TRUE(is_filter_name(std::string(64, 'x')));
    EXPECT_FALSE(is_filter_name(std::string(65, 'x')));
    EXPECT_FALSE(is_filter_name(""));
    for (const char *text : {"a b", "a/b", "a\n", "a*", "\xc3\xa4", "a,b", "a'b"})
        EXPECT_FALSE(is_filter_name(text)) << text;
    EXPECT_FALSE(is_filter_name(std::string_view{"a\0b", 3}));
}

TEST(InstanceName, Is1To32OfItsCharacters) {
    EXPECT_TRUE(is_instance_name("Default_2-x"));
    EXPECT_TRUE(is_instance_name(std::string(32, 'x')));
    EXPECT_FALSE(is_instance_name(std::string(33, 'x')));
    for (const char *text : {"", ".", "..", "a.b", "a:b", "a/b", "a b"}) // it is the name of a folder
        EXPECT_FALSE(is_instance_name(text)) << text;
}

TEST(WholeNumber, IsDigitsBelow2To64) {
    EXPECT_EQ(parse_unsigned("0"), 0u);
    EXPECT_EQ(parse_unsigned("007"), 7u);
    EXPECT_EQ(parse_unsigned("18446744073709551615"), UINT64_MAX);
    for (const char *text : {"", " 1", "1 ", "+1", "-1", "1e6", "0x10", "18446744073709551616", "1_000", "1.0"})
        EXPECT_FALSE(parse_unsigned(text)) << "'" << text << "'";
}

TEST(Real, IsFinite) {
    EXPECT_EQ(parse_real("0.01"), 0.01);
    EXPECT_EQ(parse_real("1e-9"), 1e-9);
    EXPECT_EQ(parse_real("5"), 5.0);
    for (const char *text : {"", "inf", "nan", "-inf", "1e999", "1%", "0,01", "0.01 ", " 0.01", "+0.01"})
        EXPECT_FALSE(parse_real(text)) << "'" << text << "'";
}

TEST(Size, IsBytesOrHasAUnit) {
    EXPECT_EQ(parse_size("0"), 0u);
    EXPECT_EQ(parse_size("123"), 123u);
    EXPECT_EQ(parse_size("1KiB"), 1024u);
    EXPECT_EQ(parse_size("256MiB"), 268435456u);
    EXPECT_EQ(parse_size("2GiB"), 2147483648u);
    EXPECT_EQ(parse_size("1kB"), 1000u);
    EXPECT_EQ(parse_size("3MB"), 3000000u);
    EXPECT_EQ(parse_size("4GB"), 4000000000u);
    EXPECT_EQ(parse_size("17179869183GiB"), 17179869183ull << 30);
    for (const char *text : {"", "MiB", "1M", "1mib", "1KB", "1 MiB", "1.5GiB", "-1", "17179869184GiB",
                             "18446744073709551616", "1MiBs", "1TiB"})
        EXPECT_FALSE(parse_size(text)) << "'" << text << "'";
}

TEST(Normalization, IsWrittenAsItIsRead) {
    for (const char *text : {"", "trim", "lower", "trim,lower"})
        EXPECT_EQ(normalization_text(parse_normalization(text).value()), text);
    EXPECT_EQ(parse_normalization("trim,lower"), SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER);
    EXPECT_EQ(parse_normalization("lower,trim"), parse_normalization("trim,lower"));
    for (const char *text : {"Trim", "trim lower", ",trim", "trim,,lower", "upper", " trim"})
        EXPECT_FALSE(parse_normalization(text)) << "'" << text << "'";
}

TEST(KeyType, IsWrittenAsItIsRead) {
    EXPECT_EQ(parse_key_type("bytes"), SHMBLOOM_KEY_TYPE_BYTES);
    EXPECT_EQ(parse_key_type("u64"), SHMBLOOM_KEY_TYPE_U64);
    EXPECT_EQ(key_type_text(SHMBLOOM_KEY_TYPE_BYTES), "bytes");
    EXPECT_EQ(key_type_text(SHMBLOOM_KEY_TYPE_U64), "u64");
    for (const char *text : {"", "U64", "u32", "byte"})
        EXPECT_FALSE(parse_key_type(text)) << "'" << text << "'";
}

TEST(Layout, HasItsName) {
    EXPECT_EQ(layout_text(SHMBLOOM_LAYOUT_CLASSIC), "classic");
    EXPECT_EQ(layout_text(SHMBLOOM_LAYOUT_BLOCKED), "blocked");
}

TEST(Names, PathsAreUtf8OrRefused) {
    for (const char *good : {"", "/run/shmbloom", "/srv/\xC3\xBC", "\xE2\x82\xAC", "\xF0\x9F\x8C\xB8"})
        EXPECT_TRUE(is_utf8(good)) << good;
    for (const char *bad : {"\x80", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "a\xE2\x82"})
        EXPECT_FALSE(is_utf8(bad)) << bad;
}

} // namespace
} // namespace shmbloom
