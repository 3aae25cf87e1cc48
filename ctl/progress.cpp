#include "progress.h"

#include <algorithm>
#include <cstdio>

#include "numbers.h"
#include "output.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kBarColumns = 30;
constexpr std::chrono::milliseconds kInterval{200};

double ratio(std::uint64_t done, std::uint64_t total) {
    return total == 0 ? 1.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

} // namespace

std::string progress_line(std::optional<double> share, std::uint64_t keys, std::chrono::milliseconds elapsed) {
    const double elapsed_s = static_cast<double>(std::max<std::int64_t>(1, elapsed.count())) / 1000;
    const auto rate = static_cast<std::uint64_t>(static_cast<double>(keys) / elapsed_s);
    std::string line;
    if (share) {
        const auto filled = static_cast<std::size_t>(*share * static_cast<double>(kBarColumns));
        line = "[" + std::string(filled, '#') + std::string(kBarColumns - filled, '.') + "] " + format_share(*share) +
               "  ";
    }
    line += format_count(keys) + " keys  " + format_count(rate) + "/s";
    if (share && *share > 0.001)
        line += "  " + format_age(static_cast<std::uint64_t>(elapsed_s * 1000 * (1 - *share) / *share)) + " left";
    return line.substr(0, 79);
}

Progress::Progress(std::optional<std::uint64_t> total_bytes, std::optional<std::uint64_t> total_keys)
    : total_bytes_{total_bytes}, total_keys_{total_keys}, enabled_{is_terminal(stderr)} {}

Progress::~Progress() {
    if (shown_)
        std::fputs("\r\033[K", stderr);
}

void Progress::show_now(std::uint64_t bytes, std::uint64_t keys) {
    const auto now = Clock::now();
    if (now - last_ < kInterval)
        return;
    last_ = now;
    shown_ = true;
    std::optional<double> share;
    if (total_bytes_)
        share = ratio(bytes, *total_bytes_);
    else if (total_keys_)
        share = ratio(keys, *total_keys_);
    const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - begin_);
    std::fprintf(stderr, "\r%s\033[K", progress_line(share, keys, elapsed).c_str());
}

Waiting::Waiting(const char *what) {
    if (is_terminal(stderr))
        std::fprintf(stderr, "\r%s\033[K", what);
}

Waiting::~Waiting() {
    if (is_terminal(stderr))
        std::fputs("\r\033[K", stderr);
}

} // namespace shmbloom::ctl
