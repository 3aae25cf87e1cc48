// The stable word of each way in which a verb can be refused; each is a heading in docs/protocol.md. Scripts may test
// for them. Words of the daemon's own errors (NOTFOUND, EXISTS ...) are shown as it sends them.
#pragma once

#include <string_view>

#include "result.h"

namespace shmbloom::ctl::word {

// What the tool itself finds out.
inline constexpr const char *kDisagree = "DISAGREE";         // the state folder is not that of the daemon asked for
inline constexpr const char *kFewKeys = "FEWKEYS";           // fewer keys than expected
inline constexpr const char *kHung = "HUNG";                 // the daemon is there and does not answer
inline constexpr const char *kNoKeys = "NOKEYS";             // a source without keys
inline constexpr const char *kNoSince = "NOSINCE";           // nobody said when a file's source began
inline constexpr const char *kNotConfirmed = "NOTCONFIRMED"; // another name was typed
inline constexpr const char *kPipeEnd = "PIPEEND";           // the end of a pipe proves nothing
inline constexpr const char *kSpoiled = "SPOILED";           // an overlapping load was aborted
inline constexpr const char *kStrayBlanks = "STRAYBLANKS";   // nobody would ask for such keys
inline constexpr const char *kYoungDoubt = "YOUNGDOUBT";     // a doubt is younger than the load

inline constexpr const char *kOwn[] = {kDisagree, kFewKeys, kHung, kNoKeys, kNoSince, kNotConfirmed,
                                       kPipeEnd,  kSpoiled, kStrayBlanks, kYoungDoubt};

// The word of a failure that brings none of its own.
constexpr const char *of(Exit code) {
    switch (code) {
    case Exit::done:
        return "DONE";
    case Exit::negative:
        return "NO";
    case Exit::unverified:
        return "UNREADABLE";
    case Exit::usage:
        return "USAGE";
    case Exit::unreachable:
        return "NODAEMON";
    case Exit::not_found:
        return "NOTFOUND";
    case Exit::refused:
        return "BUSY";
    case Exit::timeout:
        return "TIMEOUT";
    case Exit::source_failed:
        return "SOURCEFAILED";
    case Exit::no_permission:
        return "NOPERM";
    case Exit::no_space:
        return "NOSPC";
    }
    return "ERR";
}

} // namespace shmbloom::ctl::word
