// Names and numbers as people write them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shmbloom {

bool is_instance_name(std::string_view text); // 1 to 32 of A-Z a-z 0-9 _ -
bool is_utf8(std::string_view text);
bool is_filter_name(std::string_view text); // 1 to 64 of A-Z a-z 0-9 . _ : -

std::optional<std::uint64_t> parse_unsigned(std::string_view text); // decimal digits, below 2^64
std::optional<double> parse_real(std::string_view text);            // 0.01, 1e-3; finite
std::optional<std::uint64_t> parse_size(std::string_view text);     // bytes; KiB MiB GiB kB MB GB

// "trim", "lower", "trim,lower", "": as bits; nullopt for anything else.
std::optional<std::uint32_t> parse_normalization(std::string_view text);
std::string_view normalization_text(std::uint32_t bits);
std::optional<std::uint32_t> parse_key_type(std::string_view text); // "bytes", "u64"
std::string_view key_type_text(std::uint32_t key_type);
std::string_view layout_text(std::uint32_t layout);
std::string real_text(double value); // the shortest that reads back as the same number
std::string time_text(std::uint64_t unix_seconds); // 2026-11-30 12:34:56 UTC

} // namespace shmbloom
