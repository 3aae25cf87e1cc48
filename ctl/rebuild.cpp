// rebuild: a new generation from a source, beside the present one, which workers look up until the switch.
#include <string>
#include <vector>

#include "client.h"
#include "feed.h"
#include "filter.h"
#include "hints.h"
#include "import_folder.h"
#include "json.h"
#include "keys.h"
#include "must_keys.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "text.h"
#include "verbs.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

// BEGIN allocates every page and reads a snapshot whole; a growth reads the hash list.
constexpr std::chrono::hours kBuildTimeout{24};

std::uint64_t count_of(const Reply &reply, const char *name) {
    return parse_count(reply.field(name)).value_or(0);
}

std::string rate_of(const Reply &reply) {
    const auto rate = parse_rate(reply.field("fpr"));
    return rate ? format_share(*rate) : "?";
}

Failure nothing_changed(Failure failure) {
    if (failure.text.find("nothing changed") == std::string::npos)
        failure.text += "; nothing changed";
    return failure;
}

// What END and GROW reply.
void print_end(const Where &where, const std::string &name, const Reply &end) {
    print("keys " + end.field("keys") + ", replayed " + end.field("replayed") + "; estimated " +
          end.field("estimated_keys") + " keys, " + end.field("estimated_keys_before") + " before\n");
    if (end.field("switched") != "1") {
        print("dry run: it would have been switched to; nothing changed\n");
        return;
    }
    const std::string what = name + " is now generation " + end.field("generation") + ", for " +
                             format_count(count_of(end, "capacity")) + " keys at rate " + rate_of(end);
    if (end.field("live") == "1")
        print(what + ", live\n");
    else
        print(what + "\n");
    print_if_over(where, name, end);
    if (end.field("live") != "1")
        print_doubts(where, name, end.field("doubts"));
}

void put_end(const Reply &end, Json &fields) {
    const bool known = !end.elements.empty();
    fields["switched"] = end.field("switched") == "1";
    for (const char *name : {"keys", "replayed", "estimated_keys", "estimated_keys_before"})
        fields[name] = json_count(end.field(name));
    fields["live"] = known ? Json(end.field("live") == "1") : Json{};
    fields["doubts"] = known ? json_words(end.field("doubts")) : Json{};
    fields["lineage"] = json_word(end.field("lineage").c_str());
}

// What BEGIN replies, or END of a growth.
void put_made(const Reply &made, Json &fields) {
    fields["generation"] = json_word(made.field("generation").c_str());
    fields["capacity"] = json_count(made.field("capacity"));
    const auto rate = parse_rate(made.field("fpr"));
    fields["fpr"] = rate ? Json(*rate) : Json{};
}

class Rebuild {
  public:
    Rebuild(const Where &where, const RebuildOptions &options, Client &client, Source *source, const Keys &keys,
            const MustKeys &must)
        : where_{where}, options_{options}, source_{source}, must_{must}, session_{client, "SB.REBUILD", options.name,
                                                                                   keys.hashing().hash_domain} {
        if (source != nullptr)
            feed_.emplace(options, *source, keys, session_);
    }

    // From BEGIN to END or ABORT. `snapshot`: the file's name in the state folder, or "".
    Outcome run(const std::string &snapshot) {
        auto failure = begin(snapshot);
        if (!failure)
            failure = must_.send(session_);
        if (!failure && feed_)
            failure = feed();
        if (!failure)
            failure = end();
        if (!failure)
            return {};
        session_.abort();
        if (source_ != nullptr)
            source_->stop();
        missing_ = must_.missing_in(failure->text);
        for (const std::string &key : missing_)
            print("missing " + escape(key) + "\n");
        return nothing_changed(*failure);
    }

    Json fields() const {
        Json fields{{"name", options_.name}, {"dry_run", options_.dry_run}};
        put_made(begun_, fields);
        fields["memory_bytes"] = json_count(begun_.field("memory_bytes"));
        fields["since_lsn"] = json_word(begun_.field("since_lsn").c_str());
        fields["overlap_seconds"] = json_count(begun_.field("overlap"));
        put_end(ended_, fields);
        if (feed_)
            feed_->put(fields);
        fields["missing"] = missing_;
        return fields;
    }

  private:
    // Else nothing of before is kept, and no add of before can be brought along.
    bool has_journal() const { return begun_.field("since_lsn") != "0"; }

    Outcome begin(const std::string &snapshot) {
        FeedSession::Words words;
        const auto option = [&](const char *word, const auto &value) {
            if (value)
                words.insert(words.end(), {word, std::to_string(*value)});
        };
        option("CAPACITY", options_.capacity);
        if (options_.fpr)
            words.insert(words.end(), {"FPR", exact_text(*options_.fpr)});
        if (options_.layout)
            words.insert(words.end(), {"LAYOUT", *options_.layout});
        option("SINCE", options_.since_lsn);
        option("SINCE-SECONDS", options_.since_s);
        option("OVERLAP", options_.overlap_s);
        if (!snapshot.empty())
            words.insert(words.end(), {"SNAPSHOT", snapshot});
        const Waiting waiting{"making the new generation"};
        const auto begun = session_.begin(words, kBuildTimeout);
        if (const Failure *failure = failure_of(begun))
            return *failure;
        begun_ = std::get<Reply>(begun);
        print("generation " + begun_.field("generation") +
              " is built beside it: " + format_count(count_of(begun_, "capacity")) + " keys at rate " +
              rate_of(begun_) + ", " + format_bytes(count_of(begun_, "memory_bytes")) + "\n" +
              (has_journal() ? "every add from LSN " + begun_.field("since_lsn") + " on goes in too (an overlap of " +
                                   format_age(count_of(begun_, "overlap") * 1000) + ")\n"
                             : "every add from now on goes in too\n"));
        flush_output();
        return {};
    }

