// What an operator may set, from the command line and a config file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "disk/journal_files.h"
#include "sys/log.h"

namespace shmbloom {

struct Options {
    std::string instance = "default";
    std::string runtime_dir;
    std::string state_dir;
    std::string seed_file; // empty: <state dir>/seed
    bool init = false;
    bool take_over = false;      // this copy of a state folder becomes one of its own
    bool forget_readers = false; // no worker that mapped a lost control or segment is left
    std::optional<gid_t> admin_group;
    std::uint64_t shm_reserve_bytes = std::uint64_t{256} << 20;
    std::uint64_t max_memory_bytes = 0; // of all segments, above which none is rebuilt or grows; 0: a share of /dev/shm
    std::uint64_t max_input_memory_bytes = std::uint64_t{256} << 20;
    std::uint64_t pause_on_wrong_absent = 0; // 0: never
    JournalFiles::Retention journal_retention;
    log::Level log_level = log::Level::info;
    std::vector<std::string> once; // a verb and its arguments: do it without serving; empty: serve
};

// nullopt: --help or --version was asked for, and printed. Throws Refusal with one line that says what was wrong, what
// is allowed, and what to do.
std::optional<Options> parse_options(int argc, const char *const *argv);

} // namespace shmbloom
