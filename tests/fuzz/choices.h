// What a fuzz target makes of its input: operations, read byte by byte; and decisions, from one seed (where to cut, what
// comes first). The same input says the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

namespace shmbloom {

class Input {
  public:
    Input(const std::uint8_t *data, std::size_t size) : left_{data, size} {}

    bool is_empty() const { return left_.empty(); }

    std::uint8_t byte() { // 0 behind the end
        if (left_.empty())
            return 0;
        const std::uint8_t value = left_.front();
        left_ = left_.subspan(1);
        return value;
    }

    std::size_t number() { // 16 bits
        const std::size_t low = byte();
        return low | static_cast<std::size_t>(byte()) << 8;
    }

    std::string_view rest() const { return {reinterpret_cast<const char *>(left_.data()), left_.size()}; }

  private:
    std::span<const std::uint8_t> left_;
};

class Choices {
  public:
    explicit Choices(std::uint64_t seed) : state_{seed} {}

    // 0 to greatest. SplitMix64.
    std::size_t up_to(std::size_t greatest) {
        std::uint64_t x = state_ += 0x9E3779B97F4A7C15;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
        x = (x ^ x >> 27) * 0x94D049BB133111EB;
        return static_cast<std::size_t>((x ^ x >> 31) % (greatest + 1));
    }

    bool one_in(std::size_t n) { return up_to(n - 1) == 0; }

  private:
    std::uint64_t state_;
};

// Unlike assert(), also in release builds.
inline void require(bool holds, const char *what) {
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

} // namespace shmbloom
