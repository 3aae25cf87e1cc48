// Random 128-bit names, and this boot's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shmbloom {

struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    friend bool operator==(const Uuid &, const Uuid &) = default;
    friend auto operator<=>(const Uuid &, const Uuid &) = default;
    bool is_zero() const { return *this == Uuid{}; }

    static Uuid random(); // version 4
    // 36 characters as `to_string` writes them, capital letters allowed; nullopt for anything else.
    static std::optional<Uuid> parse(std::string_view text);
    static Uuid from(const std::uint8_t *bytes);
};

std::string to_string(const Uuid &uuid);

// Exactly 16 hexadecimal digits in lower case, and back.
std::string to_hex(std::uint64_t value);
std::optional<std::uint64_t> parse_hex(std::string_view text);

// From the system's random source. Throws std::system_error.
std::uint64_t random_u64();

// /proc/sys/kernel/random/boot_id: another at every start of the machine. Throws std::system_error.
Uuid boot_id();

} // namespace shmbloom
