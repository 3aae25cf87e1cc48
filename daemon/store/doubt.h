// Doubts and warnings by name.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "shmbloom/layout.h"

namespace shmbloom {

inline constexpr std::array<std::string_view, SHMBLOOM_DOUBT_COUNT> kDoubtNames{"partial", "warming", "paused", "lossy",
                                                                               "damaged"};
inline constexpr std::array<std::string_view, SHMBLOOM_WARNING_COUNT> kWarningNames{"degraded", "full", "growth_blocked",
                                                                                   "adds_refused", "name_lost"};

// Names of the bits that are set, separated by commas; empty for none.
template <std::size_t N>
std::string join_names(const std::array<std::string_view, N> &names, std::uint32_t bits) {
    std::string text;
    for (std::size_t i = 0; i < N; i++)
        if (bits >> i & 1)
            text.append(text.empty() ? "" : ",").append(names[i]);
    return text;
}

} // namespace shmbloom
