// How a verb can end, and how the parts of the tool hand a failure up.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace shmbloom::ctl {

// One table for all verbs; docs/protocol.md shows it. Scripts rely on these numbers.
enum class Exit : int {
    done = 0,
    negative = 1, // a true "no": absent, not live
    unverified = 2,
    usage = 3,
    unreachable = 4, // no daemon
    not_found = 5,
    refused = 6, // by a guard; nothing changed
    timeout = 7,
    source_failed = 8,
    no_permission = 9,
    no_space = 10,
};

// Expected to happen (a peer, a file, a typing mistake), hence a value. `text` is one line without a full stop; `word`
// is stable and a heading in docs/protocol.md, "": that of the code (words.h).
struct Failure {
    Exit code;
    std::string text;
    std::string word{};
};

template <class T>
using Result = std::variant<T, Failure>;
using Outcome = std::optional<Failure>; // of what has nothing to return; empty: it went well

template <class T>
const Failure *failure_of(const Result<T> &result) {
    return std::get_if<Failure>(&result);
}

// Only after failure_of() said that there is none.
template <class T>
T take(Result<T> &&result) {
    return std::get<T>(std::move(result));
}

} // namespace shmbloom::ctl
