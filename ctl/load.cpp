// load: lines of a source become acknowledged keys; the filter goes live only if the source is known to be complete.
#include <algorithm>
#include <string>

#include "client.h"
#include "filter.h"
#include "hints.h"
#include "json.h"
#include "keys.h"
#include "load.h"
#include "load_session.h"
#include "output.h"
#include "source_keys.h"
#include "text.h"
#include "verbs.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kPreviewKeys = 3;

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
        : where_{where}, options_{options}, source_{source}, keys_{keys}, lines_{options, source, keys},
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

    Json fields() const {
        const KeyCounts &counts = lines_.counts();
        return {{"name", options_.name},
                {"live", is_live_},
                {"doubts", json_words(doubts_)},
                {"lines", counts.lines},
                {"empty", counts.empty},
                {"keys_acknowledged", session_.acknowledged()},
                {"new", session_.answered(SHMBLOOM_ABSENT)},
                {"maybe", session_.answered(SHMBLOOM_MAYBE)},
                {"unverified", session_.answered(SHMBLOOM_UNVERIFIED)},
                {"shortest", counts.keys() > 0 ? Json(counts.shortest) : Json{}},
                {"longest", counts.keys() > 0 ? Json(counts.longest) : Json{}}};
    }

  private:
    Outcome read_all() {
        Preview preview{options_.name, keys_};
        const auto use = [&](std::string_view line, std::uint64_t hash) {
            preview.see(line);
            return session_.add(hash);
        };
        const auto flush = [&] {
            preview.show();
            auto failure = session_.flush();
            ended_ = !failure;
            return failure;
        };
        auto failure = lines_.for_each(use, flush);
        if (ended_)
            print_counts();
        return failure;
    }

    void print_counts() const {
        const KeyCounts &counts = lines_.counts();
        print("lines " + std::to_string(counts.lines) + ", empty " + std::to_string(counts.empty) + ", new " +
              std::to_string(session_.answered(SHMBLOOM_ABSENT)) + ", maybe there " +
              std::to_string(session_.answered(SHMBLOOM_MAYBE)) + ", unverified " +
              std::to_string(session_.answered(SHMBLOOM_UNVERIFIED)) + ", shortest " +
              std::to_string(counts.keys() > 0 ? counts.shortest : 0) + ", longest " + std::to_string(counts.longest) +
              "\n");
    }

    // The source ended; may that be believed?
    Outcome conclude() {
        const std::uint64_t acknowledged = session_.acknowledged();
        const auto expect = options_.expect_at_least;
        if (acknowledged == 0)
            return Failure{Exit::refused, "the source gave no keys, which never makes a filter live", word::kNoKeys};
        if (expect && acknowledged < *expect)
            return Failure{Exit::refused,
                           "at least " + std::to_string(*expect) + " keys were expected, " +
                               std::to_string(acknowledged) + " came",
                           word::kFewKeys};
        if (!expect && !source_.is_end_certain())
            return Failure{Exit::refused,
                           "the end of a pipe does not prove that its source was complete; to end this: " +
                               command_line(where_, "load " + options_.name + " " + shell_quote(options_.file) +
                                                        " --expect-at-least N") +
                               ", or --exec -- CMD...",
                           word::kPipeEnd};
        auto ended = session_.end(expect);
        if (const Failure *failure = failure_of(ended))
            return *failure;
        return look_at_end(std::get<Reply>(ended));
    }

    // The load is done; is the filter live? That other loads are open or an operator paused it is no fault of this one.
    Outcome look_at_end(const Reply &end) {
        const std::string doubts = end.field("doubts"), loads_open = end.field("loads_open");
        is_live_ = end.field("live") == "1";
        doubts_ = doubts;
        if (is_live_) {
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
            return Failure{Exit::refused,
                           "another load that ran at the same time was aborted, and nobody knows which keys it "
                           "was to bring; load again",
                           word::kSpoiled};
        else if (doubts != "paused")
            return Failure{Exit::refused, "its doubts are younger than this load; load again", word::kYoungDoubt};
        return {};
    }

    const Where &where_;
    const LoadOptions &options_;
    Source &source_;
    const Keys &keys_;
    SourceKeys lines_;
    LoadSession session_;
    bool ended_ = false;   // all of the source is acknowledged
    bool is_live_ = false; // as END said
    std::string doubts_;
};

} // namespace

Loaded load_one(const Where &where, const LoadOptions &options) {
    const Json name{{"name", options.name}};
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return {name, *failure};
    auto hashing = get_hashing(std::get<Filter>(opened).get(), options.name);
    if (const Failure *failure = failure_of(hashing))
        return {name, *failure};
    auto source = Source::open(options);
    if (const Failure *failure = failure_of(source))
        return {name, *failure};
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return {name, *failure};

    const Keys keys{take(std::move(hashing))};
    if (!std::get<Source>(source).is_end_certain() && !options.expect_at_least)
        note("reading a pipe without --expect-at-least: keys are added, but this cannot make the filter live");
    Load load{where, options, std::get<Client>(client), std::get<Source>(source), keys};
    const Outcome failure = load.run();
    return {load.fields(), failure};
}

int run(const Where &where, const LoadOptions &options) {
    if (options.which != LoadOptions::Which::one)
        return load_all(where, options);
    const Loaded loaded = load_one(where, options);
    return conclude(loaded.fields, loaded.failure);
}

} // namespace shmbloom::ctl
