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
    std::optional<std::string> state_dir{}; // for what is done without the daemon
};

struct CreateOptions {
    std::string name;
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::optional<std::string> layout, normalize, key_type, durability; // checked words; empty: the daemon's default
    bool nothing_exists_yet = false;
    bool growable = false;
    std::optional<std::uint64_t> expansion;
    std::optional<std::string> when_full;
};

struct DropOptions {
    std::string name;
    bool yes = false;
};

// load, rebuild, verify
struct SourceOptions {
    std::string name;
    std::string file;                 // "-": stdin; "" with a command
    std::vector<std::string> command; // --exec
    bool nul_separated = false;
    bool keep_blanks = false;
    std::optional<std::uint64_t> expect_at_least;
};
struct LoadOptions : SourceOptions {
    enum class Which { one, doubted, all } which = Which::one; // but for one: `name` is ""
    std::optional<std::uint64_t> overlap_s;
};
struct RebuildOptions : SourceOptions { // without file and command: from a snapshot, or (`grows`) from its own hash list
    std::string snapshot;
    bool grows = false;
    std::optional<std::uint64_t> capacity;
    std::optional<double> fpr;
    std::optional<std::string> layout;
    std::optional<std::uint64_t> since_lsn, since_s; // at most one: where the source began
    std::optional<std::uint64_t> overlap_s, allow_shrink_percent;
    std::string must_contain; // a file; "": none
    bool dry_run = false;

    bool has_since() const { return since_lsn || since_s; }
};
struct RollbackOptions {
    std::string name;
    bool unite = false;
};
struct VerifyOptions : SourceOptions {
    bool repair = false;
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

struct LiveOptions { // one of the two
    std::string name;
    std::optional<std::uint64_t> expect_at_least;
    bool force_incomplete = false;
};

struct PauseOptions {
    std::string name; // "": --all
    std::string reason;
};
struct ResumeOptions {
    std::string name; // "": --all
};
struct ForgetReadersOptions {
    std::string name; // "": --all
};

struct SnapshotOptions {
    std::string name; // "": --all
};

struct UndropOptions {
    std::string name; // "": list what is kept
};
struct ExportOptions {
    std::string name, file;
};
struct ImportOptions {
    std::string name, file;
};

struct WaitOptions {
    std::string name;
    std::optional<std::uint64_t> timeout_s; // nullopt: for ever
};

struct ExplainOptions {
    std::string name, key;
};

struct SelfTestOptions {};

struct PlanOptions {
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::optional<std::uint64_t> lookups; // a second, on each machine
    std::uint64_t machines = 1;
    std::optional<std::uint64_t> adds_per_day;
};

struct HelpOptions {
    std::string verb; // "": all of them
};
struct VersionOptions {};

struct Command {
    Where where;
    bool json = false;
    std::variant<CreateOptions, DropOptions, LoadOptions, RebuildOptions, RollbackOptions, StatusOptions, ContainsOptions, AddOptions, LiveOptions,
                 PauseOptions, ResumeOptions, WaitOptions, VerifyOptions, ExplainOptions, ForgetReadersOptions,
                 SnapshotOptions, UndropOptions, ExportOptions, ImportOptions, SelfTestOptions, PlanOptions, HelpOptions,
                 VersionOptions>
        verb;
};

// Fails with Exit::usage; the text says what is allowed. `line` is without the program's name.
Result<Command> parse_command(const std::vector<std::string> &line);

} // namespace shmbloom::ctl
