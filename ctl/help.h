// The verbs and what is said about them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace shmbloom::ctl {

struct VerbHelp {
    std::string_view name;
    std::string_view synopsis; // without "shmbloomctl "
    std::string_view what;     // one line
    std::string_view more;     // lines, each ends with \n
    std::string_view example;
};

std::span<const VerbHelp> all_verbs();            // help_texts.cpp
const VerbHelp *find_verb(std::string_view name); // nullptr: no such verb
std::string verb_list();                          // "create, drop, ..."

std::string help_text(std::string_view verb); // of all verbs when `verb` is empty

} // namespace shmbloom::ctl
