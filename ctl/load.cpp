// load: lines of a source become acknowledged keys; the filter goes live only if the source is known to be complete.
#include <string>

#include "client.h"
#include "feed.h"
#include "filter.h"
#include "json.h"
#include "keys.h"
#include "load.h"
#include "output.h"
#include "verbs.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::seconds kBeginTimeout{60};

class Load {
  public:
    Load(const Where &where, const LoadOptions &options, Client &client, Source &source, const Keys &keys)
        : where_{where}, options_{options}, source_{source},
          session_{client, "SB.LOAD", options.name, keys.hashing().hash_domain}, feed_{options, source, keys,
                                                                                       session_} {}

    // From BEGIN to END or ABORT.
    Outcome run() {
        FeedSession::Words overlap;
        if (options_.overlap_s)
            overlap = {"OVERLAP", std::to_string(*options_.overlap_s)};
        // The source starts after BEGIN: what it misses, because it was added since, the daemon has.
        const auto begun = session_.begin(overlap, kBeginTimeout);
        if (const Failure *failure = failure_of(begun))
            return *failure;
        Outcome failure = feed_.run();
        if (feed_.has_ended())
            print_counts();
        if (!failure)
            failure = conclude();
        if (!failure)
            return {};
        session_.abort();
        source_.stop();
        failure->text += "; '" + options_.name + "' stays as it was";
        if (sent().acknowledged() > 0)
            failure->text += " (keys added: " + std::to_string(sent().acknowledged()) + ")";
        return failure;
    }

    Json fields() const {
        Json fields{{"name", options_.name}, {"live", is_live_}, {"doubts", json_words(doubts_)}};
        feed_.put(fields);
        fields["keys_acknowledged"] = sent().acknowledged();
        fields["new"] = sent().answered(SHMBLOOM_ABSENT);
        fields["maybe"] = sent().answered(SHMBLOOM_MAYBE);
        fields["unverified"] = sent().answered(SHMBLOOM_UNVERIFIED);
        return fields;
    }

  private:
    const BulkSender &sent() const { return session_.sender(); }

    void print_counts() const {
        print("lines " + std::to_string(feed_.counts().lines) + ", empty " + std::to_string(feed_.counts().empty) +
              ", new " + std::to_string(sent().answered(SHMBLOOM_ABSENT)) + ", maybe there " +
              std::to_string(sent().answered(SHMBLOOM_MAYBE)) + ", unverified " +
              std::to_string(sent().answered(SHMBLOOM_UNVERIFIED)) + ", " + feed_.sizes_text() + "\n");
    }

    // The source ended; may that be believed?
    Outcome conclude() {
        const auto expect = options_.expect_at_least;
        if (auto failure = check_enough_keys(sent().acknowledged(), expect, "which never makes a filter live"))
            return failure;
        if (!expect && !source_.is_end_certain())
            return unproven_end(where_, "load", options_);
        const auto ended =
            session_.end(expect ? FeedSession::Words{"EXPECT", std::to_string(*expect)} : FeedSession::Words{});
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
            print_if_over(where_, options_.name, end);
            return {};
        }
        print_doubts(where_, options_.name, doubts);
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
    FeedSession session_;
    Feed feed_;
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
