#include "sys/log.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace shmbloom::log {
namespace {

constexpr std::array<std::pair<std::string_view, Level>, 5> kLevels{{{"critical", Level::critical},
                                                                     {"error", Level::error},
                                                                     {"warning", Level::warning},
                                                                     {"info", Level::info},
                                                                     {"debug", Level::debug}}};

std::atomic<Level> level_now{Level::info};

std::string_view name_of(Level level) {
    for (const auto &[name, value] : kLevels)
        if (value == level)
            return name;
    return "log";
}

} // namespace

std::optional<Level> parse_level(std::string_view text) {
    for (const auto &[name, value] : kLevels)
        if (name == text)
            return value;
    return std::nullopt;
}

void set_level(Level level) {
    level_now = level;
}

void write(Level level, std::string_view line) {
    if (level > level_now)
        return;
    // JOURNAL_STREAM is set by systemd for services whose stderr it reads.
    static const bool under_systemd = ::getenv("JOURNAL_STREAM") != nullptr;
    std::string text = under_systemd ? "<" + std::to_string(static_cast<int>(level)) + ">"
                                     : "shmbloomd: " + std::string{name_of(level)} + ": ";
    text.append(line).push_back('\n');
    // One write: lines of several threads do not mix. Nothing can be done about a stderr that is gone.
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0)
        return;
}

} // namespace shmbloom::log
