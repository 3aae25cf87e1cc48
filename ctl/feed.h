// A source into a load or rebuild that was begun: what both have between BEGIN and END.
#pragma once

#include <cstdint>
#include <string>

#include "feed_session.h"
#include "json.h"
#include "keys.h"
#include "options.h"
#include "result.h"
#include "source.h"
#include "source_keys.h"

namespace shmbloom::ctl {

class Feed {
  public:
    Feed(const SourceOptions &options, Source &source, const Keys &keys, FeedSession &session)
        : options_{options}, source_{source}, keys_{keys}, session_{session}, lines_{options, source, keys} {}

    // Starts the source and brings all its keys in; shows the first of them as they are hashed. When it succeeds, all
    // are acknowledged, and the source ended well as far as that can be seen.
    Outcome run();

    bool has_ended() const { return ended_; } // all of the source is acknowledged
    const KeyCounts &counts() const { return lines_.counts(); }

    std::string sizes_text() const; // "shortest 3, longest 9"
    void put(Json &fields) const;   // "lines", "empty", "shortest", "longest"

  private:
    const SourceOptions &options_;
    Source &source_;
    const Keys &keys_;
    FeedSession &session_;
    SourceKeys lines_;
    bool ended_ = false;
};

// A pipe that ended without a number to expect, and what to type instead.
Failure unproven_end(const Where &where, const std::string &verb, const SourceOptions &options);

// When the reply of an END says that the filter holds more keys than it was made for.
void print_if_over(const Where &where, const std::string &name, const Reply &end);

// Each of a filter's doubts on a line, with what ends it.
void print_doubts(const Where &where, const std::string &name, const std::string &doubts);

} // namespace shmbloom::ctl
