// What reading and writing the registry's text have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "disk/registry.h"

namespace shmbloom {

using Json = nlohmann::json;

inline constexpr int kRegistryFormat = 2; // 1: before there was a journal; still read

std::string registry_checksum(const Json &content);

} // namespace shmbloom
