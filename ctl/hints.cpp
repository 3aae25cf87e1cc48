#include "hints.h"

#include <iterator>

#include "text.h"

namespace shmbloom::ctl {

namespace {

struct Entry {
    std::string_view word;
    std::string_view meaning;
    std::string_view ended_by; // "! VERB": the command, NAME in it is the filter's
};

constexpr std::string_view kLoad = "! load NAME --exec -- CMD...";
constexpr std::string_view kLarger = "! rebuild NAME --capacity N ...";

// Worst last: the place in this table is the severity.
constexpr Entry kEntries[] = {
    {"growth_blocked", "it cannot grow, and goes on as it is: above its capacity its rate gets worse",
     "what its growth line in status says: room in shared memory, a larger --max-memory, or a rebuild from its source"},
    {"full", "holds more keys than it was made for, so its rate is worse than asked for; a rebuild makes it larger",
     kLarger},
    {"degraded", "the disk does not follow",
     "room on the disk of the daemon's state folder, or its repair; the daemon tries again each second"},
    {"name_lost",
     "its name in shared memory is gone: workers that have it open go on, others cannot open it until the "
     "daemon has copied it to a new generation, which it tries each minute",
     "room in /dev/shm"},
    {"adds_refused",
     "workers may still read a segment that nobody can reach, so adds are turned away until a restart "
     "of the machine, or until you say that no worker of before is left",
     "! forget-readers NAME"},
    {"paused", "an operator paused it, or wrong absents did", "! resume NAME"},
    {"warming", "its source has not been loaded to the end", kLoad},
    {"partial", "its bits are incomplete: the daemon fills it, or found no memory for it",
     "the daemon, by itself or at its next start"},
    {"lossy",
     "acknowledged adds may be missing; a load ends this that begins an overlap (1 h) later, or says --overlap 0 since its "
     "source has every add at once",
     kLoad},
    {"damaged",
     "a stored byte failed its check, or files of the state folder are lost; a load ends this that begins an overlap (1 h) "
     "later, or says --overlap 0 since its source has every add at once",
     kLoad},
};

} // namespace

std::string command_line(const Where &where, std::string_view rest) {
    std::string line = "shmbloomctl ";
    if (where.instance)
        line += "--instance " + shell_quote(*where.instance) + " ";
    if (where.runtime_dir)
        line += "--runtime-dir " + shell_quote(*where.runtime_dir) + " ";
    if (where.state_dir)
        line += "--state-dir " + shell_quote(*where.state_dir) + " ";
    return line + std::string{rest};
}

std::string load_command(const Where &where, std::string_view name) {
    return command_line(where, "load " + std::string{name} + " --exec -- CMD...");
}

Hint hint_for(const Where &where, std::string_view name, std::string_view word) {
    for (const Entry &entry : kEntries) {
        if (entry.word != word)
            continue;
        if (!entry.ended_by.starts_with("! "))
            return {std::string{entry.meaning}, std::string{entry.ended_by}};
        std::string rest{entry.ended_by.substr(2)};
        if (const auto place = rest.find("NAME"); place != std::string::npos)
            rest.replace(place, 4, name);
        return {std::string{entry.meaning}, command_line(where, rest)};
    }
    return {};
}

std::vector<std::string_view> hint_words() {
    std::vector<std::string_view> words;
    for (const Entry &entry : kEntries)
        words.push_back(entry.word);
    return words;
}

int severity_of(std::string_view word) {
    for (std::size_t i = 0; i < std::size(kEntries); ++i)
        if (kEntries[i].word == word)
            return static_cast<int>(i) + 1;
    // A word of a newer daemon: worse than a warning, which changes no answer.
    return word.empty() ? 0 : static_cast<int>(std::size(kEntries));
}

} // namespace shmbloom::ctl
