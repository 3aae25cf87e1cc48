// load --all and --all-doubted: the command once for each filter, which it finds in its environment.
#include "load.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "client.h"
#include "filter.h"
#include "output.h"
#include "status.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::seconds kInfoTimeout{60};

struct Wanted {
    std::string name, doubts, since;
};

// `paused` is not among what a load ends, and `partial` has no memory to load into.
bool is_ended_by_a_load(std::string_view doubts) {
    return doubts.find("warming") != doubts.npos || doubts.find("lossy") != doubts.npos ||
           doubts.find("damaged") != doubts.npos;
}

Result<std::vector<Wanted>> find_wanted(const Where &where, LoadOptions::Which which) {
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return *failure;
    auto infos = std::get<Client>(client).call({"SB.INFO"}, kInfoTimeout);
    if (const Failure *failure = failure_of(infos))
        return *failure;
    std::vector<Wanted> wanted;
    for (const Reply &info : std::get<Reply>(infos).elements)
        if (which == LoadOptions::Which::all || is_ended_by_a_load(info.field("doubts")))
            wanted.push_back({info.field("name"), info.field("doubts"), info.field("complete_until")});
    return wanted;
}

Loaded load_wanted(const Where &where, LoadOptions options, const Wanted &wanted) {
    ::setenv("SHMBLOOM_FILTER", wanted.name.c_str(), 1);
    ::setenv("SHMBLOOM_DOUBTS", wanted.doubts.c_str(), 1);
    ::setenv("SHMBLOOM_SINCE", wanted.since.c_str(), 1);
    options.name = wanted.name;
    print(wanted.name + ":\n");
    flush_output();
    return load_one(where, options);
}

// Whoever presses Ctrl-C means all of them.
bool was_interrupted(const Failure &failure) {
    return failure.code == Exit::source_failed && failure.text.find("interrupted") != std::string::npos;
}

} // namespace

int load_all(const Where &where, const LoadOptions &options) {
    auto found = find_wanted(where, options.which);
    if (const Failure *failure = failure_of(found))
        return fail(*failure);
    const std::vector<Wanted> wanted = take(std::move(found));
    Json filters = Json::array();
    Outcome worst; // the highest code
    for (const Wanted &each : wanted) {
        const Loaded loaded = load_wanted(where, options, each);
        filters.push_back(with_failure(loaded.fields, loaded.failure));
        if (!loaded.failure)
            continue;
        if (!is_json())
            fail(*loaded.failure);
        if (!worst || worst->code < loaded.failure->code)
            worst = loaded.failure;
        if (was_interrupted(*loaded.failure))
            break;
    }
    if (wanted.empty())
        print(options.which == LoadOptions::Which::all ? "there is no filter to load\n"
                                                       : "no filter has a doubt that a load ends\n");
    if (is_json())
        return conclude({{"filters", filters}}, worst);
    return static_cast<int>(worst ? worst->code : Exit::done);
}

} // namespace shmbloom::ctl
