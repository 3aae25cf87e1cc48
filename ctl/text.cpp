#include "text.h"

#include <array>
#include <cstdio>

namespace shmbloom::ctl {

namespace {

std::string escape_byte(char c) {
    switch (c) {
    case '\t':
        return "\\t";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    default:
        break;
    }
    const unsigned value = static_cast<unsigned char>(c);
    if (value >= 0x20 && value != 0x7f)
        return std::string(1, c);
    // Three octal digits: unlike \x they cannot swallow a digit that follows.
    std::array<char, 8> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "\\%03o", value);
    return buffer.data();
}

bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"-_./:=,+@%"}.find(c) != std::string_view::npos;
}

} // namespace

std::string escape(std::string_view bytes, std::size_t max_bytes) {
    std::string text = "\"";
    for (const char c : bytes.substr(0, max_bytes))
        text += escape_byte(c);
    text += '"';
    if (bytes.size() > max_bytes)
        text += "... (" + std::to_string(bytes.size()) + " bytes)";
    return text;
}

std::string shell_quote(std::string_view word) {
    bool plain = !word.empty();
    for (const char c : word)
        plain = plain && is_plain(c);
    if (plain)
        return std::string{word};
    std::string quoted = "'";
    for (const char c : word)
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    return quoted + "'";
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
    std::string wrapped;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::size_t blank = text.find(' ');
        const std::string_view word = text.substr(0, blank);
        text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
        if (column > indent && column + 1 + word.size() > width) {
            wrapped += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            wrapped += ' ';
            ++column;
        }
        wrapped += word;
        column += word.size();
    }
    return wrapped;
}

} // namespace shmbloom::ctl
