// drop: ends a filter, after making sure that it is the one that was meant.
#include <cstdio>
#include <string>

#include "client.h"
#include "confirm.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::seconds kDropTimeout{60};

Outcome ask(const Where &where, const std::string &name) {
    auto opened = open_filter(where, name);
    if (const Failure *failure = failure_of(opened); failure != nullptr && failure->code == Exit::not_found)
        return *failure;
    std::string keys;
    if (const Filter *f = std::get_if<Filter>(&opened)) {
        const shmbloom_info info = get_info(f->get());
        if (info.estimated_keys != SHMBLOOM_UNKNOWN)
            keys = " with about " + format_count(info.estimated_keys) + " keys";
    }
    return confirm_name(name, "This ends '" + name + "'" + keys + "; its workers then answer unverified.");
}

} // namespace

int run(const Where &where, const DropOptions &options) {
    if (!options.yes && !is_terminal(stdin))
        return fail({Exit::usage, "drop asks on a terminal only; elsewhere write: drop " + options.name + " --yes"});
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return fail(*failure);
    if (!options.yes)
        if (auto failure = ask(where, options.name))
            return fail(*failure);
    auto reply = std::get<Client>(client).call({"SB.DROP", options.name}, kDropTimeout);
    const Failure *failure = failure_of(reply);
    if (failure == nullptr)
        print("dropped " + options.name + "\n");
    return conclude({{"name", options.name}, {"dropped", failure == nullptr}},
                    failure == nullptr ? Outcome{} : Outcome{*failure});
}

} // namespace shmbloom::ctl
