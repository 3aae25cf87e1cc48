// Keys of a source: the short way of ordinary lines must give what the careful way gives.
#include "source_keys.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace shmbloom::ctl;

namespace {

struct Read {
    std::vector<std::string> lines;
    std::vector<std::uint64_t> hashes;
    KeyCounts counts;
    Outcome failure;
};

class SourceKeysTest : public testing::Test {
  protected:
    void TearDown() override { std::remove(options_.file.c_str()); }

    Read read(const std::string &text, const Keys &keys, std::size_t stop_after = SIZE_MAX) {
        options_.file = testing::TempDir() + "shmbloomctl-keys-" + std::to_string(::getpid());
        options_.name = "links";
        std::ofstream{options_.file, std::ios::binary} << text;
        auto source = Source::open(options_);
        Read read;
        SourceKeys lines{options_, std::get<Source>(source), keys};
        read.failure = lines.for_each(
            [&](std::string_view line, std::uint64_t hash) {
                read.lines.emplace_back(line);
                read.hashes.push_back(hash);
                return read.lines.size() < stop_after;
            },
            [&]() -> Outcome {
                if (read.lines.size() >= stop_after)
                    return Failure{Exit::timeout, "stopped"};
                return {};
            });
        read.counts = lines.counts();
        return read;
    }

    SourceOptions options_;
    const Keys plain_{shmbloom__hashing{1234, 1, 0, 0}};
    const Keys trimming_{shmbloom__hashing{1234, 1, SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER, 0}};
};

} // namespace

TEST_F(SourceKeysTest, EachLineHasTheHashThatAWorkerAsksFor) {
    std::string text;
    for (std::size_t size = 1; size < 600; size += 7) // every branch of the hash
        text += std::string(size, static_cast<char>('!' + size % 90)) + "\n";
    text += "a b\n\xC3\xA4\nlast";
    for (const Keys *keys : {&plain_, &trimming_}) {
        const Read got = read(text, *keys);
        ASSERT_FALSE(got.failure);
        EXPECT_EQ(got.lines.back(), "last");
        EXPECT_EQ(got.counts.lines, got.lines.size());
        for (std::size_t i = 0; i < got.lines.size(); ++i) {
            std::uint64_t hash = 0;
            ASSERT_EQ(keys->hash(got.lines[i], &hash), 0);
            EXPECT_EQ(got.hashes[i], hash) << got.lines[i];
        }
    }
}

TEST_F(SourceKeysTest, EmptyLinesAreCountedAndLeftOut) {
    const Read got = read("\n\nab\n\ncdef\n", plain_);
    EXPECT_EQ(got.lines, (std::vector<std::string>{"ab", "cdef"}));
    EXPECT_EQ(got.counts.lines, 5u);
    EXPECT_EQ(got.counts.empty, 3u);
    EXPECT_EQ(got.counts.shortest, 2u);
    EXPECT_EQ(got.counts.longest, 4u);
    EXPECT_EQ(read(" \n\t\n a \n", trimming_).counts.empty, 2u);
}

TEST_F(SourceKeysTest, StrayBlanksAreFoundWhereverTheyStand) {
    for (const char *stray : {"a\r", "\ra", "a\rb", " a", "a\t", "\va"}) {
        const Read got = read("one\ntwo\n" + std::string{stray} + "\nfour\n", plain_);
        ASSERT_TRUE(got.failure) << stray;
        EXPECT_EQ(got.failure->code, Exit::refused);
        EXPECT_EQ(got.failure->word, "STRAYBLANKS");
        EXPECT_EQ(got.failure->text.find("line 3: "), 0u) << got.failure->text;
        EXPECT_EQ(got.lines.size(), 2u);
    }
    options_.keep_blanks = true;
    EXPECT_EQ(read("a\r\n b\n", plain_).lines, (std::vector<std::string>{"a\r", " b"}));
}

TEST_F(SourceKeysTest, OddBytesAreKeysAllTheSame) {
    using namespace std::string_literals;
    const Read got = read("\x01\n\x7F\xFF\na\0b\n"s, plain_);
    ASSERT_FALSE(got.failure);
    EXPECT_EQ(got.lines, (std::vector<std::string>{"\x01", "\x7F\xFF", "a\0b"s}));
}

TEST_F(SourceKeysTest, ALineThatIsNoKeyIsNamed) {
    const std::string longest(SHMBLOOM_KEY_MAX_BYTES, 'k');
    EXPECT_FALSE(read("a\n" + longest + "\nb\n", plain_).failure);
    for (const std::string &text :
         {"a\n" + longest + "k\nb\n", "a\n" + longest + "k", "a\n" + longest + longest + longest}) {
        const Read got = read(text, plain_);
        ASSERT_TRUE(got.failure);
        EXPECT_EQ(got.failure->code, Exit::source_failed);
        EXPECT_EQ(got.failure->text.find("line 2: "), 0u) << got.failure->text;
        EXPECT_NE(got.failure->text.find("longer than 1 MiB"), std::string::npos) << got.failure->text;
    }
    const Keys numbers{shmbloom__hashing{1234, 1, 0, SHMBLOOM_KEY_TYPE_U64}};
    EXPECT_EQ(read("1\n22\n", numbers).lines.size(), 2u);
    EXPECT_NE(read("1\nx\n", numbers).failure->text.find("line 2: \"x\" is not a u64"), std::string::npos);
}

TEST_F(SourceKeysTest, StopsWhereItIsToldTo) {
    const Read got = read("a\nb\nc\n", plain_, 2);
    EXPECT_EQ(got.lines.size(), 2u);
    ASSERT_TRUE(got.failure);
    EXPECT_EQ(got.failure->text, "stopped");
}

TEST(EnoughKeys, AreAtLeastOneAndWhatWasExpected) {
    EXPECT_EQ(check_enough_keys(0, {}, "which is nothing")->word, "NOKEYS");
    EXPECT_EQ(check_enough_keys(2, 3, "")->word, "FEWKEYS");
    EXPECT_FALSE(check_enough_keys(3, 3, ""));
    EXPECT_FALSE(check_enough_keys(1, {}, ""));
}
