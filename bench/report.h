// What a run found, as a table for people and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rounds.h"

namespace shmbloom::bench {

struct Row {
    std::string what;
    std::uint64_t keys = 0; // 0: no filter involved
    std::string layout;
    double fpr = -1;             // counted, over keys that were never added; below 0: not a lookup
    double bits_per_key = -1;    // of the filter; below 0: not a lookup
    std::string segment;         // of the filter
    double huge_page_share = -1; // of the library's mapping that is in 2 MiB pages; below 0: not a lookup
    Spread ns{};
    static constexpr std::size_t kNoBase = ~std::size_t{0};
    std::size_t base = kNoBase; // the row that this one is compared with
    Spread to_base{-1, -1, -1}; // its time in units of that one's
};

struct Report {
    std::vector<Row> rows;
    Spread again; // the last row's time in units of the one before, which is the same work
    unsigned rounds;
    std::size_t batch;
    std::uint64_t seed;
    Disturbance disturbance;
};

// The least share that any of this process's mappings of a shared memory object has in 2 MiB pages.
double huge_page_share(const std::string &name);

void print_table(const Report &report);
void write_json(const Report &report, const std::string &path);

} // namespace shmbloom::bench
