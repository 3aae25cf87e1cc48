#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "net/resp_parser.h"

namespace shmbloom::net {
namespace {

using Request = std::vector<std::string>;
using Outcome = RespParser::Outcome;

constexpr RespLimits kLimits{.request_bytes = 100'000, .arguments = 1000};

struct Parsed {
    std::vector<Request> requests;
    std::string error;
    std::size_t left_bytes = 0; // of a request not complete
    bool operator==(const Parsed &) const = default;
};

std::ostream &operator<<(std::ostream &out, const Parsed &parsed) {
    for (const Request &request : parsed.requests)
        for (const std::string &argument : request)
            out << '<' << argument << '>';
    return out << " error '" << parsed.error << "' left " << parsed.left_bytes;
}

// Shows the pieces one after the other, as a session does, each time at another address.
Parsed parse_pieces(const std::vector<std::string> &pieces, RespLimits limits = kLimits) {
    RespParser parser{limits};
    Parsed result;
    std::string received;
    for (const std::string &piece : pieces) {
        std::string moved = received + piece;
        received.swap(moved);
        for (;;) {
            const Outcome outcome = parser.parse(received);
            if (outcome == Outcome::error) {
                result.error = parser.error_text();
                return result;
            }
            if (outcome == Outcome::incomplete)
                break;
            result.requests.emplace_back(parser.arguments().begin(), parser.arguments().end());
            received.erase(0, parser.request_bytes());
            parser.next();
        }
    }
    result.left_bytes = received.size();
    return result;
}

Parsed parse(const std::string &text, RespLimits limits = kLimits) {
    return parse_pieces({text}, limits);
}

std::string error_of(const std::string &text, RespLimits limits = kLimits) {
    return parse(text, limits).error;
}

std::string encode(const Request &request) {
    std::string text = "*" + std::to_string(request.size()) + "\r\n";
    for (const std::string &argument : request)
        text += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
    return text;
}

TEST(RespParser, TakesArraysOfBulkStrings) {
    const Request request{"SB.ADDH", "name", std::string{"\0\r\n$3*", 6}, ""};
    EXPECT_EQ(parse(encode(request)), (Parsed{{request}, "", 0}));
}

TEST(RespParser, TakesPipelinesOfBothForms) {
    const auto parsed = parse(encode({"PING"}) + "ping  a\tb\r\n" + encode({"ECHO", "x"}) + "quit\n");
    EXPECT_EQ(parsed, (Parsed{{{"PING"}, {"ping", "a", "b"}, {"ECHO", "x"}, {"quit"}}, "", 0}));
}

TEST(RespParser, PassesEmptyRequestsOn) {
    EXPECT_EQ(parse("\r\n*0\r\n\n   \n"), (Parsed{{{}, {}, {}, {}}, "", 0}));
}

TEST(RespParser, AnswersTheSameHoweverTheBytesAreCut) {
    const std::vector<std::string> texts{
        encode({"PING"}),
        encode({"ECHO", "", "a\r\nb"}) + encode({"X"}),
        "PING \"a b\" c\r\n*1\r\n$1\r\nx\r\n\r\n",
        "*2\r\n$1\r\na\r\n$-1\r\n",
        "*1\r\n$3\r\nabcde\r\n",
        "*1\r\n$3\nabc\r\n",
        "*1\r\n:3\r\n",
        "*12345678901234567890123456789012345678901234567890\r\n",
        "set \"open\n",
        "*3\r\n$1\r\na\r\n$100000\r\n",
    };
    for (const std::string &text : texts) {
        const Parsed whole = parse(text);
        std::vector<std::string> single_bytes;
        for (const char c : text)
            single_bytes.emplace_back(1, c);
        EXPECT_EQ(parse_pieces(single_bytes), whole) << text;
        for (std::size_t i = 0; i <= text.size(); i++)
            for (std::size_t j = i; j <= text.size(); j++)
                EXPECT_EQ(parse_pieces({text.substr(0, i), text.substr(i, j - i), text.substr(j)}), whole)
                    << text << " cut at " << i << ", " << j;
    }
}

TEST(RespParser, WaitsForTheRestOfARequest) {
    const std::string text = encode({"ECHO", "hello"});
    for (std::size_t size = 0; size < text.size(); size++)
        EXPECT_EQ(parse(text.substr(0, size)), (Parsed{{}, "", size}));
}

TEST(RespParser, KnowsWhatAnIncompleteRequestNeeds) {
    RespParser parser{kLimits};
    EXPECT_EQ(parser.parse("*1\r\n$5000\r\nab"), Outcome::incomplete);
    EXPECT_EQ(parser.wanted_bytes(), std::string_view{"*1\r\n$5000\r\n"}.size() + 5002);
    EXPECT_LT(parser.memory_bytes(), 1000U); // and has not believed it
}

TEST(RespParser, RefusesArgumentCountsThatAreNone) {
    for (const char *count : {"", "-1", "+1", "01", "00", " 1", "1 ", "1x", "0x1", "1001", "9223372036854775807",
                              "9223372036854775808", "18446744073709551616", "99999999999999999999"})
        EXPECT_EQ(error_of("*" + std::string{count} + "\r\n"),
                  "Protocol error: number of arguments '" + std::string{count} + "' is not a number from 0 to 1000");
}

TEST(RespParser, RefusesLengthsThatAreNone) {
    for (const char *length : {"", "-1", "-0", "+1", "01", "1.0", "100001", "9223372036854775808",
                               "18446744073709551615", "18446744073709551616"})
        EXPECT_EQ(error_of("*2\r\n$1\r\na\r\n$" + std::string{length} + "\r\n"),
                  "Protocol error: length '" + std::string{length} +
                      "' of argument 2 is not a number from 0 to 100000");
}

TEST(RespParser, RefusesLinesWithoutTheirEnd) {
    EXPECT_EQ(error_of("*1\n$1\r\na\r\n"), "Protocol error: line '*1' does not end in CR LF");
    EXPECT_EQ(error_of("*1\r\n$1\na\r\n"), "Protocol error: line '$1' does not end in CR LF");
    EXPECT_EQ(error_of("*" + std::string(31, '1')), "Protocol error: no CR LF within 32 bytes after '*'");
    EXPECT_EQ(error_of("*1\r\n$1\r\nab\n"), "Protocol error: argument 1 does not end in CR LF after its 1 bytes");
    EXPECT_EQ(error_of("*1\r\n$1\r\na\n\r"), "Protocol error: argument 1 does not end in CR LF after its 1 bytes");
}

TEST(RespParser, RefusesOtherTypesInsideAnArray) {
    EXPECT_EQ(error_of("*1\r\n+OK\r\n"), "Protocol error: expected '$' before argument 1, got '+'");
    EXPECT_EQ(error_of("*1\r\n\r\n"), "Protocol error: expected '$' before argument 1, got '?'");
    EXPECT_EQ(error_of("*2\r\n$1\r\na\r\n*1\r\n"), "Protocol error: expected '$' before argument 2, got '*'");
}

TEST(RespParser, KeepsToTheNumberOfArguments) {
    const RespLimits limits{.request_bytes = 1000, .arguments = 3};
    EXPECT_EQ(parse(encode({"a", "b", "c"}), limits).requests.size(), 1U);
    EXPECT_EQ(error_of(encode({"a", "b", "c", "d"}), limits),
              "Protocol error: number of arguments '4' is not a number from 0 to 3");
    EXPECT_EQ(parse("a b c\n", limits).requests.size(), 1U);
    EXPECT_EQ(error_of("a b c d\n", limits), "Protocol error: more than 3 arguments, which is the limit");
}

TEST(RespParser, KeepsToTheSizeOfARequest) {
    const Request request{"ECHO", std::string(500, 'x')};
    const std::size_t size = encode(request).size();
    EXPECT_EQ(parse(encode(request), {.request_bytes = size, .arguments = 3}).requests.size(), 1U);
    EXPECT_EQ(error_of(encode(request), {.request_bytes = size - 1, .arguments = 3}),
              "Protocol error: request of at least " + std::to_string(size) + " bytes with argument 2, at most " +
                  std::to_string(size - 1) + " are allowed");
}

TEST(RespParser, NeverAsksForMoreThanTheLimit) {
    const RespLimits limits{.request_bytes = 20, .arguments = 100};
    EXPECT_EQ(parse("*9\r\n$1\r\na\r\n$1\r\nb\r", limits).left_bytes, 17U);
    EXPECT_EQ(error_of("*9\r\n$1\r\na\r\n$0\r\n\r\n$0\r", limits),
              "Protocol error: request of more than 20 bytes, which is the limit");
}

TEST(RespParser, KeepsToTheSizeOfAnInlineCommand) {
    RespLimits limits = kLimits;
    limits.inline_bytes = 10;
    EXPECT_EQ(parse("123456789\n", limits).requests, (std::vector<Request>{{"123456789"}}));
    EXPECT_EQ(error_of("1234567890\n", limits),
              "Protocol error: inline command of more than 10 bytes, which is the limit");
    EXPECT_EQ(error_of(std::string(65536, 'x')),
              "Protocol error: inline command of more than 65536 bytes, which is the limit");
}

TEST(RespParser, ReadsQuotedWords) {
    EXPECT_EQ(parse(R"(a "b c" "" "\"\\\n\x41\xZ" d"e f")"
                    "\n")
                  .requests,
              (std::vector<Request>{{"a", "b c", "", "\"\\\nAxZ", "de f"}}));
    EXPECT_EQ(error_of("a \"b\n"), "Protocol error: a quote is opened in the inline command and not closed");
    EXPECT_EQ(error_of("a \"b\\\"\n"), "Protocol error: a quote is opened in the inline command and not closed");
    EXPECT_EQ(error_of("\"b\"c\n"), "Protocol error: a closing quote in the inline command is not followed by a blank");
}

TEST(RespParser, StaysFailed) {
    RespParser parser{kLimits};
    EXPECT_EQ(parser.parse("*x\r\n"), Outcome::error);
    EXPECT_EQ(parser.parse("*x\r\n" + encode({"PING"})), Outcome::error);
}

// Takes minutes when work is repeated for every byte.
void take_byte_by_byte(const std::string &text) {
    RespParser parser{{.request_bytes = text.size(), .arguments = std::size_t{1} << 20}};
    for (std::size_t size = 0; size < text.size(); size++)
        ASSERT_EQ(parser.parse(std::string_view{text}.substr(0, size)), Outcome::incomplete);
    EXPECT_EQ(parser.parse(text), Outcome::request);
}

TEST(RespParser, IsLinearInALargeBulk) {
    take_byte_by_byte(encode({"ECHO", std::string(4 << 20, '\n')}));
}

TEST(RespParser, IsLinearInManyArguments) {
    take_byte_by_byte(encode(Request(300'000, "x")));
}

TEST(RespParser, IsLinearInAnInlineCommand) {
    take_byte_by_byte(std::string(65'535, 'x') + "\n");
}

TEST(RespParser, GivesMemoryBackAfterALargeRequest) {
    const std::string text = encode(Request(100'000, "x"));
    RespParser parser{{.request_bytes = text.size(), .arguments = 100'000}};
    ASSERT_EQ(parser.parse(text), Outcome::request);
    EXPECT_GE(parser.memory_bytes(), 3'200'000U);
    parser.next();
    EXPECT_LT(parser.memory_bytes(), 10'000U);
}

} // namespace
} // namespace shmbloom::net
