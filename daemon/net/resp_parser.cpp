#include "net/resp_parser.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>
#include <utility>

#include "net/inline_words.h"

namespace shmbloom::net {

namespace {

// '*' or '$', up to 20 digits, CR LF; what is longer is no length, and need not be waited for.
constexpr std::size_t kHeaderLineBytes = 32;

// Arguments for which vectors are kept from one request to the next.
constexpr std::size_t kKeptArguments = 64;

// Plain digits only: no sign, no blank, no leading zero, nothing above `greatest`.
std::optional<std::size_t> parse_length(std::string_view text, std::size_t greatest) {
    if (text.size() > 1 && text.front() == '0')
        return std::nullopt;
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value > greatest)
        return std::nullopt;
    return value;
}

// Assigning an empty one would keep the memory.
template <typename Container>
void give_back(Container &container) {
    Container{}.swap(container);
}

// Bytes of the peer, fit for one line of a reply and a terminal.
std::string shown(std::string_view bytes) {
    std::string text = "'";
    for (const char c : bytes.substr(0, kHeaderLineBytes))
        text += c >= ' ' && c <= '~' ? c : '?';
    return text + "'";
}

} // namespace

RespParser::Outcome RespParser::parse(std::string_view bytes) {
    for (;;) {
        const State before = state_;
        const std::size_t position_before = position_;
        const Outcome outcome = step(bytes);
        if (outcome != Outcome::incomplete)
            return outcome;
        if (state_ == before && position_ == position_before)
            break;
    }
    if (bytes.size() >= limits_.request_bytes)
        return fail("request of more than " + std::to_string(limits_.request_bytes) + " bytes, which is the limit");
    return Outcome::incomplete;
}

// Takes in one element, or says `incomplete` and stays where it is.
RespParser::Outcome RespParser::step(std::string_view bytes) {
    switch (state_) {
    case State::start:
        return start(bytes);
    case State::inline_line:
        return inline_line(bytes);
    case State::bulk_header:
        return bulk_header(bytes);
    case State::bulk_body:
        return bulk_body(bytes);
    case State::done:
        return Outcome::request;
    case State::failed:
        return Outcome::error;
    }
    return Outcome::error;
}

RespParser::Outcome RespParser::start(std::string_view bytes) {
    if (bytes.empty())
        return incomplete(1);
    if (bytes.front() == '*')
        return array_header(bytes);
    state_ = State::inline_line;
    return Outcome::incomplete;
}

RespParser::Outcome RespParser::array_header(std::string_view bytes) {
    std::string_view line;
    switch (header_line(bytes, &line)) {
    case Line::incomplete:
        return incomplete(bytes.size() + 1);
    case Line::failed:
        return Outcome::error;
    case Line::found:
        break;
    }
    const auto count = parse_length(line.substr(1), limits_.arguments);
    if (!count)
        return fail("number of arguments " + shown(line.substr(1)) + " is not a number from 0 to " +
                    std::to_string(limits_.arguments));
    remaining_ = *count;
    if (remaining_ == 0)
        return complete(bytes);
    state_ = State::bulk_header;
    return Outcome::incomplete;
}

RespParser::Outcome RespParser::bulk_header(std::string_view bytes) {
    if (position_ == bytes.size())
        return incomplete(position_ + 1);
    if (bytes[position_] != '$')
        return fail("expected '$' before " + which_argument() + ", got " + shown(bytes.substr(position_, 1)));
    std::string_view line;
    switch (header_line(bytes, &line)) {
    case Line::incomplete:
        return incomplete(bytes.size() + 1);
    case Line::failed:
        return Outcome::error;
    case Line::found:
        break;
    }
    const auto size = parse_length(line.substr(1), limits_.request_bytes);
    if (!size)
        return fail("length " + shown(line.substr(1)) + " of " + which_argument() + " is not a number from 0 to " +
                    std::to_string(limits_.request_bytes));
    // Both are at most the limit, give or take a line: no overflow.
    if (position_ + *size + 2 > limits_.request_bytes)
        return fail("request of at least " + std::to_string(position_ + *size + 2) + " bytes with " + which_argument() +
                    ", at most " + std::to_string(limits_.request_bytes) + " are allowed");
    bulk_size_ = *size;
    state_ = State::bulk_body;
    return Outcome::incomplete;
}

