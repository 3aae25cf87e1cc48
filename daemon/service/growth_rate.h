// How many new keys a filter gets in a day, from what it held at times within the last one.
#pragma once

#include <cstdint>
#include <deque>

namespace shmbloom {

class GrowthRate {
  public:
    // Estimated keys at `now_s` (any clock that is never set). Less than the time between two kept samples after the
    // last one costs a comparison.
    void observe(std::uint64_t now_s, std::uint64_t keys);
    // A load or a new generation is no growth: begin anew.
    void forget() { kept_.clear(); }
    // 0: nothing came, or observed for less than 10 min.
    double keys_per_day() const { return keys_per_day_; }

  private:
    struct Sample {
        std::uint64_t time_s;
        std::uint64_t keys;
    };
    static constexpr std::uint64_t kStep_s = 600;
    static constexpr std::uint64_t kDay_s = 86400;

    std::deque<Sample> kept_; // a step apart, none older than a day
    double keys_per_day_ = 0;
};

inline void GrowthRate::observe(std::uint64_t now_s, std::uint64_t keys) {
    if (!kept_.empty() && now_s - kept_.back().time_s < kStep_s)
        return;
    while (!kept_.empty() && now_s - kept_.front().time_s > kDay_s)
        kept_.pop_front();
    keys_per_day_ = kept_.empty() || keys <= kept_.front().keys
                        ? 0
                        : static_cast<double>(keys - kept_.front().keys) * static_cast<double>(kDay_s) /
                              static_cast<double>(now_s - kept_.front().time_s);
    kept_.push_back({now_s, keys});
}

} // namespace shmbloom
