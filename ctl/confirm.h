// Asking for a filter's name before something that cannot be undone.
#pragma once

#include <string>
#include <string_view>

#include "options.h"
#include "result.h"

namespace shmbloom::ctl {

// Shows `consequence` and reads the name from the terminal, so that a wrong line from the shell's history is noticed.
Outcome confirm_name(const std::string &name, std::string_view consequence);

} // namespace shmbloom::ctl
