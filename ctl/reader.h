// How the options of a verb are read from a command line that was taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "help.h"
#include "numbers.h"
#include "options.h"
#include "shmbloom/layout.h"
#include "text.h"

namespace shmbloom::ctl {

// One command line being read: the first thing wrong with it is kept, and reading goes on without harm.
class Reader {
  public:
    explicit Reader(Arguments arguments) : arguments_{std::move(arguments)} {}

    void refuse(std::string text) {
        if (!failure_)
            failure_ = Failure{Exit::usage, std::move(text)};
    }

    // How the verb is written, for all mistakes of its form.
    void refuse_form() { refuse("write: shmbloomctl " + std::string{find_verb(arguments_.verb)->synopsis}); }

    template <class Parse>
    auto number(const char *option, Parse parse, const char *allowed) -> decltype(parse("")) {
        const auto text = arguments_.value(option);
        if (!text)
            return std::nullopt;
        const auto value = parse(*text);
        if (!value)
            refuse("--" + std::string{option} + " '" + *text + "' is not possible; write " + allowed);
        return value;
    }

    template <class Parse>
    auto required_number(const char *option, Parse parse, const char *allowed) {
        if (!arguments_.value(option))
            refuse("--" + std::string{option} + " is missing; write " + allowed);
        return number(option, parse, allowed);
    }

    // A list of words, separated by commas, each one of `allowed`, which is separated by blanks.
    std::optional<std::string> words_of(const char *option, std::string_view allowed) {
        const auto text = arguments_.value(option);
        split_commas(text.value_or(""), [&](std::string_view word) {
            if ((" " + std::string{allowed} + " ").find(" " + std::string{word} + " ") == std::string::npos)
                refuse("--" + std::string{option} + " '" + std::string{word} +
                       "' is unknown; one of: " + std::string{allowed});
        });
        return text;
    }
    std::optional<std::string> word_of(const char *option, std::string_view allowed) {
        const auto text = arguments_.value(option);
        if (text && (text->empty() || text->find(',') != std::string::npos))
            refuse("--" + std::string{option} + " takes one of: " + std::string{allowed});
        return words_of(option, allowed);
    }

    // The next word that is no option, "" if there is none; with `required` that is a mistake.
    std::string next_word(bool required) {
        auto &words = arguments_.words;
        if (words.empty()) {
            if (required)
                refuse_form();
            return "";
        }
        std::string word = std::move(words.front());
        words.erase(words.begin());
        return word;
    }

    std::string next_name() {
        std::string name = next_word(true);
        if (!is_filter_name(name))
            refuse("'" + name + "' is not a filter's name: 1 to 64 of A-Z a-z 0-9 . _ : -");
        return name;
    }

    void expect_no_more_words() {
        if (!arguments_.words.empty() || arguments_.after_dashes)
            refuse_form();
    }

    // A filter's name, or --all: then "".
    std::string next_name_or_all() {
        if (!arguments_.has("all"))
            return next_name();
        if (!arguments_.words.empty())
            refuse("a name or --all, not both");
        return "";
    }

    Arguments &arguments() { return arguments_; }
    Outcome take_failure() { return std::move(failure_); }

    static bool is_filter_name(std::string_view name) {
        constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-";
        return !name.empty() && name.size() <= SHMBLOOM_NAME_BYTES &&
               name.find_first_not_of(kAllowed) == std::string_view::npos;
    }

  private:
    Arguments arguments_;
    Outcome failure_;
};

inline constexpr const char *kCountForms = "a whole number of at most 2^64 - 1, such as 100000000, 100_000_000, 1e8 or 100M";
inline constexpr const char *kRateForms = "a rate between 0 and 1, such as 0.01 or 1%";
inline constexpr const char *kDurationForms = "a duration such as 90s, 15m, 1h or 2d";

// operator_options.cpp
LiveOptions read_live(Reader &reader);
PauseOptions read_pause(Reader &reader);
ResumeOptions read_resume(Reader &reader);
ForgetReadersOptions read_forget_readers(Reader &reader);
SnapshotOptions read_snapshot(Reader &reader);
UndropOptions read_undrop(Reader &reader);
WaitOptions read_wait(Reader &reader);
VerifyOptions read_verify(Reader &reader);
ExplainOptions read_explain(Reader &reader);
SelfTestOptions read_self_test(Reader &reader);
PlanOptions read_plan(Reader &reader);

// rebuild_options.cpp
RebuildOptions read_rebuild(Reader &reader);
RollbackOptions read_rollback(Reader &reader);

// The source of load, rebuild and verify: exactly one.
void read_source(Reader &reader, SourceOptions &options);

} // namespace shmbloom::ctl
