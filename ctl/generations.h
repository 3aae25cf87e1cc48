// What a daemon says of a filter's generations: the one before, the one being made, and how it will grow. For `status`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client.h"
#include "json.h"
#include "options.h"

namespace shmbloom::ctl {

struct Generations {
    std::optional<std::uint64_t> previous, previous_until,
        previous_keys;    // what a rollback leads to; until: unix seconds
    std::string building; // "", rebuild, growth, rollback, copy
    std::string building_by;
    std::optional<std::uint64_t> building_since, building_keys;
    bool growable = false;
    std::optional<std::uint64_t> expansion;
    std::string hash_list; // "", complete, incomplete
    std::optional<std::uint64_t> hash_list_bytes;
    std::optional<std::uint64_t> grows_at_keys, grows_to_capacity, growth_bytes, growth_missing_bytes;
    std::string growth_blocked; // why the last try was refused
    std::string when_full;      // warn, refuse, grow
};

Generations read_generations(const Reply &info); // of SB.INFO

// A line for people and the command or act that belongs to it ("ended by: ...", "back: ..."); `act` may be "".
struct GenerationLine {
    std::string text, label, act;
};

// What a filter with `keys` of `capacity` keys has to say, with `keys_per_day` more each day (0: not known).
struct Filling {
    std::uint64_t keys = 0, capacity = 0;
    double keys_per_day = 0;
};
std::vector<GenerationLine> generation_lines(const Where &where, const std::string &name,
                                             const Generations &generations, const Filling &filling,
                                             std::uint64_t now_s);

// Sets every field, to null what is not known.
void put_generations(Json &json, const std::optional<Generations> &generations);

} // namespace shmbloom::ctl
