// A registry in which every field says something.
#pragma once

#include "disk/registry.h"

namespace shmbloom {

inline Registry some_registry() {
    const auto uuid = [](char digit) {
        const std::string d(1, digit);
        const auto repeat = [&](int n) { return std::string(static_cast<std::size_t>(n), digit); };
        return Uuid::parse(repeat(8) + "-" + repeat(4) + "-4" + repeat(3) + "-8" + repeat(3) + "-" + repeat(12))
            .value();
    };
    Registry registry;
    registry.state_uuid = uuid('1');
    registry.folder = {2049, 17};
    registry.seed = 0x0123456789abcdef;
    registry.domain = 0xfedcba9876543210;
    registry.boot = uuid('2');
    registry.boot_at = 1'690'000'000;
    registry.clock_set_at = 1'690'000'500;
    registry.clean_stop = true;
    registry.control = {"/run/shmbloom/default/control", uuid('3'), {25, 18}};
    registry.control_lost = true;
    registry.next_generation = 43;
    registry.next_filter_number = 12;
    registry.filters.push_back(
        {.uuid = uuid('a'),
         .number = 10,
         .name = "links",
         .capacity = 100'000'000,
         .fpr = 0.001,
         .layout_asked = "auto",
         .shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 3'000'000},
         .normalization = SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER,
         .key_type = SHMBLOOM_KEY_TYPE_BYTES,
         .growable = true,
         .expansion = 4,
         .durability = SHMBLOOM_DURABILITY_LOGGED,
         .generation = 41,
         .lineage = 40,
         .segment = {26, 19},
         .making = 42,
         .doubts = {{SHMBLOOM_DOUBT_WARMING, {1'700'000'000, "its source has not been declared complete"}},
                    {SHMBLOOM_DOUBT_LOSSY, {1'700'000'001, "the segment was lost: \"rm\""}}},
         .live_since = 0,
         .adds_acknowledged = 1'000,
         .adds_new = 990,
         .created = 7,
         .bulk_acts = 3,
         .bulk_at = 1'700'000'012,
         .bulk_lsn = 77,
         .bulk_unkept = true,
         .snapshots =
             {{.number = 5, .s = 100, .end = 120, .begun = 1'700'000'004, .lineage = 40, .bulk_acts = 2, .bytes = 8192},
              {.number = 6,
               .s = 900,
               .end = 905,
               .begun = 1'700'000'005,
               .lineage = 40,
               .bulk_acts = 3,
               .bytes = 8193}},
         .when_full = WhenFull::warn,
         .source_begun = 1'700'000'008,
         .hash_list = {.complete = true, .through = 800, .files = {{7, 500}, {8, 12}}},
         .previous = PreviousGeneration{
             .replaced = 1'700'000'009,
             .generation = 38,
             .lineage = 37,
             .capacity = 50'000'000,
             .fpr = 0.002,
             .layout_asked = "classic",
             .shape = {SHMBLOOM_LAYOUT_CLASSIC, 9, 700'000'000},
             .created = 6,
             .bulk_acts = 2,
             .source_begun = 1'700'000'010,
             .keys = 4711,
             .bulk_since = true,
             .snapshots = {{.number = 4, .s = 60, .end = 61, .begun = 1, .lineage = 37, .bulk_acts = 2, .bytes = 8}},
             .hash_list = {.complete = false, .through = 5, .files = {{2, 1}}},
             .doubts = {{SHMBLOOM_DOUBT_DAMAGED, {1'700'000'011, "a byte"}}}}});
    registry.filters.push_back({.uuid = uuid('b'),
                                .number = 11,
                                .name = "tokens",
                                .capacity = 1,
                                .fpr = 1e-9,
                                .layout_asked = "classic",
                                .shape = {SHMBLOOM_LAYOUT_CLASSIC, 30, 4096},
                                .normalization = 0,
                                .key_type = SHMBLOOM_KEY_TYPE_U64,
                                .growable = false,
                                .expansion = 2,
                                .durability = SHMBLOOM_DURABILITY_MEMORY,
                                .generation = SHMBLOOM_GENERATION_MAX,
                                .lineage = SHMBLOOM_GENERATION_MAX,
                                .segment = {UINT64_MAX, UINT64_MAX},
                                .making = 0,
                                .doubts = {},
                                .live_since = 1'700'000'002,
                                .adds_acknowledged = UINT64_MAX,
                                .adds_new = 0,
                                .created = 1,
                                .bulk_acts = 0,
                                .bulk_at = 0,
                                .bulk_lsn = 0,
                                .bulk_unkept = false,
                                .snapshots = {},
                                .when_full = WhenFull::refuse,
                                .source_begun = 0,
                                .hash_list = {},
                                .previous = {}});
    registry.ending.push_back({uuid('c'), "old", 39, {26, 20}, true});
    registry.adds_refused["links"] = {1'700'000'003, "readers may exist that nobody can reach"};
    registry.journal = {{{3, 0xa1b2c3d4e5f60718}, {4, 1}}, 5, 1001, 1'700'000'012};
    registry.next_snapshot_number = 7;
    registry.degraded = {1'700'000'006, "cannot sync"};
    registry.dropped.push_back({1'700'000'007, registry.filters.front()});
    return registry;
}

} // namespace shmbloom
