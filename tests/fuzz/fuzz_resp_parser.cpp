// The parser answers the same however the bytes are cut, and keeps what its header promises.
// Input: a byte that seeds the cuts and picks the limits, then what the peer sends.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "net/resp_parser.h"

namespace {

using namespace shmbloom;
using net::RespParser;

struct Parsed {
    std::vector<std::vector<std::string>> requests;
    std::string error;
    bool operator==(const Parsed &) const = default;
};

bool lies_in(std::string_view part, std::string_view whole) {
    return part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size();
}

void take_request(const RespParser &parser, std::string_view shown, const net::RespLimits &limits, Parsed *parsed) {
    require(parser.request_bytes() > 0 && parser.request_bytes() <= shown.size(),
            "a request is part of what was shown");
    require(parser.request_bytes() <= limits.request_bytes, "a request is within its limit");
    require(parser.arguments().size() <= limits.arguments, "so is the number of arguments");
    if (shown.front() == '*')
        for (const std::string_view argument : parser.arguments())
            require(lies_in(argument, shown.substr(0, parser.request_bytes())), "arguments lie in their request");
    parsed->requests.emplace_back(parser.arguments().begin(), parser.arguments().end());
}

// Shows `input` in pieces of up to `greatest_piece` bytes, each time in a block of exactly the bytes there are, so that
// the address sanitizer sees every step outside.
Parsed parse(std::string_view input, std::size_t greatest_piece, net::RespLimits limits, Choices choices) {
    RespParser parser{limits};
    Parsed parsed;
    std::size_t begin = 0;
    std::size_t end = 0;
    while (end < input.size()) {
        end += std::min(input.size() - end, 1 + choices.up_to(greatest_piece - 1));
        for (;;) {
            const std::size_t size = end - begin;
            const auto block = std::make_unique<char[]>(size);
            std::copy_n(input.data() + begin, size, block.get());
            const std::string_view shown{block.get(), size};
            const auto outcome = parser.parse(shown);
            if (outcome == RespParser::Outcome::error) {
                parsed.error = parser.error_text();
                require(parser.parse(shown) == RespParser::Outcome::error, "an error is final");
                return parsed;
            }
            if (outcome == RespParser::Outcome::incomplete) {
                require(size < limits.request_bytes, "a buffer of the limit is enough");
                require(parser.wanted_bytes() > size, "an incomplete request needs more");
                require(parser.wanted_bytes() <= limits.request_bytes, "but never more than the limit");
                break;
            }
            take_request(parser, shown, limits, &parsed);
            begin += parser.request_bytes();
            parser.next();
        }
    }
    require(parser.memory_bytes() <= 128 * input.size() + 8192, "memory follows what arrived, not what was claimed");
    return parsed;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0)
        return 0;
    const std::string_view input{reinterpret_cast<const char *>(data) + 1, size - 1};
    const bool small = data[0] & 1;
    const net::RespLimits limits{
        .request_bytes = small ? 64U : 1U << 20, .arguments = small ? 3U : 20U, .inline_bytes = small ? 16U : 100U};
    const Parsed whole = parse(input, size, limits, Choices{data[0]});
    require(parse(input, 1, limits, Choices{data[0]}) == whole, "byte by byte gives the same");
    require(parse(input, 20, limits, Choices{data[0]}) == whole, "pieces give the same");
    require(whole.error.find_first_of("\r\n") == std::string::npos, "an error is one line");
    return 0;
}
