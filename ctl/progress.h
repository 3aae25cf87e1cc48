// The bar of a load: on terminals only, on stderr, a few times a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace shmbloom::ctl {

// One line of at most 79 columns. `share` is what is done, 0 to 1, if the total is known.
std::string progress_line(std::optional<double> share, std::uint64_t keys, std::chrono::milliseconds elapsed);

class Progress {
  public:
    // The total is known by bytes (a file) or by keys (--expect-at-least), or not at all.
    Progress(std::optional<std::uint64_t> total_bytes, std::optional<std::uint64_t> total_keys);
    ~Progress(); // wipes the line
    Progress(const Progress &) = delete;
    Progress &operator=(const Progress &) = delete;

    // Cheap enough for each block of keys.
    void show(std::uint64_t bytes, std::uint64_t keys) {
        if (enabled_)
            show_now(bytes, keys);
    }

  private:
    using Clock = std::chrono::steady_clock;
    void show_now(std::uint64_t bytes, std::uint64_t keys);

    std::optional<std::uint64_t> total_bytes_, total_keys_;
    bool enabled_;
    bool shown_ = false;
    Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

// A word on the terminal for as long as one waits.
class Waiting {
  public:
    explicit Waiting(const char *what);
    ~Waiting(); // wipes it
    Waiting(const Waiting &) = delete;
    Waiting &operator=(const Waiting &) = delete;
};

} // namespace shmbloom::ctl
