// pause: the off switch. The gates first, by hand; then the daemon, or what stands in for it, so that it is not
// forgotten.
#include <string>

#include "daemon_call.h"
#include "hints.h"
#include "json.h"
#include "output.h"
#include "shared_gates.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr Timeouts kTimeouts{std::chrono::milliseconds{2000}, std::chrono::milliseconds{2000},
                             std::chrono::milliseconds{10000}};

using AllPaused = std::vector<PausedGates>;

// Control tells what there is; when it is gone, the registry does.
Result<AllPaused> set_gates(const Place &place, const std::string &name) {
    Result<AllPaused> by_control = place.no_control;
    if (place.has_control)
        by_control = pause_by_control(place.runtime_dir, name);
    if (failure_of(by_control) == nullptr || !place.registry)
        return by_control;
    auto by_registry = pause_by_registry(*place.registry, name);
    return failure_of(by_registry) == nullptr ? by_registry : by_control;
}

bool all_set(const Result<AllPaused> &gates) {
    const auto *all = std::get_if<AllPaused>(&gates);
    bool set = all != nullptr;
    for (std::size_t i = 0; set && i < all->size(); i++)
        set = (*all)[i].any();
    return set;
}

const char *noted_by(const Told &told) {
    switch (told.failure ? Told::By::nobody : told.by) {
    case Told::By::daemon:
        return "daemon";
    case Told::By::once:
        return "once";
    case Told::By::nobody:
        break;
    }
    return "";
}

Json fields_of(const Result<AllPaused> &gates, const Told &told, bool paused) {
    Json fields{{"paused", paused}, {"noted_by", json_word(noted_by(told))}, {"filters", Json::array()}};
    if (const auto *all = std::get_if<AllPaused>(&gates))
        for (const PausedGates &each : *all)
            fields["filters"].push_back({{"name", each.name},
                                         {"control_gate", each.control},
                                         {"segment_gate", each.segment},
                                         {"why_not", json_word(each.why_not.c_str())}});
    return fields;
}

void show(const Where &where, const PauseOptions &options, const Result<AllPaused> &gates) {
    const auto *all = std::get_if<AllPaused>(&gates);
    if (options.name.empty() && all != nullptr)
        for (const PausedGates &each : *all)
            print("paused " + each.name + "\n");
    else if (!options.name.empty())
        print("paused " + options.name + "\n");
    if (options.name.empty() && (all == nullptr || all->empty()))
        print(all == nullptr ? "paused every filter\n" : "there is no filter to pause\n");
    print("every worker answers unverified from its next lookup on; adds are not touched\nended by: " +
          command_line(where, "resume " + (options.name.empty() ? "--all" : options.name)) + "\n");
}

// The bits stand in memory and nowhere else.
void warn(const Told &told) {
    note("paused in memory only, which a restart of the machine forgets: " + told.failure->text +
         (told.hung ? "; it will note the pause when it goes on" : "; the daemon's next start will note the pause"));
}

} // namespace

int run(const Where &where, const PauseOptions &options) {
    const Place place = find_place(where);
    const auto gates = set_gates(place, options.name);
    const bool all = options.name.empty();
    std::vector<std::string> command{"SB.PAUSE", all ? "*" : options.name}, once{"pause", all ? "*" : options.name};
    if (!options.reason.empty()) {
        command.push_back(options.reason);
        once.push_back(options.reason);
    }
    const Told told = tell(place, command, once, kTimeouts);
    const bool paused = all_set(gates) || !told.failure;
    if (!paused) {
        // Nothing stands. Without permission for the gates the daemon's own words say more.
        const Failure *failure = failure_of(gates);
        const bool gates_say_more = failure != nullptr && told.by != Told::By::daemon;
        return conclude(fields_of(gates, told, false), gates_say_more ? *failure : *told.failure);
    }
    show(where, options, gates);
    if (told.failure)
        warn(told);
    return conclude(fields_of(gates, told, true), {});
}

} // namespace shmbloom::ctl
