// The keys of a source, line by line, each checked before it is used; what load, rebuild and verify have in common.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "interrupts.h"
#include "keys.h"
#include "line_reader.h"
#include "options.h"
#include "progress.h"
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
    SourceKeys(const SourceOptions &options, Source &source, const Keys &keys)
        : options_{options}, source_{source}, keys_{keys} {}

    // Calls `use` for each key, in order, until it returns false: what then went wrong, `flush` says, which is called
    // behind the last one. Shows a bar meanwhile. Fails with what flush fails with, when a line is no key of this
    // filter, or the source did not end well.
    //     bool use(std::string_view line, std::uint64_t hash)
    template <class Use>
    Outcome for_each(const Use &use, const std::function<Outcome()> &flush);

    const KeyCounts &counts() const { return counts_; }

  private:
    enum class Taken { all, stopped, refused };

    template <class Use>
    Taken take_block(std::string_view block, const Use &use);
    // The careful way for any line. False: it is no key, because it is empty or (refused_) not valid.
    bool check_line(std::string_view line, KeyCounts &counts, std::uint64_t *hash);
    Failure reading_failure(LineReader::Next next, const LineReader &lines, std::string_view line) const;

    const SourceOptions &options_;
    Source &source_;
    const Keys &keys_;
    KeyCounts counts_;
    Outcome refused_; // the line that is no key
};

// Why a source that ended is not to be believed: no key, or fewer than expected. `no_keys_means`: "which ...".
Outcome check_enough_keys(std::uint64_t keys, std::optional<std::uint64_t> expect, const char *no_keys_means);

// ---- What is below is only here because it is a template.

// Nearly all lines of nearly all sources are such: a key of bytes without anything to strip or to doubt. For these a
// line costs a memchr and the hash; all else goes to check_line().
inline bool is_ordinary(std::string_view line) {
    return line.size() - 1 < SHMBLOOM_KEY_MAX_BYTES && static_cast<unsigned char>(line.front()) > ' ' &&
           static_cast<unsigned char>(line.back()) > ' ';
}

template <class Use>
SourceKeys::Taken SourceKeys::take_block(std::string_view block, const Use &use) {
    const char separator = options_.nul_separated ? '\0' : '\n';
    // A carriage return within a line is looked for once a block: outer ones are no ordinary characters anyway.
    const bool plain = keys_.is_plain() && block.find('\r') == std::string_view::npos;
    KeyCounts counts = counts_; // in registers
    Taken taken = Taken::all;
    const char *at = block.data(), *const end = at + block.size();
    while (at < end && taken == Taken::all) {
        const void *found = std::memchr(at, separator, static_cast<std::size_t>(end - at));
        const char *line_end = found != nullptr ? static_cast<const char *>(found) : end;
        const std::string_view line{at, static_cast<std::size_t>(line_end - at)};
        at = line_end + 1;
        ++counts.lines;
        std::uint64_t hash = 0;
        if (plain && is_ordinary(line)) {
            hash = keys_.hash_plain(line);
            counts.shortest = std::min(counts.shortest, line.size());
            counts.longest = std::max(counts.longest, line.size());
        } else if (!check_line(line, counts, &hash)) {
            taken = refused_ ? Taken::refused : Taken::all;
            continue;
        }
        if (!use(line, hash))
            taken = Taken::stopped;
    }
    counts_ = counts;
    return taken;
}

template <class Use>
Outcome SourceKeys::for_each(const Use &use, const std::function<Outcome()> &flush) {
    const Interrupts interrupts;
    LineReader lines{source_.fd(), options_.nul_separated ? '\0' : '\n', interrupts.fd()};
    {
        Progress progress{source_.size_bytes(), options_.expect_at_least};
        LineReader::Next next;
        std::string_view block;
        while ((next = lines.next_block(&block)) == LineReader::Next::line) {
            const Taken taken = take_block(block, use);
            if (taken == Taken::refused)
                return refused_;
            if (taken == Taken::stopped)
                return flush();
            progress.show(lines.bytes_given(), counts_.keys());
        }
        if (next != LineReader::Next::end)
            return reading_failure(next, lines, block);
        if (auto failure = flush())
            return failure;
    }
    return source_.check_end(lines.bytes_read(), interrupts.fd());
}

} // namespace shmbloom::ctl
