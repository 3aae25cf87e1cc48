// What an acknowledgement outlives, by name.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "shmbloom/layout.h"

namespace shmbloom {

inline constexpr std::array<std::string_view, 3> kDurabilityNames{"memory", "durable", "logged"}; // from 1

inline std::string_view durability_text(std::uint32_t durability) {
    return durability >= 1 && durability <= kDurabilityNames.size() ? kDurabilityNames[durability - 1] : "";
}

inline std::optional<std::uint32_t> parse_durability(std::string_view text) {
    for (std::uint32_t i = 0; i < kDurabilityNames.size(); i++)
        if (kDurabilityNames[i] == text)
            return i + 1;
    return std::nullopt;
}

} // namespace shmbloom
