// Keys that are decimal numbers, as IDs are: what a client would have in hand, made before anything is measured.
#pragma once

#include <charconv>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace shmbloom::bench {

class NumberKeys {
  public:
    // So many, drawn from the numbers below `end`.
    NumberKeys(std::size_t count, std::uint64_t end, std::uint64_t seed) : texts_(count * kTextMax) {
        std::mt19937_64 random{seed};
        keys_.reserve(count);
        for (std::size_t i = 0; i < count; i++)
            add(random() % end);
    }
    // All from `from` on.
    NumberKeys(std::uint64_t from, std::size_t count) : texts_(count * kTextMax) {
        keys_.reserve(count);
        for (std::size_t i = 0; i < count; i++)
            add(from + i);
    }

    const std::vector<std::string_view> &keys() const { return keys_; }

  private:
    static constexpr std::size_t kTextMax = 20;

    void add(std::uint64_t number) {
        char *const at = texts_.data() + keys_.size() * kTextMax;
        keys_.emplace_back(at, static_cast<std::size_t>(std::to_chars(at, at + kTextMax, number).ptr - at));
    }

    std::vector<char> texts_;
    std::vector<std::string_view> keys_;
};

} // namespace shmbloom::bench
