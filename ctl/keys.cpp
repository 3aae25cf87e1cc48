#include "keys.h"

#include <cerrno>

#include "text.h"

namespace shmbloom::ctl {

namespace {

bool is_blank(char c) {
    return shmbloom_is_blank(static_cast<unsigned char>(c)) != 0;
}

} // namespace

int Keys::hash(std::string_view key, std::uint64_t *ret) const {
    return shmbloom__hash_text(&hashing_, key.data(), key.size(), ret);
}

std::string_view Keys::trimmed(std::string_view key) const {
    while (trims() && !key.empty() && is_blank(key.front()))
        key.remove_prefix(1);
    while (trims() && !key.empty() && is_blank(key.back()))
        key.remove_suffix(1);
    return key;
}

bool Keys::has_stray_blanks(std::string_view key) const {
    if (trims() || key.empty())
        return false;
    return is_blank(key.front()) || is_blank(key.back()) || key.find('\r') != std::string_view::npos;
}

std::string Keys::as_hashed(std::string_view key) const {
    if (is_u64()) {
        std::uint64_t number = 0;
        const bool valid = shmbloom_parse_number(key.data(), key.size(), hashing_.normalization, &number) != 0;
        return valid ? std::to_string(number) : escape(key);
    }
    std::string bytes{trimmed(key)};
    if (hashing_.normalization & SHMBLOOM_NORMALIZE_LOWER)
        for (char &c : bytes)
            c = static_cast<char>(shmbloom_lower(static_cast<unsigned char>(c)));
    return escape(bytes);
}

std::string Keys::why_invalid(std::string_view key, int r) const {
    if (r == -E2BIG)
        return escape(key) + " is longer than 1 MiB, the most a key may have";
    std::string why = escape(key) + " is not a u64 (1 to 20 digits, below 2^64)";
    if (has_stray_blanks(key))
        why += "; its blanks would be fine in a filter made with --normalize trim";
    return why;
}

} // namespace shmbloom::ctl
