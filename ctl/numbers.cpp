#include "numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace shmbloom::ctl {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// A mantissa without its point, and how many powers of ten it stands too high.
struct Decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
};

// Reads digits with at most one point; underscores only between two digits. Leaves the rest in `text`.
std::optional<Decimal> read_decimal(std::string_view &text) {
    Decimal d;
    bool point = false, any = false, last_is_digit = false;
    for (; !text.empty(); text.remove_prefix(1)) {
        const char c = text.front();
        if (c == '_') {
            if (!last_is_digit || text.size() < 2 || !is_digit(text[1]))
                return std::nullopt;
        } else if (c == '.') {
            if (point || !last_is_digit || text.size() < 2 || !is_digit(text[1]))
                return std::nullopt;
            point = true;
        } else if (is_digit(c)) {
            if (__builtin_mul_overflow(d.digits, 10u, &d.digits) ||
                __builtin_add_overflow(d.digits, static_cast<std::uint64_t>(c - '0'), &d.digits))
                return std::nullopt;
            d.exponent -= point ? 1 : 0;
            any = true;
        } else {
            break;
        }
        last_is_digit = is_digit(c);
    }
    return any ? std::optional{d} : std::nullopt;
}

// The power of ten of what follows the digits: "", "e8", or one of k M G T.
std::optional<int> read_exponent(std::string_view text) {
    if (text.empty())
        return 0;
    if (text.front() == 'e' || text.front() == 'E') {
        int value = 0;
        if (text.size() > 1 && text[1] == '+')
            text.remove_prefix(1);
        const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || value < -40 || value > 40)
            return std::nullopt;
        return value;
    }
    if (text.size() != 1)
        return std::nullopt;
    switch (text.front()) {
    case 'k':
    case 'K':
        return 3;
    case 'M':
        return 6;
    case 'G':
        return 9;
    case 'T':
        return 12;
    default:
        return std::nullopt;
    }
}

std::string printed(const char *format, double value) {
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), format, value);
    return buffer.data();
}

} // namespace

std::optional<std::uint64_t> parse_count(std::string_view text) {
    auto decimal = read_decimal(text);
    const auto exponent = decimal ? read_exponent(text) : std::nullopt;
    if (!exponent)
        return std::nullopt;
    std::uint64_t value = decimal->digits;
    int power = decimal->exponent + *exponent;
    for (; power > 0 && value != 0; --power)
        if (__builtin_mul_overflow(value, 10u, &value))
            return std::nullopt;
    for (; power < 0 && value != 0; ++power) {
        if (value % 10 != 0)
            return std::nullopt;
        value /= 10;
    }
    return value;
}

std::optional<double> parse_rate(std::string_view text) {
    const bool percent = !text.empty() && text.back() == '%';
    if (percent)
        text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    if (percent)
        value /= 100;
    return value > 0 && value < 1 ? std::optional{value} : std::nullopt; // refuses NaN as well
}

std::optional<std::uint64_t> parse_duration_s(std::string_view text) {
    std::uint64_t unit_s = 1;
    if (!text.empty() && !is_digit(text.back())) {
        switch (text.back()) {
        case 's':
            break;
        case 'm':
            unit_s = 60;
            break;
        case 'h':
            unit_s = 3600;
            break;
        case 'd':
            unit_s = 86400;
            break;
        default:
            return std::nullopt;
        }
        text.remove_suffix(1);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || __builtin_mul_overflow(value, unit_s, &value))
        return std::nullopt;
    return value;
}

std::string exact_text(double value) {
    std::array<char, 64> buffer{};
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
    return {buffer.data(), result.ptr};
}

std::string format_count(std::uint64_t count) {
    if (count < 10'000)
        return std::to_string(count);
    // 999.95 would be printed as 1000.0: the next unit begins there.
    double value = static_cast<double>(count);
    for (const char *unit : {" k", " M", " G"}) {
        value /= 1000;
        if (value < 999.95)
            return printed("%.1f", value) + unit;
    }
    return printed("%.1f", value / 1000) + " T";
}

std::string format_bytes(std::uint64_t size_bytes) {
    const double mib = static_cast<double>(size_bytes) / (1 << 20);
    return printed(mib < 9.995 ? "%.2f" : "%.1f", mib) + " MiB";
}

std::string format_share(double share) {
    const double percent = share * 100;
    if (percent >= 9.95 || percent == 0)
        return printed("%.0f", percent) + " %";
    if (percent < 0.99e-7) // nobody can ask for less than 1e-9, so this is as good as none
        return "< 1e-07 %";
    if (percent < 0.0001)
        return printed("%.0e", percent) + " %";
    // Two digits that say something, without the zeros that "%.2g" would leave behind an exponent.
    const int decimals = std::max(0, 1 - static_cast<int>(std::floor(std::log10(percent))));
    std::array<char, 64> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, percent);
    std::string text = buffer.data();
    if (text.find('.') != std::string::npos) {
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.')
            text.pop_back();
    }
    return text + " %";
}

std::string format_age(std::uint64_t age_ms) {
    const std::uint64_t age_s = age_ms / 1000;
    if (age_s < 10)
        return printed("%.1f", static_cast<double>(age_ms) / 1000) + " s";
    if (age_s < 120)
        return std::to_string(age_s) + " s";
    if (age_s < 2 * 3600)
        return std::to_string(age_s / 60) + " min";
    if (age_s < 2 * 86400)
        return std::to_string(age_s / 3600) + " h";
    return std::to_string(age_s / 86400) + " d";
}

std::string format_time(std::uint64_t unix_s) {
    const auto seconds = static_cast<std::time_t>(unix_s);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

} // namespace shmbloom::ctl
