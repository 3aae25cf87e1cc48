#include "line_reader.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "shmbloom/key.h"
#include "unique_fd.h"

using namespace shmbloom::ctl;
using Next = LineReader::Next;

namespace {

struct Pipe {
    Pipe() {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        read_end = UniqueFd{ends[0]};
        write_end = UniqueFd{ends[1]};
    }
    void write(std::string_view text) {
        while (!text.empty()) {
            const ssize_t n = ::write(write_end.get(), text.data(), text.size());
            if (n <= 0)
                return; // the reader went away
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    UniqueFd read_end, write_end;
};

// All lines of `text`, written in pieces of `piece_bytes`.
std::vector<std::string> lines_of(std::string_view text, char separator, std::size_t piece_bytes, Next *last) {
    Pipe pipe;
    std::thread writer{[&] {
        for (std::size_t at = 0; at < text.size(); at += piece_bytes)
            pipe.write(text.substr(at, piece_bytes));
        pipe.write_end.reset();
    }};
    std::vector<std::string> lines;
    {
        LineReader reader{pipe.read_end.get(), separator};
        std::string_view line;
        while ((*last = reader.next(&line)) == Next::line)
            lines.emplace_back(line);
        EXPECT_EQ(reader.error(), 0);
    }
    // Reads on, so that the writer ends also when the reader gave up.
    char rest[65536];
    while (::read(pipe.read_end.get(), rest, sizeof rest) > 0)
        continue;
    writer.join();
    return lines;
}

} // namespace

TEST(LineReader, GivesLinesWithoutSeparatorsAndALastOneThatHasNone) {
    Next last;
    EXPECT_EQ(lines_of("a\n\nbc\nd", '\n', 100, &last), (std::vector<std::string>{"a", "", "bc", "d"}));
    EXPECT_EQ(last, Next::end);
    EXPECT_EQ(lines_of("", '\n', 100, &last), std::vector<std::string>{});
    EXPECT_EQ(last, Next::end);
    EXPECT_EQ(lines_of("\n", '\n', 100, &last), std::vector<std::string>{""});
}

TEST(LineReader, DoesNotCareHowTheBytesArrive) {
    const std::string text = "one\ntwo\n\nthree\nfour";
    Next last;
    for (std::size_t piece = 1; piece <= text.size(); ++piece)
        EXPECT_EQ(lines_of(text, '\n', piece, &last), (std::vector<std::string>{"one", "two", "", "three", "four"}));
}

TEST(LineReader, SplitsAtNulBytesWhenAsked) {
    using namespace std::string_literals;
    Next last;
    EXPECT_EQ(lines_of("a\nb\0c\0"s, '\0', 100, &last), (std::vector<std::string>{"a\nb", "c"}));
}

TEST(LineReader, KeepsEveryLineOverManyBlocks) {
    std::string text;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < 300'000; ++i) {
        expected.push_back(std::to_string(i * 7919) + std::string(i % 23, 'x'));
        text += expected.back() + "\n";
    }
    Next last;
    EXPECT_EQ(lines_of(text, '\n', 65'521, &last), expected);
}

TEST(LineReader, TakesTheLongestKeyAndRefusesOneByteMore) {
    Next last;
    const std::string longest(SHMBLOOM_KEY_MAX_BYTES, 'k');
    EXPECT_EQ(lines_of("a\n" + longest + "\n" + longest, '\n', 70'000, &last),
              (std::vector<std::string>{"a", longest, longest}));
    EXPECT_EQ(last, Next::end);
    EXPECT_EQ(lines_of("a\n" + longest + "k\nb\n", '\n', 70'000, &last), std::vector<std::string>{"a"});
    EXPECT_EQ(last, Next::too_long);
    EXPECT_EQ(lines_of(longest + "kkk", '\n', 70'000, &last), std::vector<std::string>{});
    EXPECT_EQ(last, Next::too_long);
}

TEST(LineReader, TellsWhenTheNextLineNeedsAWait) {
    Pipe pipe;
    pipe.write("a\nb\nc");
    LineReader reader{pipe.read_end.get(), '\n'};
    std::string_view line;
    ASSERT_EQ(reader.next(&line), Next::line);
    EXPECT_TRUE(reader.is_line_ready());
    ASSERT_EQ(reader.next(&line), Next::line);
    EXPECT_FALSE(reader.is_line_ready());
    pipe.write_end.reset();
    ASSERT_EQ(reader.next(&line), Next::line);
    EXPECT_EQ(line, "c");
    EXPECT_FALSE(reader.is_line_ready());
    EXPECT_EQ(reader.next(&line), Next::end);
    EXPECT_EQ(reader.line_number(), 3u);
    EXPECT_EQ(reader.bytes_read(), 5u);
}

TEST(LineReader, StopsWaitingWhenInterrupted) {
    Pipe pipe, interrupt;
    interrupt.write("x");
    LineReader reader{pipe.read_end.get(), '\n', interrupt.read_end.get()};
    std::string_view line;
    EXPECT_EQ(reader.next(&line), Next::interrupted);
}

TEST(LineReader, ReportsWhatReadRefused) {
    const UniqueFd folder{::open("/", O_RDONLY | O_CLOEXEC)};
    LineReader reader{folder.get(), '\n'};
    std::string_view line;
    EXPECT_EQ(reader.next(&line), Next::failed);
    EXPECT_EQ(reader.error(), EISDIR);
}

TEST(LineReader, GivesBlocksOfWholeLines) {
    Pipe pipe;
    pipe.write("one\ntwo\nthr");
    LineReader reader{pipe.read_end.get(), '\n'};
    std::string_view lines;
    ASSERT_EQ(reader.next_block(&lines), Next::line);
    EXPECT_EQ(lines, "one\ntwo\n");
    pipe.write("ee\nlast");
    pipe.write_end.reset();
    ASSERT_EQ(reader.next_block(&lines), Next::line);
    EXPECT_EQ(lines, "three\n");
    ASSERT_EQ(reader.next_block(&lines), Next::line);
    EXPECT_EQ(lines, "last");
    EXPECT_EQ(reader.next_block(&lines), Next::end);
    EXPECT_EQ(reader.bytes_read(), 18u);
    EXPECT_EQ(reader.bytes_given(), 18u);
}

TEST(LineReader, GivesNoBlockOfALineThatDoesNotEnd) {
    Pipe pipe;
    std::thread writer{[&] {
        pipe.write("a\n" + std::string(SHMBLOOM_KEY_MAX_BYTES + 1, 'k'));
        pipe.write_end.reset();
    }};
    LineReader reader{pipe.read_end.get(), '\n'};
    std::string_view lines;
    ASSERT_EQ(reader.next_block(&lines), Next::line);
    EXPECT_EQ(lines, "a\n");
    EXPECT_EQ(reader.next_block(&lines), Next::too_long);
    pipe.read_end.reset(); // so that the writer ends
    writer.join();
}
