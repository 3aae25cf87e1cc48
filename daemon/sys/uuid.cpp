#include "sys/uuid.h"

#include <algorithm>
#include <sys/random.h>

#include "sys/files.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

void fill_random(void *bytes, std::size_t size) {
    // Up to 256 bytes come whole once the source is ready (getrandom(2)).
    if (::getrandom(bytes, size, 0) != static_cast<ssize_t>(size))
        throw_errno("read", "the system's random source");
}

std::optional<unsigned> digit(char c) {
    if (c >= 'A' && c <= 'F')
        c = static_cast<char>(c - 'A' + 'a');
    const auto at = kDigits.find(c);
    return at == std::string_view::npos ? std::nullopt : std::optional<unsigned>{static_cast<unsigned>(at)};
}

} // namespace

Uuid Uuid::random() {
    Uuid uuid;
    fill_random(uuid.bytes.data(), uuid.bytes.size());
    uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);
    uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);
    return uuid;
}

Uuid Uuid::from(const std::uint8_t *bytes) {
    Uuid uuid;
    std::copy_n(bytes, uuid.bytes.size(), uuid.bytes.begin());
    return uuid;
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
    if (text.size() != 36)
        return std::nullopt;
    Uuid uuid;
    std::size_t nibble = 0;
    for (std::size_t i = 0; i < text.size(); i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text[i] != '-')
                return std::nullopt;
            continue;
        }
        const auto value = digit(text[i]);
        if (!value)
            return std::nullopt;
        auto &byte = uuid.bytes[nibble++ / 2];
        byte = static_cast<std::uint8_t>(static_cast<unsigned>(byte) << 4 | *value);
    }
    return uuid;
}

std::string to_string(const Uuid &uuid) {
    std::string text;
    for (std::size_t i = 0; i < uuid.bytes.size(); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text.push_back('-');
        text.push_back(kDigits[uuid.bytes[i] >> 4]);
        text.push_back(kDigits[uuid.bytes[i] & 15]);
    }
    return text;
}

std::string to_hex(std::uint64_t value) {
    std::string text(16, '0');
    for (std::size_t i = 16; i-- > 0; value >>= 4)
        text[i] = kDigits[value & 15];
    return text;
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
    if (text.size() != 16)
        return std::nullopt;
    std::uint64_t value = 0;
    for (char c : text) {
        const auto at = kDigits.find(c);
        if (at == std::string_view::npos)
            return std::nullopt;
        value = value << 4 | at;
    }
    return value;
}

std::uint64_t random_u64() {
    std::uint64_t value = 0;
    fill_random(&value, sizeof value);
    return value;
}

Uuid boot_id() {
    constexpr const char *path = "/proc/sys/kernel/random/boot_id";
    const auto text = read_file(path);
    const auto uuid = text ? Uuid::parse(std::string_view{*text}.substr(0, 36)) : std::nullopt;
    if (!uuid)
        throw_errno(text ? EBADMSG : ENOENT, "read the boot id from", path);
    return *uuid;
}

} // namespace shmbloom
