// The command line taken apart, before anybody knows what the values mean.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "result.h"

namespace shmbloom::ctl {

struct Arguments {
    std::string verb;                                     // "" when there is none
    std::vector<std::string> words;                       // after the verb, without options
    std::optional<std::vector<std::string>> after_dashes; // what follows "--", word for word
    std::map<std::string, std::string> values;            // options that take a value, by long name
    std::set<std::string> flags;                          // those that take none

    bool has(const std::string &flag) const { return flags.contains(flag); }
    std::optional<std::string> value(const std::string &name) const;
};

// Fails (Exit::usage) for an unknown verb, an option that this verb does not have, one given twice, a value missing;
// the text says what is allowed. `line` is without the program's name.
Result<Arguments> parse_arguments(const std::vector<std::string> &line);

} // namespace shmbloom::ctl
