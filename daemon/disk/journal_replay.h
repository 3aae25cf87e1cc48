// Adds of one filter out of a journal that is being written meanwhile: for what is built beside a filter that lives.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "disk/journal_file.h"
#include "disk/lsn.h"
#include "sys/uuid.h"

namespace shmbloom {

struct JournalPlace {
    int folder = -1;
    std::string folder_path;
    std::vector<JournalFileRecord> named; // as the registry names them now
    std::vector<Uuid> states;             // whose files they may be
};

// Hands over every add with an LSN from `from` to below `to`, and maybe some of around; all below `to` must be written.
// Returns why not all of them may be there, or "". `is_logged`: adds were acknowledged before they were synced, so
// those that a failed sync left behind count too. On any thread.
std::string replay_adds(const JournalPlace &journal, std::uint64_t filter_number, Lsn from, Lsn to, bool is_logged,
                        const std::function<void(std::span<const std::uint64_t>)> &use);

} // namespace shmbloom
