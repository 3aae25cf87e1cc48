// What was asked for, with every value read. One struct a verb.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "result.h"

namespace shmbloom::ctl {

// Which daemon; empty: as shmbloom_open finds it.
struct Where {
    std::optional<std::string> instance;
    std::optional<std::string> runtime_dir;
};

struct CreateOptions {
    std::string name;
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::optional<std::string> layout, normalize, key_type; // checked words; empty: the daemon's default
    bool nothing_exists_yet = false;
};

struct DropOptions {
    std::string name;
    bool yes = false;
};

struct LoadOptions {
    std::string name;
    std::string file;                 // "-": stdin; "" with a command
    std::vector<std::string> command; // --exec
    bool nul_separated = false;
    bool keep_blanks = false;
    std::optional<std::uint64_t> expect_at_least;
    std::optional<std::uint64_t> overlap_s;
};

struct StatusOptions {
    std::optional<std::string> name;
    bool json = false;
};

// contains, add
struct KeysOptions {
    std::string name;
    std::vector<std::string> keys;
    bool from_stdin = false; // a single "-" that does not stand behind "--"
};
struct ContainsOptions : KeysOptions {};
struct AddOptions : KeysOptions {};

struct HelpOptions {
    std::string verb; // "": all of them
};
struct VersionOptions {};

struct Command {
    Where where;
    std::variant<CreateOptions, DropOptions, LoadOptions, StatusOptions, ContainsOptions, AddOptions, HelpOptions,
                 VersionOptions>
        verb;
};

// Fails with Exit::usage; the text says what is allowed. `line` is without the program's name.
Result<Command> parse_command(const std::vector<std::string> &line);

} // namespace shmbloom::ctl
