#include "options.h"

#include "reader.h"

namespace shmbloom::ctl {

namespace {

constexpr const char *kExpansionForms = "a whole number from 2 to 32768: how many times as large it becomes";

CreateOptions read_create(Reader &reader) {
    CreateOptions options;
    options.name = reader.next_name();
    options.capacity = reader.required_number("capacity", parse_count, kCountForms).value_or(0);
    options.fpr = reader.required_number("fpr", parse_rate, kRateForms).value_or(0);
    options.layout = reader.word_of("layout", "auto classic blocked");
    options.normalize = reader.words_of("normalize", "trim lower");
    options.key_type = reader.word_of("key-type", "bytes u64");
    options.durability = reader.word_of("durability", "durable logged memory");
    options.nothing_exists_yet = reader.arguments().has("nothing-exists-yet");
    options.expansion = reader.number("expansion", parse_count, kExpansionForms);
    options.growable = reader.arguments().has("growable") || options.expansion.has_value();
    options.when_full = reader.word_of("when-full", "warn refuse");
    if (options.expansion && (*options.expansion < 2 || *options.expansion > 32768))
        reader.refuse("--expansion '" + std::to_string(*options.expansion) + "' is not possible; write " +
                      kExpansionForms);
    if (options.growable && options.when_full)
        reader.refuse("--when-full is for filters that do not grow; a growable one never comes to it");
    reader.expect_no_more_words();
    return options;
}

DropOptions read_drop(Reader &reader) {
    DropOptions options{reader.next_name(), reader.arguments().has("yes")};
    reader.expect_no_more_words();
    return options;
}

LoadOptions read_load(Reader &reader) {
    LoadOptions options;
    options.overlap_s = reader.number("overlap", parse_duration_s, kDurationForms);
    const bool all = reader.arguments().has("all"), doubted = reader.arguments().has("all-doubted");
    options.which = all       ? LoadOptions::Which::all
                    : doubted ? LoadOptions::Which::doubted
                              : LoadOptions::Which::one;
    if (all && doubted)
        reader.refuse("--all or --all-doubted, not both");
    if ((all || doubted) && (!reader.arguments().words.empty() || !reader.arguments().has("exec")))
        reader.refuse("of several filters each is loaded by a command of its own: load --all-doubted --exec -- CMD..., "
                      "which finds the filter's name in $SHMBLOOM_FILTER");
    read_source(reader, options);
    return options;
}

StatusOptions read_status(Reader &reader) {
    StatusOptions options;
    if (!reader.arguments().words.empty())
        options.name = reader.next_name();
    options.json = reader.arguments().has("json");
    reader.expect_no_more_words();
    return options;
}

template <class Options>
Options read_keys(Reader &reader) {
    Options options;
    options.name = reader.next_name();
    Arguments &arguments = reader.arguments();
    options.keys = arguments.words;
    options.from_stdin = options.keys.size() == 1 && options.keys.front() == "-" && !arguments.after_dashes;
    for (const std::string &key : options.keys)
        if (key == "-" && !options.from_stdin)
            reader.refuse("- (keys from stdin) stands alone; the key '-' goes behind --");
    if (options.from_stdin)
        options.keys.clear();
    if (arguments.after_dashes)
        options.keys.insert(options.keys.end(), arguments.after_dashes->begin(), arguments.after_dashes->end());
    if (options.keys.empty() && !options.from_stdin)
        reader.refuse_form();
    return options;
}

template <class Options>
Options read_with_file(Reader &reader) {
    Options options;
    options.name = reader.next_name();
    if (auto &behind = reader.arguments().after_dashes) {
        reader.arguments().words.insert(reader.arguments().words.end(), behind->begin(), behind->end());
        behind.reset();
    }
    options.file = reader.next_word(true);
    reader.expect_no_more_words();
    return options;
}

HelpOptions read_help(Reader &reader) {
    HelpOptions options{reader.next_word(false)};
    if (!options.verb.empty() && find_verb(options.verb) == nullptr)
        reader.refuse("unknown verb '" + options.verb + "'; one of: " + verb_list());
    reader.expect_no_more_words();
    return options;
}

using Verb = decltype(Command::verb);

template <auto read>
Verb read_as(Reader &reader) {
    return read(reader);
}

struct Entry {
    std::string_view verb;
    Verb (*read)(Reader &reader);
};

constexpr Entry kEntries[] = {{"create", read_as<read_create>},
                              {"drop", read_as<read_drop>},
                              {"load", read_as<read_load>},
                              {"rebuild", read_as<read_rebuild>},
                              {"rollback", read_as<read_rollback>},
                              {"status", read_as<read_status>},
                              {"contains", read_as<read_keys<ContainsOptions>>},
                              {"add", read_as<read_keys<AddOptions>>},
                              {"live", read_as<read_live>},
                              {"pause", read_as<read_pause>},
                              {"resume", read_as<read_resume>},
                              {"wait", read_as<read_wait>},
                              {"verify", read_as<read_verify>},
                              {"explain", read_as<read_explain>},
                              {"forget-readers", read_as<read_forget_readers>},
                              {"snapshot", read_as<read_snapshot>},
                              {"undrop", read_as<read_undrop>},
                              {"export", read_as<read_with_file<ExportOptions>>},
                              {"import", read_as<read_with_file<ImportOptions>>},
                              {"self-test", read_as<read_self_test>},
                              {"plan", read_as<read_plan>}};

Verb read_verb(Reader &reader) {
    const std::string verb = reader.arguments().verb;
    if (reader.arguments().has("help"))
        return HelpOptions{verb};
    if (reader.arguments().has("version"))
        return VersionOptions{};
    for (const Entry &entry : kEntries)
        if (entry.verb == verb)
            return entry.read(reader);
    return read_help(reader);
}

} // namespace

Result<Command> parse_command(const std::vector<std::string> &line) {
    auto arguments = parse_arguments(line);
    if (const Failure *failure = failure_of(arguments))
        return *failure;
    Reader reader{take(std::move(arguments))};
    Command command;
    command.where = {reader.arguments().value("instance"), reader.arguments().value("runtime-dir"),
                     reader.arguments().value("state-dir")};
    command.json = reader.arguments().has("json");
    command.verb = read_verb(reader);
    if (auto failure = reader.take_failure())
        return *failure;
    return command;
}

} // namespace shmbloom::ctl
