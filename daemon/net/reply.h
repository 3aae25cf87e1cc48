// RESP replies as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shmbloom::net::reply {

inline std::string simple(std::string_view text) {
    return "+" + std::string{text} + "\r\n";
}

// `word`: ERR NOTFOUND EXISTS STALE NOMEM RANGE NOPERM BUSY TYPE NOSPC IO NOPROTO. Line breaks in `text` become blanks.
inline std::string error(std::string_view word, std::string_view text) {
    std::string line = "-" + std::string{word} + " " + std::string{text};
    for (char &c : line)
        if (c == '\r' || c == '\n')
            c = ' ';
    return line + "\r\n";
}

inline std::string integer(std::int64_t value) {
    return ":" + std::to_string(value) + "\r\n";
}

inline std::string bulk(std::string_view bytes) {
    return "$" + std::to_string(bytes.size()) + "\r\n" + std::string{bytes} + "\r\n";
}

// `count` replies follow.
inline std::string array(std::size_t count) {
    return "*" + std::to_string(count) + "\r\n";
}

} // namespace shmbloom::net::reply
