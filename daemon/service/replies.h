// Replies of the commands: failures, fields, words.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/reply.h"
#include "service/failure.h"
#include "service/info.h"

namespace shmbloom {

// Commands and option words are told apart without regard to case.
inline bool is_word(std::string_view text, std::string_view upper_case) {
    return std::ranges::equal(text, upper_case,
                              [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; });
}

inline std::string to_reply(const std::optional<Failure> &failure, std::string success) {
    return failure ? net::reply::error(failure->word, failure->text) : std::move(success);
}

inline std::string usage_error(std::string_view usage) {
    return net::reply::error("ERR", "usage: " + std::string{usage});
}

// Packed hashes of a command, made for a hash domain of 16 hexadecimal digits.
std::optional<Failure> read_hashes(std::string_view domain, std::string_view bytes, std::uint64_t *ret_domain,
                                   std::vector<std::uint64_t> &hashes);

// A flat array of name, value; nil for what is unknown.
inline std::string fields_reply(const Fields &fields) {
    std::string text = net::reply::array(fields.size() * 2);
    for (const auto &[name, value] : fields)
        text += net::reply::bulk(name) + (value ? net::reply::bulk(*value) : "$-1\r\n");
    return text;
}

} // namespace shmbloom
