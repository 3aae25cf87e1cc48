// The only file that includes Boost.Program_options.
#include "arguments.h"

#include <algorithm>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>

#include "help.h"

namespace shmbloom::ctl {

namespace po = boost::program_options;

namespace {

struct OptionOfVerb {
    const char *name; // "long" or "long,short"
    bool takes_value;
    const char *verbs; // separated by blanks; nullptr: every verb
};

constexpr OptionOfVerb kOptions[] = {
    {"instance", true, nullptr},
    {"runtime-dir", true, nullptr},
    {"state-dir", true, nullptr},
    {"json", false, nullptr},
    {"help,h", false, nullptr},
    {"version", false, nullptr},
    {"capacity", true, "create rebuild plan"},
    {"fpr", true, "create rebuild plan"},
    {"layout", true, "create rebuild"},
    {"normalize", true, "create"},
    {"key-type", true, "create"},
    {"durability", true, "create"},
    {"nothing-exists-yet", false, "create"},
    {"growable", false, "create"},
    {"expansion", true, "create"},
    {"when-full", true, "create"},
    {"yes", false, "drop"},
    {"exec", false, "load rebuild verify"},
    {"null,0", false, "load rebuild verify"},
    {"expect-at-least", true, "load rebuild verify live"},
    {"overlap", true, "load rebuild"},
    {"keep-blanks", false, "load rebuild verify"},
    {"snapshot", true, "rebuild"},
    {"since", true, "rebuild"},
    {"allow-shrink", true, "rebuild"},
    {"must-contain", true, "rebuild"},
    {"dry-run", false, "rebuild"},
    {"union", false, "rollback"},
    {"repair", false, "verify"},
    {"force-incomplete", false, "live"},
    {"all", false, "pause resume forget-readers snapshot load"},
    {"all-doubted", false, "load"},
    {"reason", true, "pause"},
    {"timeout", true, "wait"},
    {"lookups", true, "plan"},
    {"machines", true, "plan"},
    {"adds-per-day", true, "plan"},
};

std::string long_name(const OptionOfVerb &option) {
    const std::string_view name = option.name;
    return std::string{name.substr(0, name.find(','))};
}

bool belongs(const OptionOfVerb &option, std::string_view verb) {
    if (option.verbs == nullptr)
        return true;
    return (" " + std::string{option.verbs} + " ").find(" " + std::string{verb} + " ") != std::string::npos;
}

std::string options_of(std::string_view verb) {
    std::string list;
    for (const OptionOfVerb &option : kOptions)
        if (belongs(option, verb))
            list += (list.empty() ? "--" : ", --") + long_name(option);
    return list;
}

po::options_description describe() {
    po::options_description description;
    for (const OptionOfVerb &option : kOptions)
        if (option.takes_value)
            description.add_options()(option.name, po::value<std::string>());
        else
            description.add_options()(option.name, "");
    description.add_options()("word", po::value<std::vector<std::string>>());
    return description;
}

Failure usage(std::string text) {
    return {Exit::usage, std::move(text)};
}

// The verb is the first word; guessed only for an error text, when the line as a whole cannot be parsed.
std::string guess_verb(const std::vector<std::string> &line) {
    for (const std::string &word : line)
        if (find_verb(word) != nullptr)
            return word;
    return "";
}

// Boost's positional words and options, in the order of the line.
Outcome sort_in(const std::vector<po::option> &parsed, Arguments &arguments) {
    for (const po::option &option : parsed) {
        if (option.position_key >= 0) {
            arguments.words.push_back(option.value.front());
            continue;
        }
        const bool is_new = option.value.empty()
                                ? arguments.flags.insert(option.string_key).second
                                : arguments.values.emplace(option.string_key, option.value.front()).second;
        if (!is_new)
            return usage("--" + option.string_key + " is given twice");
    }
    return {};
}

Outcome check_verb(Arguments &arguments) {
    if (arguments.words.empty()) {
        if (arguments.has("help") || arguments.has("version"))
            return {};
        return usage("no verb; one of: " + verb_list() + "; --help shows more");
    }
    arguments.verb = arguments.words.front();
    arguments.words.erase(arguments.words.begin());
    if (find_verb(arguments.verb) == nullptr)
        return usage("unknown verb '" + arguments.verb + "'; one of: " + verb_list());
    for (const OptionOfVerb &option : kOptions) {
        const std::string name = long_name(option);
        if (!belongs(option, arguments.verb) && (arguments.has(name) || arguments.values.contains(name)))
            return usage("'" + arguments.verb + "' has no option --" + name + "; it has " + options_of(arguments.verb));
    }
    return {};
}

} // namespace

std::optional<std::string> Arguments::value(const std::string &name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional{found->second};
}

Result<Arguments> parse_arguments(const std::vector<std::string> &line) {
    Arguments arguments;
    // Cut at the first "--" by hand: what follows is keys or a command with dashes of its own, none of Boost's
    // business.
    const auto dashes = std::find(line.begin(), line.end(), "--");
    if (dashes != line.end())
        arguments.after_dashes.emplace(dashes + 1, line.end());
    const std::vector<std::string> before(line.begin(), dashes);

    namespace style = po::command_line_style;
    const int no_guessing = style::unix_style & ~style::allow_guessing; // "--y" must not mean --yes
    po::positional_options_description positional;
    positional.add("word", -1);
    try {
        const po::options_description description = describe();
        const auto parsed =
            po::command_line_parser(before).options(description).positional(positional).style(no_guessing).run();
        if (auto failure = sort_in(parsed.options, arguments))
            return *failure;
    } catch (const po::error &error) {
        // Boost's own words name the option; which ones there are is more help than its grammar.
        const std::string verb = guess_verb(before);
        return usage(std::string{error.what()} + "; allowed: " + options_of(verb) +
                     (verb == "contains" || verb == "add" || verb == "explain"
                          ? "; a key that begins with '-' goes behind --"
                      : verb == "load" || verb == "rebuild" || verb == "verify" ? "; a command goes behind --exec --"
                                                           : ""));
    }
    if (auto failure = check_verb(arguments))
        return *failure;
    return arguments;
}

} // namespace shmbloom::ctl
