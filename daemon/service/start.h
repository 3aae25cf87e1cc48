// What a start finds and decides, all before an add is accepted: which control goes on, which segments are adopted,
// what was lost, which doubts hold.
#pragma once

#include <map>
#include <memory>

#include "disk/state_folder.h"
#include "service/filter.h"
#include "service/options.h"

namespace shmbloom {

using Filters = std::map<std::string, std::shared_ptr<Filter>, std::less<>>;

struct Started {
    Registry registry; // without its filters
    std::unique_ptr<Control> control;
    Filters filters;
};

// Throws Refusal or std::system_error; then no gate has become more certain.
Started start_instance(const Options &options, const StateFolder &state, const Uuid &boot);

// The registry as it is written: with the filters' records.
Registry whole_registry(const Registry &registry, const Filters &filters);

} // namespace shmbloom
