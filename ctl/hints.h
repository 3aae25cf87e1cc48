// What a doubt or warning means and what ends it; the next command to type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.h"

namespace shmbloom::ctl {

// "shmbloomctl --runtime-dir D VERB...": a command that reaches the same daemon when it is typed as it stands.
std::string command_line(const Where &where, std::string_view rest);

// The command that brings a source's IDs in, the form for all examples.
std::string load_command(const Where &where, std::string_view name);

// What a word of a filter's doubts or warnings means, and what ends it: often a command, to be printed on a line of its
// own so that it can be copied. Both are "" for a word that is not known.
struct Hint {
    std::string meaning, ended_by;
};
Hint hint_for(const Where &where, std::string_view name, std::string_view word);

std::vector<std::string_view> hint_words(); // all that hint_for() knows

// How bad it is, for "worst first": a doubt's number is higher than a warning's, 0 is nothing.
int severity_of(std::string_view word);

} // namespace shmbloom::ctl
