// export: the daemon takes a snapshot, and the tool copies it: it writes where whoever types this may write, the daemon
// writes nowhere else than ever.
#include <filesystem>
#include <string>
#include <unistd.h>

#include "client.h"
#include "copy_file.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "place.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::hours kSnapshotTimeout{24};
// Two snapshots are kept: the newest is replaced only when two more were taken since it was looked up.
constexpr int kRounds = 3;

Failure no_registry(const Place &place) {
    Failure failure = place.no_registry;
    if (failure.code == Exit::no_permission)
        failure.text = "export copies from the state folder, which only root and the daemon's user (" +
                       std::to_string(place.owner) + ") may read; run it as one of them: " + failure.text;
    return failure;
}

// "" when the registry does not name one.
std::string newest_snapshot(const RegistryView &registry, const std::string &name) {
    for (const RecordedFilter &filter : registry.filters)
        if (filter.name == name && filter.newest_snapshot != 0)
            return registry.state_dir + "/" + filter.uuid + "/" + std::to_string(filter.newest_snapshot) + ".snapshot";
    return "";
}

Outcome export_to(const Where &where, const ExportOptions &options) {
    if (const Place place = find_place(where); !place.registry)
        return no_registry(place); // before a snapshot is taken for nothing
    if (::access(options.file.c_str(), F_OK) == 0)
        return Failure{Exit::refused, "'" + options.file + "' exists, and nothing is overwritten", "EXISTS"};
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return *failure;
    auto taken = std::get<Client>(client).call({"SB.SNAPSHOT", options.name}, kSnapshotTimeout);
    if (const Failure *failure = failure_of(taken))
        return *failure;
    for (int round = 1;; ++round) {
        const Place place = find_place(where);
        if (!place.registry)
            return no_registry(place);
        const std::string path = newest_snapshot(*place.registry, options.name);
        if (path.empty())
            return Failure{Exit::not_found, "filter '" + options.name + "' was dropped meanwhile"};
        auto failure = copy_file(path, options.file);
        if (!failure || round == kRounds || ::access(path.c_str(), F_OK) == 0)
            return failure;
    }
}

} // namespace

int run(const Where &where, const ExportOptions &options) {
    const Outcome failure = export_to(where, options);
    std::error_code unknown;
    const auto bytes = failure ? 0 : std::filesystem::file_size(options.file, unknown);
    if (!failure)
        print("exported " + options.name + " to " + options.file + ", " + format_bytes(bytes) + "\n");
    return conclude(
        {{"name", options.name}, {"file", options.file}, {"bytes", failure ? Json{} : Json(std::uint64_t{bytes})}},
        failure);
}

} // namespace shmbloom::ctl
