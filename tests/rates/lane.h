// One of the lines in which sets of keys are tried: filters of their own, made, filled through the daemon, asked about
// by a worker process, dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "process.h"
#include "rate_keys.h"
#include "wire.h"

namespace shmbloom::test {

// One row of the table.
struct Cell {
    std::string layout; // classic, blocked
    double p;
    std::uint64_t n;
    std::uint64_t sets; // disjoint, each in a filter of its own
    rate_kind kind;
    std::uint64_t absent_per_set;
};

struct SetResult {
    std::uint64_t missing = 0; // added keys that were answered absent
    std::uint64_t unverified = 0;
    std::uint64_t false_positives = 0;
};

class Lane {
  public:
    Lane(const std::string &runtime_dir, std::string name, const rate_words &words);

    // The sets first .. first+count-1 of a cell, all at once; at most kAtOnce. Throws std::runtime_error.
    std::vector<SetResult> run(const Cell &cell, std::uint64_t first, std::uint64_t count);

    static constexpr std::uint64_t kAtOnce = 25;

  private:
    void call_all(const std::vector<std::vector<std::string>> &commands);
    void fill(const std::string &filter, const Cell &cell, std::uint64_t set);

    std::string runtime_dir_;
    std::string name_;
    const rate_words &words_;
    std::vector<Wire> wires_; // creates on several connections share the registry's writes
    Process worker_;
};

} // namespace shmbloom::test
