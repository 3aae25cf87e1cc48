#include "confirm.h"

#include <cstdio>
#include <iostream>

#include "words.h"

namespace shmbloom::ctl {

Outcome confirm_name(const std::string &name, std::string_view consequence) {
    std::fprintf(stderr, "%.*s\nType its name to go on: ", static_cast<int>(consequence.size()), consequence.data());
    std::string typed;
    std::getline(std::cin, typed);
    if (typed != name)
        return Failure{Exit::refused, "that is not '" + name + "': nothing was changed", word::kNotConfirmed};
    return {};
}

} // namespace shmbloom::ctl
