// snapshot: a copy of a filter's bits on the disk; ends when the registry durably names it.
#include <string>

#include "client.h"
#include "instance_state.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

// Snapshots wait for each other, and a slow disk for each: as long as it takes.
constexpr std::chrono::hours kSnapshotTimeout{24};
constexpr std::chrono::seconds kInfoTimeout{60};

void note_taken(const Reply &info, Json &taken) {
    const FilterSnapshots snapshots = read_snapshots(info);
    if (!snapshots.last_number)
        return; // dropped meanwhile
    taken.push_back({{"name", info.field("name")},
                     {"number", *snapshots.last_number},
                     {"bytes", snapshots.last_bytes.value_or(0)}});
    print("snapshot " + std::to_string(*snapshots.last_number) + " of " + info.field("name") + ", " +
          format_bytes(snapshots.last_bytes.value_or(0)) + "\n");
}

Outcome take_all(Client &client, const std::string &name, Json &taken) {
    auto reply = client.call({"SB.SNAPSHOT", name.empty() ? "*" : name}, kSnapshotTimeout);
    if (const Failure *failure = failure_of(reply))
        return *failure;
    auto infos = name.empty() ? client.call({"SB.INFO"}, kInfoTimeout) : client.call({"SB.INFO", name}, kInfoTimeout);
    if (failure_of(infos) != nullptr)
        return {}; // it was taken: that it was dropped meanwhile is no failure
    if (!name.empty())
        note_taken(std::get<Reply>(infos), taken);
    else
        for (const Reply &info : std::get<Reply>(infos).elements)
            note_taken(info, taken);
    return {};
}

} // namespace

int run(const Where &where, const SnapshotOptions &options) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);
    Json taken = Json::array();
    const Outcome failure = take_all(std::get<Client>(client), options.name, taken);
    return conclude({{"snapshots", taken}}, failure);
}

} // namespace shmbloom::ctl
