#include "feed.h"

#include "hints.h"
#include "numbers.h"
#include "output.h"
#include "text.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kPreviewKeys = 3;

// Shows how the first keys are hashed, before any is sent: a wrong column or key type is seen here.
class Preview {
  public:
    Preview(const std::string &name, const Keys &keys) : name_{name}, keys_{keys} {}

    void see(std::string_view key) {
        if (!shown_)
            note(key);
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
    void note(std::string_view key) {
        list_ += (count_ == 0 ? "" : ", ") + keys_.as_hashed(key);
        if (++count_ == kPreviewKeys)
            show();
    }

    const std::string &name_;
    const Keys &keys_;
    std::string list_;
    std::size_t count_ = 0;
    bool shown_ = false;
};

} // namespace

Outcome Feed::run() {
    if (auto failure = source_.start())
        return failure;
    Preview preview{options_.name, keys_};
    BulkSender &sender = session_.sender();
    return lines_.for_each(
        [&](std::string_view line, std::uint64_t hash) {
            preview.see(line);
            return sender.add(hash);
        },
        [&] {
            preview.show();
            auto failure = sender.finish();
            ended_ = !failure;
            return failure;
        });
}

std::string Feed::sizes_text() const {
    return "shortest " + std::to_string(counts().keys() > 0 ? counts().shortest : 0) + ", longest " +
           std::to_string(counts().longest);
}

void Feed::put(Json &fields) const {
    const bool any = counts().keys() > 0;
    fields["lines"] = counts().lines;
    fields["empty"] = counts().empty;
    fields["shortest"] = any ? Json(counts().shortest) : Json{};
    fields["longest"] = any ? Json(counts().longest) : Json{};
}

Failure unproven_end(const Where &where, const std::string &verb, const SourceOptions &options) {
    return {
        Exit::refused,
        "the end of a pipe does not prove that its source was complete; to end this: " +
            command_line(where, verb + " " + options.name + " " + shell_quote(options.file) + " --expect-at-least N") +
            ", or --exec -- CMD...",
        word::kPipeEnd};
}

void print_if_over(const Where &where, const std::string &name, const Reply &end) {
    const std::uint64_t keys = parse_count(end.field("estimated_keys")).value_or(0);
    const std::uint64_t capacity = parse_count(end.field("capacity")).value_or(0);
    if (capacity != 0 && keys > capacity + capacity / 50) // what is estimated may be off by a little
        print("warning: about " + format_count(keys) + " keys are in it, it was made for " + format_count(capacity) +
              ": its rate is worse than asked for; more room: " +
              command_line(where, "rebuild " + name + " --capacity N ...") + "\n");
}

void print_doubts(const Where &where, const std::string &name, const std::string &doubts) {
    print(name + " is not live: every answer is unverified\n");
    split_commas(doubts, [&](std::string_view word) {
        const Hint hint = hint_for(where, name, word);
        print("  " + std::string{word} + ": " + hint.meaning + "; ended by: " + hint.ended_by + "\n");
    });
}

} // namespace shmbloom::ctl
