// The keys of a source, line by line, each checked before it is used; what load and verify have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "keys.h"
#include "options.h"
#include "result.h"
#include "source.h"

namespace shmbloom::ctl {

struct KeyCounts {
    std::uint64_t lines = 0, empty = 0;
    std::size_t shortest = std::numeric_limits<std::size_t>::max(), longest = 0; // bytes of a key

    std::uint64_t keys() const { return lines - empty; }
};

class SourceKeys {
  public:
    using Use = std::function<Outcome(std::string_view line, std::uint64_t hash)>;

    SourceKeys(const SourceOptions &options, Source &source, const Keys &keys)
        : options_{options}, source_{source}, keys_{keys} {}

    // Calls use() for each key and flush() behind the last one; shows a bar meanwhile. Fails with what they fail with,
    // when a line is no key of this filter, or the source did not end well.
    Outcome for_each(const Use &use, const std::function<Outcome()> &flush);

    const KeyCounts &counts() const { return counts_; }

  private:
    Outcome take_line(std::string_view line, const Use &use);

    const SourceOptions &options_;
    Source &source_;
    const Keys &keys_;
    KeyCounts counts_;
};

} // namespace shmbloom::ctl
