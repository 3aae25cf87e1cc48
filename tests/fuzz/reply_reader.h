// Replies as a client reads them, strictly: what is not RESP as docs/protocol.md frames it is no reply.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace shmbloom {

struct ReadReply {
    char type = 0;
    std::int64_t number = 0; // of :
    std::string_view text;   // of + - $
    std::vector<ReadReply> elements;

    bool is_error() const { return type == '-'; }
};

inline std::optional<std::int64_t> read_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

// A stable word of capital letters, a blank, and something for people.
inline bool is_error_text(std::string_view text) {
    const auto end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return end != 0 && end != text.npos && text[end] == ' ' && end + 1 < text.size();
}

// Takes one reply from the front of `bytes`; nullopt: that is none.
inline std::optional<ReadReply> read_reply(std::string_view &bytes) {
    const auto line_end = bytes.find("\r\n");
    if (line_end == bytes.npos || line_end == 0)
        return std::nullopt;
    ReadReply reply{.type = bytes[0], .number = 0, .text = bytes.substr(1, line_end - 1), .elements = {}};
    bytes.remove_prefix(line_end + 2);
    if (reply.text.find_first_of("\r\n") != reply.text.npos)
        return std::nullopt;
    if (reply.type == '+')
        return reply;
    if (reply.type == '-')
        return is_error_text(reply.text) ? std::optional{reply} : std::nullopt;
    const auto number = read_number(reply.text);
    if (!number)
        return std::nullopt;
    reply.number = *number;
    if (reply.type == ':' || (reply.type == '$' && *number == -1))
        return reply;
    if (reply.type == '$' && *number >= 0 && static_cast<std::size_t>(*number) + 2 <= bytes.size()) {
        reply.text = bytes.substr(0, static_cast<std::size_t>(*number));
        bytes.remove_prefix(reply.text.size());
        const bool ends = bytes.starts_with("\r\n");
        bytes.remove_prefix(2);
        return ends ? std::optional{reply} : std::nullopt;
    }
    if (reply.type != '*' || *number < 0)
        return std::nullopt;
    for (std::int64_t i = 0; i < *number; i++) {
        auto element = read_reply(bytes);
        if (!element)
            return std::nullopt;
        reply.elements.push_back(std::move(*element));
    }
    return reply;
}

} // namespace shmbloom
