// What a start finds and decides, all before an add is accepted: which control goes on, which segments are adopted,
// what was lost, which doubts hold.
#pragma once

#include <map>
#include <memory>

#include "disk/journal.h"
#include "disk/state_folder.h"
#include "service/filter.h"
#include "service/options.h"

namespace shmbloom {

using Filters = std::map<std::string, std::shared_ptr<Filter>, std::less<>>;

// How it went, for people and for monitors.
struct LastStart {
    std::string text;
    std::uint64_t ms = 0;
};

struct Started {
    Registry registry; // without its filters
    std::unique_ptr<Control> control;
    Filters filters;
    UniqueFd journal_folder;
    Journal::Settings journal;
    LastStart last_start;
};

// Throws Refusal or std::system_error; then no gate has become more certain.
Started start_instance(const Options &options, const StateFolder &state, const Uuid &boot);

// The registry as it is written: with the filters' records.
Registry whole_registry(const Registry &registry, const Filters &filters);

} // namespace shmbloom
