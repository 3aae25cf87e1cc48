// An error reply: a stable first word, and one line that says what was wrong and what to do.
#pragma once

#include <string>
#include <string_view>

namespace shmbloom {

struct Failure {
    const char *word; // ERR NOTFOUND EXISTS STALE NOMEM RANGE NOPERM BUSY TYPE NOSPC IO FULL NOPROTO
    std::string text;
};

inline Failure not_found(std::string_view name) {
    return {"NOTFOUND",
            "no filter '" + std::string{name.substr(0, 64)} + "'; 'shmbloomctl status' lists what there is"};
}

inline Failure stale(std::string_view name) {
    return {"STALE", "filter '" + std::string{name} + "' has another hash domain; read it again, hash again"};
}

inline Failure being_changed(std::string_view name) {
    return {"BUSY", "filter '" + std::string{name} + "' is just being changed; try again"};
}

} // namespace shmbloom
