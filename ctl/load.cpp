// load: lines of a source become acknowledged keys; the filter goes live only if the source is known to be complete.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "client.h"
#include "filter.h"
#include "hints.h"
#include "interrupts.h"
#include "keys.h"
#include "line_reader.h"
#include "load_session.h"
#include "output.h"
#include "progress.h"
#include "source.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kPreviewKeys = 3;

struct Counts {
    std::uint64_t lines = 0, empty = 0;
    std::size_t shortest = std::numeric_limits<std::size_t>::max(), longest = 0; // bytes of a key

    std::uint64_t keys() const { return lines - empty; }
    void count(std::size_t size) {
        shortest = std::min(shortest, size);
        longest = std::max(longest, size);
    }
};

// Shows how the first keys are hashed, before any is sent: a wrong column or key type is seen here.
class Preview {
  public:
    Preview(const std::string &name, const Keys &keys) : name_{name}, keys_{keys} {}

    void see(std::string_view key) {
        if (shown_)
            return;
        list_ += (count_ == 0 ? "" : ", ") + keys_.as_hashed(key);
        if (++count_ == kPreviewKeys)
            show();
    }

    void show() {
        if (!shown_ && count_ > 0) {
            const std::uint32_t rules = keys_.hashing().normalization;
            const std::string normalize = std::string{rules & SHMBLOOM_NORMALIZE_TRIM ? " trim" : ""} +
                                          (rules & SHMBLOOM_NORMALIZE_LOWER ? " lower" : "");
            print(name_ + ": key type " + (keys_.is_u64() ? "u64" : "bytes") + ", normalize" +
                  (normalize.empty() ? " nothing" : normalize) + "; first keys as hashed: " + list_ + "\n");
            flush_output();
        }
        shown_ = true;
    }

  private:
    const std::string &name_;
    const Keys &keys_;
    std::string list_;
    std::size_t count_ = 0;
    bool shown_ = false;
};

class Load {
  public:
    Load(const Where &where, const LoadOptions &options, Client &client, Source &source, const Keys &keys)
        : where_{where}, options_{options}, source_{source}, keys_{keys},
          session_{client, options.name, keys.hashing().hash_domain} {}

    // From BEGIN to END or ABORT.
    Outcome run() {
        // The source starts after BEGIN: what it misses, because it was added since, the daemon has.
        if (auto failure = session_.begin(options_.overlap_s))
            return failure;
        auto failure = source_.start();
        if (!failure)
            failure = read_all();
        if (!failure)
            failure = conclude();
        if (!failure)
            return {};
        session_.abort();
        source_.stop();
        failure->text += "; '" + options_.name + "' stays as it was";
        if (session_.acknowledged() > 0)
            failure->text += " (keys added: " + std::to_string(session_.acknowledged()) + ")";
        return failure;
    }

  private:
    Outcome read_all() {
        const Interrupts interrupts;
        LineReader lines{source_.fd(), options_.nul_separated ? '\0' : '\n', interrupts.fd()};
        Preview preview{options_.name, keys_};
        {
            Progress progress{source_.size_bytes(), options_.expect_at_least};
            LineReader::Next next;
            std::string_view line;
            while ((next = lines.next(&line)) == LineReader::Next::line) {
                ++counts_.lines;
                if (auto failure = take_line(line, preview))
                    return failure;
                progress.show(lines.bytes_given(), counts_.keys());
            }
            if (next != LineReader::Next::end)
                return reading_failure(next, lines, line);
            preview.show();
            if (auto failure = session_.flush())
                return failure;
        }
        print_counts();
        return source_.check_end(lines.bytes_read(), interrupts.fd());
    }

    Outcome take_line(std::string_view line, Preview &preview) {
        const std::string_view key = keys_.trimmed(line);
        if (key.empty()) {
            ++counts_.empty;
            return {};
        }
        std::uint64_t hash = 0;
        if (const int r = keys_.hash(line, &hash); r < 0)
            return Failure{Exit::source_failed, this_line() + keys_.why_invalid(line, r)};
        if (!options_.keep_blanks && keys_.has_stray_blanks(line))
            return Failure{Exit::refused, this_line() + escape(line) + " has a carriage return or outer blanks, which '" + options_.name +
                                              "' does not trim; --keep-blanks takes them as parts of keys"};
        counts_.count(key.size());
        preview.see(line);
        return session_.add(hash);
    }

