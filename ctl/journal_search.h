// Whether the daemon's journal holds a hash.
#pragma once

#include <cstdint>
#include <string>

#include "json.h"
#include "options.h"

namespace shmbloom::ctl {

struct JournalSearch {
    bool was_searched = false;
    std::string why_not; // in words
    bool found = false;
    std::uint64_t lsn = 0, time_ns = 0;
    bool is_synced = false;
};

// May take seconds: the daemon reads its files. `durability`: a filter of "memory" is in no journal.
JournalSearch search_journal(const Where &where, const std::string &name, const std::string &durability,
                             std::uint64_t hash_domain, std::uint64_t hash);

std::string search_text(const JournalSearch &search);
Json search_object(const JournalSearch &search); // null when it was not found, or not looked for

} // namespace shmbloom::ctl
