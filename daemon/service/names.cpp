#include "service/names.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <utility>

#include "shmbloom/layout.h"

namespace shmbloom {
namespace {

bool is_alphanumeric(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool consists_of(std::string_view text, std::string_view punctuation) {
    return std::ranges::all_of(text,
                               [&](char c) { return is_alphanumeric(c) || punctuation.find(c) != punctuation.npos; });
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

} // namespace

bool is_instance_name(std::string_view text) {
    return !text.empty() && text.size() <= 32 && consists_of(text, "_-");
}

bool is_filter_name(std::string_view text) {
    return !text.empty() && text.size() <= SHMBLOOM_NAME_BYTES && consists_of(text, "._:-");
}

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text) {
    static constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
    while (!text.empty()) {
        const auto lead = static_cast<unsigned char>(text[0]);
        const std::size_t length = lead < 0x80         ? 1
                                   : (lead >> 5) == 6  ? 2
                                   : (lead >> 4) == 14 ? 3
                                   : (lead >> 3) == 30 ? 4
                                                       : 0;
        if (length == 0 || length > text.size())
            return false;
        std::uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
        for (const char c : text.substr(1, length - 1)) {
            if ((static_cast<unsigned char>(c) & 0xC0) != 0x80)
                return false;
            point = point << 6 | (static_cast<unsigned char>(c) & 0x3F);
        }
        if (point < least[length] || (point >= 0xD800 && point < 0xE000) || point > 0x10FFFF)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text) {
    return parse_whole<std::uint64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
    const auto value = parse_whole<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 7> units{{{"KiB", 1ull << 10},
                                                                                      {"MiB", 1ull << 20},
                                                                                      {"GiB", 1ull << 30},
                                                                                      {"kB", 1'000},
                                                                                      {"MB", 1'000'000},
                                                                                      {"GB", 1'000'000'000},
                                                                                      {"", 1}}};
    const auto digits_end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_unsigned(text.substr(0, digits_end));
    for (const auto &[name, factor] : units) {
        std::uint64_t bytes = 0;
        if (number && text.substr(digits_end) == name && !__builtin_mul_overflow(*number, factor, &bytes))
            return bytes;
    }
    return std::nullopt;
}

std::optional<std::uint32_t> parse_normalization(std::string_view text) {
    std::uint32_t bits = 0;
    while (!text.empty()) {
        const auto word = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (word == "trim")
            bits |= SHMBLOOM_NORMALIZE_TRIM;
        else if (word == "lower")
            bits |= SHMBLOOM_NORMALIZE_LOWER;
        else
            return std::nullopt;
    }
    return bits;
}

std::string_view normalization_text(std::uint32_t bits) {
    static constexpr std::array<std::string_view, 4> texts{"", "trim", "lower", "trim,lower"};
    return texts[bits & 3];
}

std::optional<std::uint32_t> parse_key_type(std::string_view text) {
    if (text == "bytes")
        return SHMBLOOM_KEY_TYPE_BYTES;
    if (text == "u64")
        return SHMBLOOM_KEY_TYPE_U64;
    return std::nullopt;
}

std::string_view key_type_text(std::uint32_t key_type) {
    return key_type == SHMBLOOM_KEY_TYPE_U64 ? "u64" : "bytes";
}

std::string_view layout_text(std::uint32_t layout) {
    return layout == SHMBLOOM_LAYOUT_BLOCKED ? "blocked" : "classic";
}

std::string time_text(std::uint64_t unix_seconds) {
    const auto time = static_cast<std::time_t>(unix_seconds);
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

std::string real_text(double value) {
    char text[32];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    return {text, end};
}

} // namespace shmbloom