RespParser::Outcome RespParser::bulk_body(std::string_view bytes) {
    const std::size_t end = position_ + bulk_size_;
    if (bytes.size() < end + 2)
        return incomplete(end + 2);
    if (bytes[end] != '\r' || bytes[end + 1] != '\n')
        return fail(which_argument() + " does not end in CR LF after its " + std::to_string(bulk_size_) + " bytes");
    spans_.push_back({position_, bulk_size_});
    position_ = end + 2;
    remaining_--;
    state_ = State::bulk_header;
    return remaining_ == 0 ? complete(bytes) : Outcome::incomplete;
}

// A line at position_ without its CR LF. At most kHeaderLineBytes are looked at again when more arrive.
RespParser::Line RespParser::header_line(std::string_view bytes, std::string_view *ret) {
    const std::string_view window = bytes.substr(position_, kHeaderLineBytes);
    const std::size_t line_feed = window.find('\n');
    if (line_feed == std::string_view::npos) {
        if (window.size() < kHeaderLineBytes)
            return Line::incomplete;
        fail("no CR LF within " + std::to_string(kHeaderLineBytes) + " bytes after " + shown(window.substr(0, 1)));
        return Line::failed;
    }
    if (line_feed == 0 || window[line_feed - 1] != '\r') {
        fail("line " + shown(window.substr(0, line_feed)) + " does not end in CR LF");
        return Line::failed;
    }
    *ret = window.substr(0, line_feed - 1);
    position_ += line_feed + 1;
    return Line::found;
}

RespParser::Outcome RespParser::inline_line(std::string_view bytes) {
    const std::size_t limit = std::min(limits_.inline_bytes, limits_.request_bytes);
    const std::string_view window = bytes.substr(0, limit);
    const std::size_t line_feed = window.find('\n', scanned_);
    if (line_feed == std::string_view::npos) {
        scanned_ = window.size();
        if (window.size() == limit)
            return fail("inline command of more than " + std::to_string(limit) + " bytes, which is the limit");
        return incomplete(window.size() + 1);
    }
    position_ = line_feed + 1;
    const std::string_view line = window.substr(0, line_feed); // a CR before the LF counts as a blank
    if (std::string wrong = split_inline(line, limits_.arguments, &inline_text_, &arguments_); !wrong.empty())
        return fail(std::move(wrong));
    state_ = State::done;
    return Outcome::request;
}

RespParser::Outcome RespParser::complete(std::string_view bytes) {
    arguments_.reserve(spans_.size());
    for (const Span &span : spans_)
        arguments_.push_back(bytes.substr(span.offset, span.size));
    state_ = State::done;
    return Outcome::request;
}

RespParser::Outcome RespParser::incomplete(std::size_t wanted_bytes) {
    wanted_bytes_ = wanted_bytes;
    return Outcome::incomplete;
}

RespParser::Outcome RespParser::fail(std::string text) {
    error_text_ = "Protocol error: " + std::move(text);
    state_ = State::failed;
    return Outcome::error;
}

std::string RespParser::which_argument() const {
    return "argument " + std::to_string(spans_.size() + 1);
}

void RespParser::next() {
    assert(state_ == State::done);
    state_ = State::start;
    position_ = scanned_ = remaining_ = 0;
    spans_.clear();
    arguments_.clear();
    inline_text_.clear();
    if (memory_bytes() > kKeptArguments * (sizeof(Span) + sizeof(std::string_view))) {
        give_back(spans_);
        give_back(arguments_);
        give_back(inline_text_);
    }
}

std::size_t RespParser::memory_bytes() const {
    return spans_.capacity() * sizeof(Span) +
           std::max(arguments_.capacity(), spans_.capacity()) * sizeof(std::string_view) + inline_text_.capacity();
}

} // namespace shmbloom::net
