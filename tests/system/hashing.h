// Hashes of test keys as this instance hashes them, for commands that carry hashes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "instance.h"
#include "keys.h"
#include "shmbloom/key.h"

namespace shmbloom::test {

inline std::uint64_t seed_of(const TestInstance &instance) {
    const auto registry = nlohmann::json::parse(instance.registry());
    return std::stoull(registry.at("registry").at("seed").get<std::string>(), nullptr, 16);
}

// Of base62 keys, 8 bytes each, as SB.ADDH and SB.BULK take them.
inline std::string packed_hashes(std::uint64_t seed, const std::vector<std::uint64_t> &indexes) {
    std::string bytes;
    for (const std::uint64_t index : indexes) {
        char key[TEST_KEY_MAX_BYTES];
        const std::uint64_t hash = shmbloom_hash_bytes(key, test_key(key, "base62", index), 0, seed);
        bytes.append(reinterpret_cast<const char *>(&hash), sizeof hash);
    }
    return bytes;
}

// Brings them by SB.BULK, in parts. The last reply.
inline Wire::Reply bring(Wire &wire, const std::string &name, const std::string &domain, const std::string &packed) {
    constexpr std::size_t kPart = std::size_t{65536} * 8;
    Wire::Reply reply;
    for (std::size_t at = 0; at < packed.size(); at += kPart) {
        reply = wire.call({"SB.BULK", name, domain, std::string_view{packed}.substr(at, kPart)});
        if (reply.is_error())
            return reply;
    }
    return reply;
}

} // namespace shmbloom::test
