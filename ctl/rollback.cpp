// rollback: back to the generation before the last switch, with every add since.
#include <cstdio>
#include <string>

#include "client.h"
#include "confirm.h"
#include "feed.h"
#include "hints.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "progress.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

// The snapshot of then is read, the adds since are replayed, and a new snapshot is written.
constexpr std::chrono::hours kRollbackTimeout{24};

std::string consequence_of(const RollbackOptions &options) {
    return "This takes '" + options.name + "' back to the generation before the last switch, with every add since" +
           (options.unite ? " and the keys it has now."
                          : ". Keys that only the source of the last rebuild brought are then answered absent.");
}

} // namespace

int run(const Where &where, const RollbackOptions &options) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);
    if (is_terminal(stdin))
        if (auto failure = confirm_name(options.name, consequence_of(options)))
            return conclude({{"name", options.name}}, failure);
    std::vector<std::string_view> command{"SB.ROLLBACK", options.name};
    if (options.unite)
        command.push_back("UNION");
    Result<Reply> reply;
    {
        const Waiting waiting{"building the generation of before"};
        reply = std::get<Client>(client).call(command, kRollbackTimeout);
    }
    const Failure *failure = failure_of(reply);
    const Reply info = failure == nullptr ? std::get<Reply>(reply) : Reply{};
    const auto keys = parse_count(info.field("estimated_keys"));
    const Json fields{{"name", options.name},
                      {"generation", json_word(info.field("generation").c_str())},
                      {"lineage", json_word(info.field("lineage").c_str())},
                      {"live", info.field("live") == "1"},
                      {"doubts", json_words(info.field("doubts"))},
                      {"estimated_keys", json_count(info.field("estimated_keys"))}};
    if (failure != nullptr)
        return conclude(fields, *failure);
    print("rolled back: " + options.name + " is now generation " + info.field("generation") + ", about " +
          format_count(keys.value_or(0)) + " keys" + (info.field("live") == "1" ? ", live\n" : "\n"));
    if (info.field("live") != "1")
        print_doubts(where, options.name, info.field("doubts"));
    if (info.field("hash_list") == "incomplete")
        print("it cannot grow any more, as nobody has the hashes of both: " +
              command_line(where, "rebuild " + options.name + " --exec -- CMD...") + " ends that\n");
    return conclude(fields, {});
}

} // namespace shmbloom::ctl
