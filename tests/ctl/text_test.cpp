#include "text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace shmbloom::ctl;
using namespace std::string_literals;

TEST(Escape, ShowsBlanksQuotesAndControlCharacters) {
    EXPECT_EQ(escape("abc"), "\"abc\"");
    EXPECT_EQ(escape(""), "\"\"");
    EXPECT_EQ(escape("a\tb\r\n"), "\"a\\tb\\r\\n\"");
    EXPECT_EQ(escape("\"\\"), "\"\\\"\\\\\"");
    EXPECT_EQ(escape("\0001"s), "\"\\0001\"");
    EXPECT_EQ(escape("\033[31m"), "\"\\033[31m\"");
    EXPECT_EQ(escape("gr\303\274n"), "\"gr\303\274n\"");
}

TEST(Escape, CutsLongKeysAndSaysHowLongTheyAre) {
    EXPECT_EQ(escape(std::string(100, 'x'), 4), "\"xxxx\"... (100 bytes)");
}

TEST(ShellQuote, LeavesPlainWordsAlone) {
    EXPECT_EQ(shell_quote("links-2.txt"), "links-2.txt");
    EXPECT_EQ(shell_quote("a b"), "'a b'");
    EXPECT_EQ(shell_quote(""), "''");
    EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
}

TEST(Wrap, BreaksAtBlanksAndIndents) {
    EXPECT_EQ(wrap("aa bb cc", 2, 7), "aa bb\n  cc");
    EXPECT_EQ(wrap("short", 2, 80), "short");
    EXPECT_EQ(wrap("a-word-that-is-too-long b", 0, 5), "a-word-that-is-too-long\nb");
}

TEST(SplitCommas, SkipsEmptyParts) {
    std::vector<std::string> parts;
    split_commas("warming,,lossy,", [&](std::string_view part) { parts.emplace_back(part); });
    EXPECT_EQ(parts, (std::vector<std::string>{"warming", "lossy"}));
}
