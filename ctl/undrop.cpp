// undrop: brings a dropped filter back, or lists what is kept.
#include <string>

#include "client.h"
#include "hints.h"
#include "instance_state.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "status.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

// It may wait for the last snapshot to be written, and reads it.
constexpr std::chrono::hours kUndropTimeout{24};
constexpr std::chrono::seconds kListTimeout{60};

int list(Client &client) {
    auto reply = client.call({"SB.UNDROP"}, kListTimeout);
    if (const Failure *failure = failure_of(reply))
        return fail(*failure);
    Json kept = Json::array();
    const std::uint64_t now = unix_now_s();
    for (const Reply &each : std::get<Reply>(reply).elements) {
        Json fields{{"name", each.field("name")}, {"uuid", each.field("uuid")}};
        for (const char *name : {"dropped", "capacity", "adds_acknowledged", "last_snapshot", "last_snapshot_bytes"})
            fields[name] = json_count(each.field(name));
        kept.push_back(fields);
        const std::uint64_t dropped = parse_count(each.field("dropped")).value_or(now);
        print(each.field("name") + ", dropped " + format_age((now - std::min(now, dropped)) * 1000) + " ago, " +
              (each.field("last_snapshot").empty()
                   ? "without a snapshot: it cannot be brought back\n"
                   : format_bytes(parse_count(each.field("last_snapshot_bytes")).value_or(0)) + "\n"));
    }
    if (kept.empty())
        print("no dropped filter is kept\n");
    return conclude({{"name", Json{}}, {"kept", kept}}, {});
}

} // namespace

int run(const Where &where, const UndropOptions &options) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);
    if (options.name.empty())
        return list(std::get<Client>(client));
    auto reply = std::get<Client>(client).call({"SB.UNDROP", options.name}, kUndropTimeout);
    if (const Failure *failure = failure_of(reply))
        return conclude({{"name", options.name}, {"live", false}, {"doubts", Json::array()}}, *failure);
    const Reply &back = std::get<Reply>(reply);
    print(options.name + " is back, with about " + format_count(parse_count(back.field("estimated_keys")).value_or(0)) +
          " keys; it answers unverified until it is loaded: adds of meanwhile went nowhere\nnext: " +
          load_command(where, options.name) + "\n");
    return conclude(
        {{"name", options.name}, {"live", back.field("live") == "1"}, {"doubts", json_words(back.field("doubts"))}},
        {});
}

} // namespace shmbloom::ctl
