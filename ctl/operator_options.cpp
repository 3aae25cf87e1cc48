// Options of what an operator does to a filter that is there.
#include "json.h"
#include "reader.h"

namespace shmbloom::ctl {

// Exactly one source: FILE, "-", or --exec with what stands behind "--".
void read_source(Reader &reader, SourceOptions &options) {
    Arguments &arguments = reader.arguments();
    const bool several = arguments.has("all") || arguments.has("all-doubted"); // of load
    options.name = several ? "" : reader.next_name();
    options.nul_separated = arguments.has("null");
    options.keep_blanks = arguments.has("keep-blanks");
    options.expect_at_least = reader.number("expect-at-least", parse_count, kCountForms);
    if (options.expect_at_least == 0u)
        reader.refuse("--expect-at-least 0 would believe every source; write how many keys it must bring");
    if (arguments.has("exec")) {
        options.command = arguments.after_dashes.value_or(std::vector<std::string>{});
        if (!arguments.words.empty() || options.command.empty())
            reader.refuse("--exec wants its command behind --: shmbloomctl " + arguments.verb + " " + options.name +
                          " --exec -- CMD...");
        return;
    }
    if (arguments.after_dashes && arguments.words.size() + arguments.after_dashes->size() > 1)
        return reader.refuse("a command is a source only behind --exec --: shmbloomctl " + arguments.verb + " " +
                             options.name + " --exec -- CMD...");
    for (std::string &word : arguments.after_dashes.value_or(std::vector<std::string>{}))
        arguments.words.push_back(word == "-" ? "./-" : word); // behind "--" it is a file of that name
    arguments.after_dashes.reset();
    options.file = reader.next_word(false);
    if (options.file.empty())
        reader.refuse("no source; FILE, - (stdin) or --exec -- CMD... is required");
    reader.expect_no_more_words();
}

LiveOptions read_live(Reader &reader) {
    LiveOptions options;
    options.name = reader.next_name();
    options.expect_at_least = reader.number("expect-at-least", parse_count, kCountForms);
    options.force_incomplete = reader.arguments().has("force-incomplete");
    if (options.expect_at_least.has_value() == options.force_incomplete)
        reader.refuse("live needs one of --expect-at-least N (it holds so many keys) and --force-incomplete (it does "
                      "not matter what is missing)");
    if (options.expect_at_least == 0u)
        reader.refuse("--expect-at-least 0 would believe everything; write how many keys there must be");
    reader.expect_no_more_words();
    return options;
}

PauseOptions read_pause(Reader &reader) {
    PauseOptions options{reader.next_name_or_all(), reader.arguments().value("reason").value_or("")};
    if (options.reason.size() > 200 || options.reason.find_first_of("\r\n") != std::string::npos ||
        !is_utf8(options.reason))
        reader.refuse("--reason is one line of at most 200 bytes, in UTF-8");
    reader.expect_no_more_words();
    return options;
}

ResumeOptions read_resume(Reader &reader) {
    ResumeOptions options{reader.next_name_or_all()};
    reader.expect_no_more_words();
    return options;
}

ForgetReadersOptions read_forget_readers(Reader &reader) {
    ForgetReadersOptions options{reader.next_name_or_all()};
    reader.expect_no_more_words();
    return options;
}

SnapshotOptions read_snapshot(Reader &reader) {
    SnapshotOptions options{reader.next_name_or_all()};
    reader.expect_no_more_words();
    return options;
}

UndropOptions read_undrop(Reader &reader) {
    UndropOptions options;
    if (!reader.arguments().words.empty())
        options.name = reader.next_name();
    reader.expect_no_more_words();
    return options;
}

WaitOptions read_wait(Reader &reader) {
    WaitOptions options{reader.next_name(), reader.number("timeout", parse_duration_s, kDurationForms)};
    reader.expect_no_more_words();
    return options;
}

VerifyOptions read_verify(Reader &reader) {
    VerifyOptions options;
    options.repair = reader.arguments().has("repair");
    read_source(reader, options);
    return options;
}

ExplainOptions read_explain(Reader &reader) {
    ExplainOptions options;
    options.name = reader.next_name();
    std::vector<std::string> keys = reader.arguments().words;
    for (std::string &key : reader.arguments().after_dashes.value_or(std::vector<std::string>{}))
        keys.push_back(std::move(key));
    if (keys.size() == 1)
        options.key = keys.front();
    else
        reader.refuse_form();
    return options;
}

SelfTestOptions read_self_test(Reader &reader) {
    reader.expect_no_more_words();
    return {};
}

PlanOptions read_plan(Reader &reader) {
    PlanOptions options;
    options.capacity = reader.required_number("capacity", parse_count, kCountForms).value_or(0);
    options.fpr = reader.required_number("fpr", parse_rate, kRateForms).value_or(0);
    options.lookups = reader.number("lookups", parse_count, kCountForms);
    options.machines = reader.number("machines", parse_count, kCountForms).value_or(1);
    options.adds_per_day = reader.number("adds-per-day", parse_count, kCountForms);
    if (options.machines == 0)
        reader.refuse("--machines is at least 1");
    reader.expect_no_more_words();
    return options;
}

} // namespace shmbloom::ctl
