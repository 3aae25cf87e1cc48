#include "help.h"

#include "json.h"
#include "output.h"
#include "shmbloom/shmbloom.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::string_view kCommon =
    "Before or after the verb: --instance I, --runtime-dir D (default: as the library\n"
    "finds them), --state-dir D (default: as shmbloomd finds it; for what is done while it\n"
    "is dead), --json, --help, --version. Options end at --.\n";
constexpr std::string_view kExits =
    "Exit codes: 0 yes or done, 1 a true no (absent, not live), 2 unverified, 3 usage,\n"
    "4 daemon not reachable, 5 no such filter, 6 refused by a guard, nothing changed,\n"
    "7 timeout, 8 source failed, 9 no permission, 10 no space.\n";

std::string text_of(const VerbHelp &verb) {
    std::string text = wrap("shmbloomctl " + std::string{verb.synopsis}, 4) + "\n\n" + std::string{verb.what} + "\n";
    if (!verb.more.empty())
        text += "\n" + std::string{verb.more};
    return text + "\nExample: " + std::string{verb.example} + "\n";
}

} // namespace

const VerbHelp *find_verb(std::string_view name) {
    for (const VerbHelp &verb : all_verbs())
        if (verb.name == name)
            return &verb;
    return nullptr;
}

std::string verb_list() {
    std::string list;
    for (const VerbHelp &verb : all_verbs())
        list += (list.empty() ? "" : ", ") + std::string{verb.name};
    return list;
}

std::string help_text(std::string_view verb) {
    if (const VerbHelp *one = find_verb(verb))
        return text_of(*one);
    std::string text = "shmbloomctl: Bloom filters that shmbloomd keeps in shared memory\n\n";
    for (const VerbHelp &each : all_verbs()) {
        std::string name{each.name};
        name.resize(16, ' ');
        text += "  " + name + std::string{each.what} + "\n";
    }
    return text + "\n" + std::string{kCommon} + "\n" + std::string{kExits};
}

int run(const Where &, const HelpOptions &options) {
    print(help_text(options.verb));
    Json verbs = Json::array();
    for (const VerbHelp &verb : all_verbs())
        if (options.verb.empty() || verb.name == options.verb)
            verbs.push_back(
                {{"verb", verb.name}, {"synopsis", verb.synopsis}, {"what", verb.what}, {"example", verb.example}});
    return conclude({{"verbs", verbs}}, {});
}

int run(const Where &, const VersionOptions &) {
    print("shmbloomctl " + std::string{shmbloom_version()} + "\n");
    return static_cast<int>(Exit::done);
}

} // namespace shmbloom::ctl
