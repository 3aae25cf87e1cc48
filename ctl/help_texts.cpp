// What is said about each verb.
#include <array>

#include "help.h"

namespace shmbloom::ctl {

namespace {

constexpr std::array kVerbs{
    VerbHelp{"create",
             "create NAME --capacity N --fpr P [--layout auto|classic|blocked] [--normalize trim,lower] "
             "[--key-type bytes|u64] [--durability durable|logged|memory] [--growable [--expansion N] | "
             "--when-full warn|refuse] [--nothing-exists-yet]",
             "make a filter for N keys at rate P of false positives",
             "The new filter answers unverified until a source is loaded. With --nothing-exists-yet\n"
             "it is live at once: it answers ABSENT to everything from the first second.\n"
             "N: 100M, 1e8 or 100_000_000. P: 0.001 or 0.1%.\n"
             "trim and lower change every key alike, when it is added and when it is asked for.\n"
             "--durability: what an acknowledged add outlives. durable (default): a power loss;\n"
             "logged: that too, but for the last second; memory: the daemon only.\n"
             "--growable: becomes --expansion (2) times as large by itself before it is full; costs\n"
             "8 bytes of disk a key. --when-full: what one that does not grow does with adds above N:\n"
             "warn (default) takes them, and its rate gets worse; refuse turns them away.\n",
             "shmbloomctl create links --capacity 400M --fpr 0.1%"},
    VerbHelp{"drop", "drop NAME [--yes]", "end a filter; its workers then answer unverified",
             "Asks on a terminal; elsewhere it needs --yes.\n", "shmbloomctl drop links --yes"},
    VerbHelp{"load", "load NAME (FILE | - | --exec -- CMD...) [-0] [--expect-at-least N] [--overlap D] [--keep-blanks] | load (--all-doubted | --all) --exec -- CMD...",
             "bring the IDs of a source, one a line, and make the filter live",
             "--exec  runs CMD and counts only if it exits with 0: the form for every database\n"
             "FILE    counts when it was read whole\n"
             "-       cannot tell a source that ended from one that died, so it only counts with\n"
             "        --expect-at-least N\n"
             "-0      keys end with a NUL byte instead of a line feed\n"
             "--overlap D     a filter that lost adds goes live only by a load that begins at least\n"
             "                D (default 1h) after it lost them\n"
             "--keep-blanks   take carriage returns and outer blanks as parts of keys\n"
             "--all-doubted   CMD once for each filter with a doubt that a load ends, --all for each:\n"
             "                SHMBLOOM_FILTER, SHMBLOOM_DOUBTS and SHMBLOOM_SINCE are set for it. Exit: the\n"
             "                highest code of any\n"
             "Zero lines never make a filter live. Empty lines are skipped.\n",
             "shmbloomctl load links --exec -- psql -qAtc 'copy (select code from links) to stdout'"},
    VerbHelp{"rebuild",
             "rebuild NAME (FILE | - | --snapshot FILE | --exec -- CMD...) [--capacity N] [--fpr P] [--layout L] "
             "[--since LSN|D] [--overlap D] [--expect-at-least N] [--allow-shrink PERCENT] [--must-contain FILE] "
             "[--dry-run] [-0] [--keep-blanks] | rebuild NAME --capacity N",
             "replace a filter's keys by those of a source, while it serves",
             "A new generation is built beside the present one and switched to when all is well:\n"
             "deleted IDs leave, size and rate may be others. Else nothing changes, exit 6 or 8.\n"
             "--exec, FILE, -  as load. A FILE needs --since; - needs --expect-at-least\n"
             "--snapshot FILE  the file is one that export made, here or on another machine\n"
             "--since          where the source began: the durable LSN that `status` showed before\n"
             "                 the dump, or how long ago (90m, 2d). Default: now. Adds since then go in too\n"
             "--overlap D      and those of D (default 1h) before: the longest time from an add to\n"
             "                 its commit\n"
             "--allow-shrink   how many percent fewer keys it may have than before (10)\n"
             "--must-contain   each key in FILE must be in it\n"
             "--dry-run        all but the switch\n"
             "Without a source, for growable filters only: grow to N now.\n",
             "shmbloomctl rebuild links --exec -- psql -qAtc 'copy (select code from links) to stdout'"},
    VerbHelp{"rollback", "rollback NAME [--union]", "back to the generation before the last switch",
             "With every add since; possible for 7 days, and until the next switch. --union keeps the\n"
             "present keys, too: always safe. Asks for the name on a terminal.\n",
             "shmbloomctl rollback links --union"},
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
    VerbHelp{"live", "live NAME (--expect-at-least N | --force-incomplete)", "declare a filter complete without a load",
             "Shows the filter's doubts and keys first.\n"
             "--expect-at-least N  ends warming if the filter holds about N keys or more\n"
             "--force-incomplete   ends warming, lossy and damaged, whatever is missing: IDs that\n"
             "                     exist may then be answered ABSENT. Asks for the name on a terminal.\n"
             "paused is ended by resume only.\n",
             "shmbloomctl live links --expect-at-least 300M"},
    VerbHelp{"pause", "pause (NAME | --all) [--reason TEXT]", "the off switch: every answer is unverified at once",
             "Works while the daemon is dead or hangs, as root or its user. Adds go on. Outlives\n"
             "restarts; resume ends it.\n",
             "shmbloomctl pause --all --reason 'links of tonight are 404'"},
    VerbHelp{"resume", "resume (NAME | --all)", "end a pause", "Other doubts stay.\n", "shmbloomctl resume links"},
    VerbHelp{"wait", "wait NAME [--timeout D]", "wait until a filter is live",
             "Also for a daemon and a filter that are still to come. Exit: 0 live, 7 not in time.\n",
             "shmbloomctl wait links --timeout 5m"},
    VerbHelp{"verify",
             "verify NAME (FILE | - | --exec -- CMD...) [-0] [--repair] [--expect-at-least N] [--keep-blanks]",
             "look up every ID of a source; none may be absent",
             "Shows the first 20 absent ones and the counts. --repair adds them.\n"
             "Exit: 8 source failed, else 2 if any is unverified, else 1 if any is absent and was\n"
             "not repaired, else 0.\n",
             "shmbloomctl verify links --exec -- psql -qAtc 'copy (select code from links) to stdout'"},
    VerbHelp{"explain", "explain NAME KEY", "show how a key is answered, step by step",
             "Bytes, what is hashed, hash, the words that are probed, both gates, doubts, whether the\n"
             "journal holds it (for whoever may create filters), the answer and what to type next.\n"
             "Exit as contains.\n",
             "shmbloomctl explain links abc123"},
    VerbHelp{"forget-readers", "forget-readers (NAME | --all)", "take adds again that are refused",
             "Only when no worker runs any more that had the filter open before its memory was\n"
             "removed: such a worker would never learn of new adds.\n",
             "shmbloomctl forget-readers links"},
    VerbHelp{"snapshot", "snapshot (NAME | --all)", "copy a filter's bits to the disk now",
             "The daemon does so by itself; this is for before a risk. Ends when it is on the disk.\n"
             "Adds and lookups go on.\n",
             "shmbloomctl snapshot links"},
    VerbHelp{"undrop", "undrop [NAME]", "bring back a filter that was dropped within the last day",
             "With the bits of its last snapshot. It is lossy: adds of meanwhile went nowhere, so it\n"
             "is to be loaded again. Without NAME: what is kept.\n",
             "shmbloomctl undrop links"},
    VerbHelp{"export", "export NAME FILE", "a snapshot as a file, for another machine or for later",
             "As root or the daemon's user, who alone may read the state folder. FILE must not exist.\n",
             "shmbloomctl export links /backup/links.snapshot"},
    VerbHelp{"import", "import NAME FILE", "bring in a file that export made",
             "As root or the daemon's user. Into a filter of the same geometry: its bits come on top.\n"
             "Else a new filter, warming. Both need the seed that the file's keys were hashed with.\n",
             "shmbloomctl import links /backup/links.snapshot"},
    VerbHelp{"self-test", "self-test", "check that this very user can use the daemon",
             "Says which folder or group is wrong. For whoever may create filters it also makes one\n"
             "of its own, adds, looks up from a second process, and drops it.\n",
             "setpriv --reuid www-data --init-groups shmbloomctl self-test"},
    VerbHelp{"plan", "plan --capacity N --fpr P [--lookups L] [--machines M] [--adds-per-day A]",
             "what a filter costs and what it saves; needs no daemon",
             "L: lookups a second on each of M machines (1).\n",
             "shmbloomctl plan --capacity 400M --fpr 0.1% --lookups 150k --machines 40"},
    VerbHelp{"help", "help [VERB]", "show this, or more about one verb", "", "shmbloomctl help load"},
};

} // namespace

std::span<const VerbHelp> all_verbs() {
    return kVerbs;
}

} // namespace shmbloom::ctl
