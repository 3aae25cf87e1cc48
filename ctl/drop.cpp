// drop: ends a filter, after making sure that it is the one that was meant.
#include <cstdio>
#include <iostream>
#include <string>

#include "client.h"
#include "numbers.h"
#include "output.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::seconds kDropTimeout{60};

// Asks for the name, so that a wrong line from the shell's history is noticed.
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
    std::fprintf(stderr, "This ends '%s'%s; its workers then answer unverified.\nType its name to go on: ", name.c_str(),
                 keys.c_str());
    std::string typed;
    std::getline(std::cin, typed);
    if (typed != name)
        return Failure{Exit::refused, "that is not '" + name + "': nothing was changed"};
    return {};
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
    if (const Failure *failure = failure_of(reply))
        return fail(*failure);
    print("dropped " + options.name + "\n");
    return static_cast<int>(Exit::done);
}

} // namespace shmbloom::ctl
