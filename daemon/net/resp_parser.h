// Requests out of bytes: arrays of bulk strings, and inline commands for people (a line of words).
//
//     *2 CR LF $4 CR LF PING CR LF $2 CR LF hi CR LF        PING "hi" LF
//
// Pure: knows neither socket nor buffer. The caller shows everything received since the end of the last request, at
// each call the same bytes plus new ones, perhaps at another address. Work is linear in the bytes however they are cut:
// the parser remembers where it stands and never looks at a bulk's bytes.
//
// Stricter than Redis: a length is plain digits without leading zeros, lines of the array form end in CR LF, and so
// does each bulk. `*0` and an empty line are requests without arguments: to be passed over, as Redis does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shmbloom::net {

struct RespLimits {
    std::size_t request_bytes; // from the first to the last byte of one request
    std::size_t arguments;
    std::size_t inline_bytes = std::size_t{64} << 10;
};

class RespParser {
  public:
    enum class Outcome { incomplete, request, error };

    explicit RespParser(RespLimits limits) : limits_{limits} {}

    // `incomplete` is never answered to `request_bytes` bytes or more: a buffer of that size is always enough.
    Outcome parse(std::string_view bytes);

    // After `request`, until next(). They point into the bytes shown last or, for inline commands, into the parser.
    const std::vector<std::string_view> &arguments() const { return arguments_; }
    std::size_t request_bytes() const { return position_; }

    // After `error`, which is final: one line that says what was wrong and what is allowed.
    const std::string &error_text() const { return error_text_; }

    // After `incomplete`: a request that ends at all has at least this size. Claimed by the peer: not to be allocated.
    std::size_t wanted_bytes() const { return wanted_bytes_; }

    // Forgets the request, for the next one, which begins `request_bytes()` later.
    void next();

    // Held besides the bytes shown, counting what arguments() is going to need.
    std::size_t memory_bytes() const;

  private:
    enum class State { start, inline_line, bulk_header, bulk_body, done, failed };
    struct Span {
        std::size_t offset;
        std::size_t size;
    };
    enum class Line { incomplete, found, failed };

    Outcome step(std::string_view bytes);
    Outcome start(std::string_view bytes);
    Outcome array_header(std::string_view bytes);
    Outcome bulk_header(std::string_view bytes);
    Outcome bulk_body(std::string_view bytes);
    Outcome inline_line(std::string_view bytes);
    Line header_line(std::string_view bytes, std::string_view *ret);
    Outcome complete(std::string_view bytes);
    Outcome incomplete(std::size_t wanted_bytes);
    Outcome fail(std::string text);
    std::string which_argument() const;

    RespLimits limits_;
    State state_ = State::start;
    std::size_t position_ = 0;  // the first byte not yet taken in
    std::size_t scanned_ = 0;   // an inline command's line has no end before here
    std::size_t remaining_ = 0; // arguments still to come
    std::size_t bulk_size_ = 0;
    std::size_t wanted_bytes_ = 0;
    std::vector<Span> spans_; // offsets, because the bytes may move while a request is incomplete
    std::vector<std::string_view> arguments_;
    std::string inline_text_;
    std::string error_text_;
};

} // namespace shmbloom::net
