// What reading and writing the registry's text have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "disk/registry.h"

namespace shmbloom {

using Json = nlohmann::json;

inline constexpr int kRegistryFormat = 3; // 1: before there was a journal, 2: before rebuilds; still read

std::string registry_checksum(const Json &content);

} // namespace shmbloom
