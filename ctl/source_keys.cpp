#include "source_keys.h"

#include <cerrno>

#include "text.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

std::string at_line(std::uint64_t number) {
    return "line " + std::to_string(number) + ": ";
}

} // namespace

Failure SourceKeys::reading_failure(LineReader::Next next, const LineReader &lines, std::string_view line) const {
    if (next == LineReader::Next::interrupted)
        return {Exit::source_failed, "interrupted after " + std::to_string(counts_.lines) + " lines"};
    if (next == LineReader::Next::too_long) // of which only the beginning was read
        return {Exit::source_failed, at_line(counts_.lines + 1) + keys_.why_invalid(line, -E2BIG)};
    return {Exit::source_failed, std::string{"cannot read the source: "} + std::strerror(lines.error())};
}

bool SourceKeys::check_line(std::string_view line, KeyCounts &counts, std::uint64_t *hash) {
    const std::string_view key = keys_.trimmed(line);
    if (key.empty()) {
        ++counts.empty;
        return false;
    }
    if (const int r = keys_.hash(line, hash); r < 0) {
        refused_ = Failure{Exit::source_failed, at_line(counts.lines) + keys_.why_invalid(line, r)};
        return false;
    }
    if (!options_.keep_blanks && keys_.has_stray_blanks(line)) {
        refused_ = Failure{Exit::refused,
                           at_line(counts.lines) + escape(line) + " has a carriage return or outer blanks, which '" +
                               options_.name + "' does not trim; --keep-blanks takes them as parts of keys",
                           word::kStrayBlanks};
        return false;
    }
    counts.shortest = std::min(counts.shortest, key.size());
    counts.longest = std::max(counts.longest, key.size());
    return true;
}

Outcome check_enough_keys(std::uint64_t keys, std::optional<std::uint64_t> expect, const char *no_keys_means) {
    if (keys == 0)
        return Failure{Exit::refused, std::string{"the source gave no keys, "} + no_keys_means, word::kNoKeys};
    if (keys < expect.value_or(0))
        return Failure{Exit::refused,
                       "at least " + std::to_string(*expect) + " keys were expected, " + std::to_string(keys) + " came",
                       word::kFewKeys};
    return {};
}

} // namespace shmbloom::ctl
