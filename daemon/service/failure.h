// An error reply: a stable first word, and one line that says what was wrong and what to do.
#pragma once

#include <string>

namespace shmbloom {

struct Failure {
    const char *word; // ERR NOTFOUND EXISTS STALE NOMEM RANGE NOPERM BUSY TYPE NOSPC IO NOPROTO
    std::string text;
};

} // namespace shmbloom