    Outcome feed() {
        auto failure = feed_->run();
        if (feed_->has_ended())
            print("lines " + std::to_string(feed_->counts().lines) + ", empty " +
                  std::to_string(feed_->counts().empty) + ", " + feed_->sizes_text() + "\n");
        flush_output();
        if (!failure)
            failure = check_enough_keys(session_.sender().acknowledged(), options_.expect_at_least,
                                        "which never replace a filter");
        return failure;
    }

    Outcome end() {
        FeedSession::Words words;
        if (options_.expect_at_least)
            words = {"EXPECT", std::to_string(*options_.expect_at_least)};
        if (options_.allow_shrink_percent)
            words.insert(words.end(), {"SHRINK", std::to_string(*options_.allow_shrink_percent)});
        if (options_.dry_run)
            words.push_back("DRYRUN");
        Result<Reply> ended;
        {
            const Waiting waiting{options_.dry_run ? "waiting for the daemon" : "writing its snapshot, then switching"};
            ended = session_.end(words);
        }
        if (const Failure *failure = failure_of(ended))
            return *failure;
        ended_ = std::get<Reply>(ended);
        print_end(where_, options_.name, ended_);
        if (ended_.field("switched") == "1" && has_journal())
            print("back: " + command_line(where_, "rollback " + options_.name) + "\n");
        return {};
    }

    const Where &where_;
    const RebuildOptions &options_;
    Source *source_; // nullptr: a snapshot
    const MustKeys &must_;
    FeedSession session_;
    std::optional<Feed> feed_;
    Reply begun_, ended_;
    std::vector<std::string> missing_;
};

// What can be said before the daemon is asked.
Outcome check_source(const Where &where, const RebuildOptions &options, const Source &source) {
    if (!source.is_end_certain() && !options.expect_at_least)
        return nothing_changed(unproven_end(where, "rebuild", options));
    if (source.is_from_before() && !options.has_since())
        return nothing_changed(
            {Exit::refused,
             "a file was written earlier, and what was added since must go in too; say when its source began: " +
                 command_line(where, "rebuild " + options.name + " " + shell_quote(options.file)) +
                 " --since LSN (status shows it, to be noted before a dump), or --since 2h",
             word::kNoSince});
    return {};
}

void print_before(const shmbloom_info &info) {
    const bool known = info.estimated_keys != SHMBLOOM_UNKNOWN && info.memory_bytes != SHMBLOOM_UNKNOWN;
    print(std::string{info.name} + ": generation " + std::to_string(info.generation) + ", " +
          (known ? "about " + format_count(info.estimated_keys) + " of " + format_count(info.capacity) + " keys, " +
                       format_bytes(info.memory_bytes)
                 : "keys not known yet") +
          "\n");
    flush_output();
}

Outcome run_from_snapshot(const Where &where, const RebuildOptions &options, const Keys &keys, const MustKeys &must,
                          Json &fields) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return *failure;
    const auto brought = BroughtFile::bring(where, "rebuild --snapshot", options.snapshot);
    if (const Failure *failure = failure_of(brought))
        return *failure;
    Rebuild rebuild{where, options, std::get<Client>(client), nullptr, keys, must};
    auto failure = rebuild.run(std::get<BroughtFile>(brought).name());
    fields = rebuild.fields();
    return failure;
}

Outcome run_from_source(const Where &where, const RebuildOptions &options, const Keys &keys, const MustKeys &must,
                        Json &fields) {
    auto source = Source::open(options);
    if (const Failure *failure = failure_of(source))
        return nothing_changed(*failure);
    if (auto failure = check_source(where, options, std::get<Source>(source)))
        return failure;
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return *failure;
    Rebuild rebuild{where, options, std::get<Client>(client), &std::get<Source>(source), keys, must};
    auto failure = rebuild.run("");
    fields = rebuild.fields();
    return failure;
}

int grow(const Where &where, const RebuildOptions &options) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);
    const std::string capacity = std::to_string(*options.capacity);
    Json fields{{"name", options.name}};
    Result<Reply> grown;
    {
        const Waiting waiting{"growing"};
        grown =
            std::get<Client>(client).call({"SB.REBUILD", options.name, "GROW", "CAPACITY", capacity}, kBuildTimeout);
    }
    const Failure *failure = failure_of(grown);
    const Reply end = failure == nullptr ? std::get<Reply>(grown) : Reply{};
    put_made(end, fields);
    put_end(end, fields);
    if (failure != nullptr)
        return conclude(fields, nothing_changed(*failure));
    print_end(where, options.name, end);
    return conclude(fields, {});
}

} // namespace

int run(const Where &where, const RebuildOptions &options) {
    if (options.grows)
        return grow(where, options);
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    shmbloom_filter *f = std::get<Filter>(opened).get();
    auto hashing = get_hashing(f, options.name);
    if (const Failure *failure = failure_of(hashing))
        return fail(*failure);
    const Keys keys{take(std::move(hashing))};
    MustKeys must;
    if (!options.must_contain.empty()) {
        auto read = MustKeys::read(options, options.must_contain, keys);
        if (const Failure *failure = failure_of(read))
            return fail(nothing_changed(*failure));
        must = take(std::move(read));
    }
    print_before(get_info(f));
    Json fields{{"name", options.name}};
    const Outcome failure = options.snapshot.empty() ? run_from_source(where, options, keys, must, fields)
                                                     : run_from_snapshot(where, options, keys, must, fields);
    return conclude(fields, failure);
}

} // namespace shmbloom::ctl
