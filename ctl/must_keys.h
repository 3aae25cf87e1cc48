// The keys of --must-contain: read before a rebuild begins, and named when they are missing at its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "feed_session.h"
#include "keys.h"
#include "options.h"
#include "result.h"

namespace shmbloom::ctl {

class MustKeys {
  public:
    MustKeys() = default;

    // One a line, separated and checked as the source's. A regular file: the end of a pipe proves nothing.
    static Result<MustKeys> read(const SourceOptions &options, const std::string &file, const Keys &keys);

    Outcome send(FeedSession &session) const;

    // The keys at the positions that a refusal's text names.
    std::vector<std::string> missing_in(std::string_view text) const;

  private:
    std::vector<std::uint64_t> hashes_;
    std::string text_; // of all keys
    std::vector<std::size_t> ends_;
};

// "... missing: 0,5,7 ..." to the numbers; empty when nothing like it is there.
std::vector<std::size_t> read_missing_positions(std::string_view text);

} // namespace shmbloom::ctl
