#include "source_keys.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "interrupts.h"
#include "line_reader.h"
#include "progress.h"
#include "text.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

Failure reading_failure(LineReader::Next next, const LineReader &lines, std::string_view line, const Keys &keys,
                        std::uint64_t count) {
    if (next == LineReader::Next::interrupted)
        return {Exit::source_failed, "interrupted after " + std::to_string(count) + " lines"};
    if (next == LineReader::Next::too_long) // of which only the beginning was read
        return {Exit::source_failed,
                "line " + std::to_string(lines.line_number()) + ": " + keys.why_invalid(line, -E2BIG)};
    return {Exit::source_failed, std::string{"cannot read the source: "} + std::strerror(lines.error())};
}

} // namespace

Outcome SourceKeys::for_each(const Use &use, const std::function<Outcome()> &flush) {
    const Interrupts interrupts;
    LineReader lines{source_.fd(), options_.nul_separated ? '\0' : '\n', interrupts.fd()};
    {
        Progress progress{source_.size_bytes(), options_.expect_at_least};
        LineReader::Next next;
        std::string_view line;
        while ((next = lines.next(&line)) == LineReader::Next::line) {
            ++counts_.lines;
            if (auto failure = take_line(line, use))
                return failure;
            progress.show(lines.bytes_given(), counts_.keys());
        }
        if (next != LineReader::Next::end)
            return reading_failure(next, lines, line, keys_, counts_.lines);
        if (auto failure = flush())
            return failure;
    }
    return source_.check_end(lines.bytes_read(), interrupts.fd());
}

Outcome SourceKeys::take_line(std::string_view line, const Use &use) {
    const std::string_view key = keys_.trimmed(line);
    if (key.empty()) {
        ++counts_.empty;
        return {};
    }
    const auto this_line = [&] { return "line " + std::to_string(counts_.lines) + ": "; };
    std::uint64_t hash = 0;
    if (const int r = keys_.hash(line, &hash); r < 0)
        return Failure{Exit::source_failed, this_line() + keys_.why_invalid(line, r)};
    if (!options_.keep_blanks && keys_.has_stray_blanks(line))
        return Failure{Exit::refused,
                       this_line() + escape(line) + " has a carriage return or outer blanks, which '" + options_.name +
                           "' does not trim; --keep-blanks takes them as parts of keys",
                       word::kStrayBlanks};
    counts_.shortest = std::min(counts_.shortest, key.size());
    counts_.longest = std::max(counts_.longest, key.size());
    return use(line, hash);
}

} // namespace shmbloom::ctl
