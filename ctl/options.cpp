#include "options.h"

#include <string_view>

#include "arguments.h"
#include "help.h"
#include "numbers.h"
#include "shmbloom/layout.h"
#include "text.h"

namespace shmbloom::ctl {

namespace {

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

    template <class Parse> auto number(const char *option, Parse parse, const char *allowed) -> decltype(parse("")) {
        const auto text = arguments_.value(option);
        if (!text)
            return std::nullopt;
        const auto value = parse(*text);
        if (!value)
            refuse("--" + std::string{option} + " '" + *text + "' is not understood; write " + allowed);
        return value;
    }

    template <class Parse> auto required_number(const char *option, Parse parse, const char *allowed) {
        if (!arguments_.value(option))
            refuse("--" + std::string{option} + " is missing; write " + allowed);
        return number(option, parse, allowed);
    }

    // A list of words, separated by commas, each one of `allowed`, which is separated by blanks.
    std::optional<std::string> words_of(const char *option, std::string_view allowed) {
        const auto text = arguments_.value(option);
        split_commas(text.value_or(""), [&](std::string_view word) {
            if ((" " + std::string{allowed} + " ").find(" " + std::string{word} + " ") == std::string::npos)
                refuse("--" + std::string{option} + " '" + std::string{word} + "' is unknown; one of: " +
                       std::string{allowed});
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

constexpr const char *kCountForms = "a whole number such as 100000000, 100_000_000, 1e8 or 100M";
constexpr const char *kRateForms = "a rate between 0 and 1, such as 0.01 or 1%";
constexpr const char *kDurationForms = "a duration such as 90s, 15m, 1h or 2d";

CreateOptions read_create(Reader &reader) {
    CreateOptions options;
    options.name = reader.next_name();
    options.capacity = reader.required_number("capacity", parse_count, kCountForms).value_or(0);
    options.fpr = reader.required_number("fpr", parse_rate, kRateForms).value_or(0);
    options.layout = reader.word_of("layout", "auto classic blocked");
    options.normalize = reader.words_of("normalize", "trim lower");
    options.key_type = reader.word_of("key-type", "bytes u64");
    options.nothing_exists_yet = reader.arguments().has("nothing-exists-yet");
    reader.expect_no_more_words();
    return options;
}

DropOptions read_drop(Reader &reader) {
    DropOptions options{reader.next_name(), reader.arguments().has("yes")};
    reader.expect_no_more_words();
    return options;
}

// Exactly one source: FILE, "-", or --exec with what stands behind "--".
void read_source(Reader &reader, LoadOptions &options) {
    Arguments &arguments = reader.arguments();
    if (arguments.has("exec")) {
        options.command = arguments.after_dashes.value_or(std::vector<std::string>{});
        if (!arguments.words.empty() || options.command.empty())
            reader.refuse("--exec wants its command behind --: shmbloomctl load " + options.name + " --exec -- CMD...");
        return;
    }
    for (std::string &word : arguments.after_dashes.value_or(std::vector<std::string>{}))
        arguments.words.push_back(word == "-" ? "./-" : word); // behind "--" it is a file of that name
    arguments.after_dashes.reset();
    options.file = reader.next_word(false);
    if (options.file.empty())
        reader.refuse("no source; FILE, - (stdin) or --exec -- CMD... is required");
    reader.expect_no_more_words();
}

LoadOptions read_load(Reader &reader) {
    LoadOptions options;
    options.name = reader.next_name();
    options.nul_separated = reader.arguments().has("null");
    options.keep_blanks = reader.arguments().has("keep-blanks");
    options.expect_at_least = reader.number("expect-at-least", parse_count, kCountForms);
    options.overlap_s = reader.number("overlap", parse_duration_s, kDurationForms);
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

template <class Options> Options read_keys(Reader &reader) {
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

HelpOptions read_help(Reader &reader) {
    HelpOptions options{reader.next_word(false)};
    if (!options.verb.empty() && find_verb(options.verb) == nullptr)
        reader.refuse("unknown verb '" + options.verb + "'; one of: " + verb_list());
    reader.expect_no_more_words();
    return options;
}

decltype(Command::verb) read_verb(Reader &reader) {
    const std::string verb = reader.arguments().verb;
    if (reader.arguments().has("help"))
        return HelpOptions{verb};
    if (reader.arguments().has("version"))
        return VersionOptions{};
    if (verb == "create")
        return read_create(reader);
    if (verb == "drop")
        return read_drop(reader);
    if (verb == "load")
        return read_load(reader);
    if (verb == "status")
        return read_status(reader);
    if (verb == "contains")
        return read_keys<ContainsOptions>(reader);
    if (verb == "add")
        return read_keys<AddOptions>(reader);
    return read_help(reader);
}

} // namespace

Result<Command> parse_command(const std::vector<std::string> &line) {
    auto arguments = parse_arguments(line);
    if (const Failure *failure = failure_of(arguments))
        return *failure;
    Reader reader{take(std::move(arguments))};
    Command command;
    command.where = {reader.arguments().value("instance"), reader.arguments().value("runtime-dir")};
    command.verb = read_verb(reader);
    if (auto failure = reader.take_failure())
        return *failure;
    return command;
}

} // namespace shmbloom::ctl
