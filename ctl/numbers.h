// Numbers as people type and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shmbloom::ctl {

// "1000", "1e8", "100M" (k M G T are powers of ten), "1.5M", "100_000_000". nullopt for anything else, for what is no
// whole number and for what does not fit 64 bits.
std::optional<std::uint64_t> parse_count(std::string_view text);

// "0.01", "1e-2", "1%": greater than 0, less than 1.
std::optional<double> parse_rate(std::string_view text);

// "90", "90s", "15m", "1h", "2d", in seconds.
std::optional<std::uint64_t> parse_duration_s(std::string_view text);

// Shortest text that reads back as the same number; for the wire.
std::string exact_text(double value);

std::string format_count(std::uint64_t count);      // "9999", "104.3 k", "300.2 M"
std::string format_bytes(std::uint64_t size_bytes); // "0.01 MiB", "114.3 MiB"
std::string format_share(double share);             // "0.031 %", "75 %"
std::string format_age(std::uint64_t age_ms);       // "0.4 s", "12 s", "4 min", "5 h", "31 d"
std::string format_time(std::uint64_t unix_s);      // "2026-12-08 01:49:22 UTC"

} // namespace shmbloom::ctl