    std::string this_line() const { return "line " + std::to_string(counts_.lines) + ": "; }

    Failure reading_failure(LineReader::Next next, const LineReader &lines, std::string_view line) const {
        if (next == LineReader::Next::interrupted)
            return {Exit::source_failed, "interrupted after " + std::to_string(counts_.lines) + " lines"};
        if (next == LineReader::Next::too_long) // of which only the beginning was read
            return {Exit::source_failed,
                    "line " + std::to_string(lines.line_number()) + ": " + keys_.why_invalid(line, -E2BIG)};
        return {Exit::source_failed, std::string{"cannot read the source: "} + std::strerror(lines.error())};
    }

    void print_counts() const {
        const bool any = counts_.keys() > 0;
        print("lines " + std::to_string(counts_.lines) + ", empty " + std::to_string(counts_.empty) + ", new " +
              std::to_string(session_.answered(SHMBLOOM_ABSENT)) + ", maybe there " +
              std::to_string(session_.answered(SHMBLOOM_MAYBE)) + ", unverified " +
              std::to_string(session_.answered(SHMBLOOM_UNVERIFIED)) + ", shortest " +
              std::to_string(any ? counts_.shortest : 0) + ", longest " + std::to_string(counts_.longest) + "\n");
    }

    // The source ended; may that be believed?
    Outcome conclude() {
        const std::uint64_t acknowledged = session_.acknowledged();
        const auto expect = options_.expect_at_least;
        if (acknowledged == 0)
            return Failure{Exit::refused, "the source gave no keys, which never makes a filter live"};
        if (expect && acknowledged < *expect)
            return Failure{Exit::refused, "at least " + std::to_string(*expect) + " keys were expected, " +
                                              std::to_string(acknowledged) + " came"};
        if (!expect && !source_.is_end_certain())
            return Failure{Exit::refused, "the end of a pipe does not prove that its source was complete; to end this: " +
                                              command_line(where_, "load " + options_.name + " " +
                                                                       shell_quote(options_.file) +
                                                                       " --expect-at-least N") +
                                              ", or --exec -- CMD..."};
        auto ended = session_.end(expect);
        if (const Failure *failure = failure_of(ended))
            return *failure;
        return look_at_end(std::get<Reply>(ended));
    }

    // The load is done; is the filter live? That other loads are open or an operator paused it is no fault of this one.
    Outcome look_at_end(const Reply &end) {
        const std::string doubts = end.field("doubts"), loads_open = end.field("loads_open");
        if (end.field("live") == "1") {
            print(options_.name + " is live\n");
            return {};
        }
        print(options_.name + " is not live: every answer is unverified\n");
        split_commas(doubts, [&](std::string_view word) {
            const Hint hint = hint_for(where_, options_.name, word);
            print("  " + std::string{word} + ": " + hint.meaning + "; ended by: " + hint.ended_by + "\n");
        });
        if (!loads_open.empty() && loads_open != "0")
            print("  " + loads_open + " more load(s) of it are open; it goes live when they end well\n");
        else if (end.field("spoiled") == "1")
            return Failure{Exit::refused, "another load that ran at the same time was aborted, and nobody knows which keys it "
                                          "was to bring; load again"};
        else if (doubts != "paused")
            return Failure{Exit::refused, "its doubts are younger than this load; load again"};
        return {};
    }

    const Where &where_;
    const LoadOptions &options_;
    Source &source_;
    const Keys &keys_;
    LoadSession session_;
    Counts counts_;
};

} // namespace

int run(const Where &where, const LoadOptions &options) {
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    auto hashing = get_hashing(std::get<Filter>(opened).get(), options.name);
    if (const Failure *failure = failure_of(hashing))
        return fail(*failure);
    auto source = Source::open(options);
    if (const Failure *failure = failure_of(source))
        return fail(*failure);
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);

    const Keys keys{take(std::move(hashing))};
    if (!std::get<Source>(source).is_end_certain() && !options.expect_at_least)
        std::fputs("shmbloomctl: reading a pipe without --expect-at-least: keys are added, but this cannot make the filter "
                   "live\n",
                   stderr);
    Load load{where, options, std::get<Client>(client), std::get<Source>(source), keys};
    if (auto failure = load.run())
        return fail(*failure);
    return static_cast<int>(Exit::done);
}

} // namespace shmbloom::ctl
