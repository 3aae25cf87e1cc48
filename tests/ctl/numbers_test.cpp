#include "numbers.h"

#include <gtest/gtest.h>

using namespace shmbloom::ctl;

TEST(Count, TakesPlainDigitsExponentsSuffixesAndUnderscores) {
    EXPECT_EQ(parse_count("0"), 0u);
    EXPECT_EQ(parse_count("1000"), 1000u);
    EXPECT_EQ(parse_count("1e8"), 100'000'000u);
    EXPECT_EQ(parse_count("1E+3"), 1000u);
    EXPECT_EQ(parse_count("100M"), 100'000'000u);
    EXPECT_EQ(parse_count("1k"), 1000u);
    EXPECT_EQ(parse_count("1K"), 1000u);
    EXPECT_EQ(parse_count("2G"), 2'000'000'000u);
    EXPECT_EQ(parse_count("1T"), 1'000'000'000'000u);
    EXPECT_EQ(parse_count("100_000_000"), 100'000'000u);
    EXPECT_EQ(parse_count("18446744073709551615"), UINT64_MAX);
}

TEST(Count, TakesFractionsThatMakeAWholeNumber) {
    EXPECT_EQ(parse_count("1.5M"), 1'500'000u);
    EXPECT_EQ(parse_count("2.50e2"), 250u);
    EXPECT_EQ(parse_count("1000e-3"), 1u);
    EXPECT_EQ(parse_count("3.0"), 3u);
    EXPECT_FALSE(parse_count("1.5"));
    EXPECT_FALSE(parse_count("1.2345k"));
    EXPECT_FALSE(parse_count("1e-1"));
}

TEST(Count, RefusesWhatIsNoNumberOrTooLarge) {
    for (const char *text :
         {"",         " ",     "-1", "+1",   "1 ", " 1", "1,000", "_1", "1_", "1__0", "1_M", ".5",
          "5.",       "1.5.5", "1e", "1e8M", "1m", "1P", "0x10",  "M",  "e8", "1e99", "nan", "18446744073709551616",
          "99999999T"})
        EXPECT_FALSE(parse_count(text)) << "'" << text << "'";
}

TEST(Rate, TakesSharesAndPercent) {
    EXPECT_EQ(parse_rate("0.01"), 0.01);
    EXPECT_EQ(parse_rate("1%"), 0.01);
    EXPECT_EQ(parse_rate("1e-3"), 0.001);
    EXPECT_DOUBLE_EQ(parse_rate("0.1%").value(), 0.001);
    for (const char *text : {"", "%", "0", "1", "100%", "-0.1", "nan", "inf", "0.01x", "1 %", "0,01"})
        EXPECT_FALSE(parse_rate(text)) << "'" << text << "'";
}

TEST(Duration, TakesSecondsAndUnits) {
    EXPECT_EQ(parse_duration_s("0"), 0u);
    EXPECT_EQ(parse_duration_s("90"), 90u);
    EXPECT_EQ(parse_duration_s("90s"), 90u);
    EXPECT_EQ(parse_duration_s("15m"), 900u);
    EXPECT_EQ(parse_duration_s("1h"), 3600u);
    EXPECT_EQ(parse_duration_s("2d"), 172'800u);
    for (const char *text :
         {"", "s", "-1s", "1.5h", "1w", "1 h", "1hh", "99999999999999999999d", "18446744073709551615d"})
        EXPECT_FALSE(parse_duration_s(text)) << "'" << text << "'";
}

TEST(Format, CountsHaveOneDecimalAndAUnit) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(9999), "9999");
    EXPECT_EQ(format_count(10'000), "10.0 k");
    EXPECT_EQ(format_count(104'334), "104.3 k");
    EXPECT_EQ(format_count(999'949), "999.9 k");
    EXPECT_EQ(format_count(999'951), "1.0 M");
    EXPECT_EQ(format_count(300'200'000), "300.2 M");
    EXPECT_EQ(format_count(1'000'000'000'000), "1.0 T");
}

TEST(Format, BytesAreMebibytes) {
    EXPECT_EQ(format_bytes(8192), "0.01 MiB");
    EXPECT_EQ(format_bytes(4 << 20), "4.00 MiB");
    EXPECT_EQ(format_bytes(119'848'960), "114.3 MiB");
}

TEST(Format, SharesHaveTwoDigitsThatSaySomething) {
    EXPECT_EQ(format_share(0), "0 %");
    EXPECT_EQ(format_share(0.00031), "0.031 %");
    EXPECT_EQ(format_share(0.001), "0.1 %");
    EXPECT_EQ(format_share(0.01), "1 %");
    EXPECT_EQ(format_share(0.034), "3.4 %");
    EXPECT_EQ(format_share(0.75), "75 %");
    EXPECT_EQ(format_share(1), "100 %");
    EXPECT_EQ(format_share(1e-9), "1e-07 %");
    EXPECT_EQ(format_share(7.7e-16), "< 1e-07 %");
}

TEST(Format, AgesGrowTheirUnit) {
    EXPECT_EQ(format_age(400), "0.4 s");
    EXPECT_EQ(format_age(12'000), "12 s");
    EXPECT_EQ(format_age(240'000), "4 min");
    EXPECT_EQ(format_age(5 * 3'600'000), "5 h");
    EXPECT_EQ(format_age(31ull * 86'400'000), "31 d");
}

TEST(Format, ExactTextReadsBackAsTheSameNumber) {
    for (const double value : {0.01, 0.1, 1e-9, 1.0 / 3})
        EXPECT_EQ(parse_rate(exact_text(value)), value);
}
