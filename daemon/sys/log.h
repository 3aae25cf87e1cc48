// Lines for people, on stderr; with `<N>` priorities when systemd reads it. Thread-safe. Only the daemon's decisions
// are logged, at the place that decides, with the consequence in words.
#pragma once

#include <optional>
#include <string_view>

namespace shmbloom::log {

enum class Level { critical = 2, error = 3, warning = 4, info = 6, debug = 7 };

// "critical", "error", "warning", "info", "debug"; nullopt for anything else.
std::optional<Level> parse_level(std::string_view text);

void set_level(Level level);
void write(Level level, std::string_view line);

inline void critical(std::string_view line) { write(Level::critical, line); }
inline void error(std::string_view line) { write(Level::error, line); }
inline void warning(std::string_view line) { write(Level::warning, line); }
inline void info(std::string_view line) { write(Level::info, line); }
inline void debug(std::string_view line) { write(Level::debug, line); }

} // namespace shmbloom::log
