// What the tool reads of the registry when control cannot tell: which segments there are, and whose state this is.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "result.h"

namespace shmbloom::ctl {

struct RecordedFilter {
    std::string name;
    std::string uuid; // 36 characters
    std::uint64_t generation = 0;
    std::uint64_t dev = 0, inode = 0;           // of its segment; 0: it has none
    std::map<std::string, std::string> reasons; // of its doubts, by word
    std::uint64_t newest_snapshot = 0;          // its number; 0: none
};

struct RegistryView {
    std::string state_dir;
    std::string state_uuid;  // 36 characters
    std::string runtime_dir; // of the control that it names; "": none yet
    std::vector<RecordedFilter> filters;
};

// Fails when there is none, it may not be read, or its checksum is wrong.
Result<RegistryView> read_registry(const std::string &state_dir);

// Where a daemon of user `owner` keeps the registry when nobody says otherwise: as shmbloomd's --state-dir.
std::string default_state_dir(const std::string &instance, unsigned owner);

} // namespace shmbloom::ctl
