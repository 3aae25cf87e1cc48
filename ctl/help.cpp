#include "help.h"

#include <array>

#include "output.h"
#include "shmbloom/shmbloom.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::array kVerbs{
    VerbHelp{"create", "create NAME --capacity N --fpr P [--layout auto|classic|blocked] [--normalize trim,lower] "
                       "[--key-type bytes|u64] [--nothing-exists-yet]",
             "make a filter for N keys at rate P of false positives",
             "The new filter answers unverified until a source is loaded. With --nothing-exists-yet\n"
             "it is live at once: it answers ABSENT to everything from the first second.\n"
             "N: 100M, 1e8 or 100_000_000. P: 0.001 or 0.1%.\n"
             "trim and lower change every key alike, when it is added and when it is asked for.\n",
             "shmbloomctl create links --capacity 400M --fpr 0.1%"},
    VerbHelp{"drop", "drop NAME [--yes]", "end a filter; its workers then answer unverified",
             "Asks on a terminal; elsewhere it needs --yes.\n", "shmbloomctl drop links --yes"},
    VerbHelp{"load", "load NAME (FILE | - | --exec -- CMD...) [-0] [--expect-at-least N] [--overlap D] [--keep-blanks]",
             "bring the IDs of a source, one a line, and make the filter live",
             "--exec  runs CMD and counts only if it exits with 0: the form for every database\n"
             "FILE    counts when it was read whole\n"
             "-       cannot tell a source that ended from one that died, so it only counts with\n"
             "        --expect-at-least N\n"
             "-0      keys end with a NUL byte instead of a line feed\n"
             "--overlap D     a filter that lost adds goes live only by a load that begins at least\n"
             "                D (default 1h) after it lost them\n"
             "--keep-blanks   take carriage returns and outer blanks as parts of keys\n"
             "Zero lines never make a filter live. Empty lines are skipped.\n",
             "shmbloomctl load links --exec -- psql -qAtc 'copy (select code from links) to stdout'"},
    VerbHelp{"status", "status [NAME] [--json]", "show daemon and filters, worst first; also without a daemon",
             "Exit: 0 live, 1 something is not live, 4 daemon not running (only without NAME),\n"
             "5 no such filter.\n",
             "shmbloomctl status links --json"},
    VerbHelp{"contains", "contains NAME KEY... | contains NAME -", "look keys up, as a worker does",
             "Prints KEY<TAB>absent, maybe or unverified. With - keys are read from stdin, one a line.\n"
             "Exit: 2 if any is unverified, else 1 if any is absent, else 0.\n",
             "shmbloomctl contains links abc123"},
    VerbHelp{"add", "add NAME KEY... | add NAME -", "add keys",
             "Prints KEY<TAB>absent (it is new), maybe or unverified once the daemon has\n"
             "acknowledged it, else KEY<TAB>not added: why.\n"
             "Exit: 0 if all were added, else the code of the first failure.\n",
             "shmbloomctl add links abc123"},
    VerbHelp{"help", "help [VERB]", "show this, or more about one verb", "", "shmbloomctl help load"},
};

constexpr std::string_view kCommon =
    "Before or after the verb: --instance I, --runtime-dir D (default: as the library\n"
    "finds them), --help, --version. Options end at --.\n";
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
    for (const VerbHelp &verb : kVerbs)
        if (verb.name == name)
            return &verb;
    return nullptr;
}

std::string verb_list() {
    std::string list;
    for (const VerbHelp &verb : kVerbs)
        list += (list.empty() ? "" : ", ") + std::string{verb.name};
    return list;
}

std::string help_text(std::string_view verb) {
    if (const VerbHelp *one = find_verb(verb))
        return text_of(*one);
    std::string text = "shmbloomctl: Bloom filters that shmbloomd keeps in shared memory\n\n";
    for (const VerbHelp &each : kVerbs) {
        std::string name{each.name};
        name.resize(10, ' ');
        text += "  " + name + std::string{each.what} + "\n";
    }
    return text + "\n" + std::string{kCommon} + "\n" + std::string{kExits};
}

int run(const Where &, const HelpOptions &options) {
    print(help_text(options.verb));
    return static_cast<int>(Exit::done);
}

int run(const Where &, const VersionOptions &) {
    print("shmbloomctl " + std::string{shmbloom_version()} + "\n");
    return static_cast<int>(Exit::done);
}

} // namespace shmbloom::ctl
