// What SB.INFO says of a filter: the fields of docs/protocol.md, in its order, as text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "service/instance.h"

namespace shmbloom {

// A field without a value is unknown.
using Fields = std::vector<std::pair<std::string_view, std::optional<std::string>>>;

Fields filter_info(const Filter &filter, const Instance &instance);
Fields generations_info(const Filter &filter, const Instance &instance); // what comes behind them

} // namespace shmbloom
