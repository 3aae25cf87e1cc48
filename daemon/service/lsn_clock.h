// Which LSN was next at what time, by a clock that nobody sets: what a rebuild's "since" and "overlap" mean. Used by the
// loop's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "disk/lsn.h"

namespace shmbloom {

class LsnClock {
  public:
    // `now_s`: seconds of the boot clock, not less than the time before. Kept are 24 h, one in 10 s.
    void note(std::uint64_t now_s, Lsn next) {
        if (!samples_.empty() && (samples_.back().lsn == next || now_s < samples_.back().at + kStep_s))
            return;
        samples_.push_back({now_s, next});
        // The oldest but one still tells what lies before it.
        while (samples_.size() > 2 && samples_[1].at + kKept_s < now_s)
            samples_.pop_front();
    }

    // An LSN that was next before that time, both in whole seconds; nullopt: it was before the first note.
    std::optional<Lsn> at(std::uint64_t time_s) const {
        std::optional<Lsn> lsn;
        for (const Sample &sample : samples_)
            if (sample.at < time_s)
                lsn = sample.lsn;
        return lsn;
    }

    // A time at or before the one at which `lsn` was next; nullopt: unknown.
    std::optional<std::uint64_t> time_of(Lsn lsn) const {
        std::optional<std::uint64_t> time;
        for (const Sample &sample : samples_)
            if (sample.lsn <= lsn)
                time = sample.at;
        return time;
    }

  private:
    static constexpr std::uint64_t kStep_s = 10, kKept_s = 86400;
    struct Sample {
        std::uint64_t at;
        Lsn lsn;
    };
    std::deque<Sample> samples_;
};

} // namespace shmbloom
