#include "hints.h"

#include <iterator>

#include "text.h"

namespace shmbloom::ctl {

namespace {

struct Entry {
    std::string_view word;
    std::string_view meaning;
    std::string_view ended_by; // "LOAD": the command that loads a source
};

// Worst last: the place in this table is the severity.
constexpr Entry kEntries[] = {
    {"growth_blocked", "cannot grow", "room in memory, or a larger filter, created and loaded"},
    {"full", "holds more keys than it was made for, so its rate is worse than asked for",
     "a larger filter, created and loaded"},
    {"degraded", "the disk does not follow", "room on the disk of the daemon's state folder, or its repair"},
    {"name_lost", "its name in shared memory is gone: workers that have it open go on, others cannot open it",
     "the daemon's next start, at which the filter begins empty and in doubt; then load it"},
    {"adds_refused", "workers may still read a segment that nobody can reach, so adds are turned away",
     "a restart of the machine"},
    {"paused", "an operator paused it", "the operator"},
    {"warming", "its source has not been loaded to the end", "LOAD"},
    {"partial", "its bits are incomplete while the daemon fills it", "the daemon, by itself"},
    {"lossy", "acknowledged adds may be missing", "LOAD"},
    {"damaged", "a stored byte failed its check", "LOAD"},
};

} // namespace

std::string command_line(const Where &where, std::string_view rest) {
    std::string line = "shmbloomctl ";
    if (where.instance)
        line += "--instance " + shell_quote(*where.instance) + " ";
    if (where.runtime_dir)
        line += "--runtime-dir " + shell_quote(*where.runtime_dir) + " ";
    return line + std::string{rest};
}

std::string load_command(const Where &where, std::string_view name) {
    return command_line(where, "load " + std::string{name} + " --exec -- CMD...");
}

Hint hint_for(const Where &where, std::string_view name, std::string_view word) {
    for (const Entry &entry : kEntries)
        if (entry.word == word)
            return {std::string{entry.meaning},
                    entry.ended_by == "LOAD" ? load_command(where, name) : std::string{entry.ended_by}};
    return {};
}

int severity_of(std::string_view word) {
    for (std::size_t i = 0; i < std::size(kEntries); ++i)
        if (kEntries[i].word == word)
            return static_cast<int>(i) + 1;
    // A word of a newer daemon: worse than a warning, which changes no answer.
    return word.empty() ? 0 : static_cast<int>(std::size(kEntries));
}

} // namespace shmbloom::ctl
