// live: an operator declares a filter complete, after seeing what there is.
#include <string>

#include "confirm.h"
#include "daemon_call.h"
#include "filter.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "status.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

std::string keys_text(const shmbloom_info &info) {
    return info.estimated_keys == SHMBLOOM_UNKNOWN ? "an unknown number of"
                                                   : "about " + format_count(info.estimated_keys);
}

std::string state_text(const FilterStatus &status) {
    if (status.is_live())
        return "live";
    std::string text;
    for (const std::string &doubt : status.doubts())
        text += (text.empty() ? "" : ", ") + doubt;
    return text.empty() ? "unverified" : text;
}

Json fields_of(const LiveOptions &options, const FilterStatus &before, const FilterStatus &after) {
    return {{"name", options.name},
            {"doubts_before", before.doubts()},
            {"estimated_keys", json_number(before.info.estimated_keys)},
            {"live", after.is_live()},
            {"doubts", after.doubts()}};
}

} // namespace

int run(const Where &where, const LiveOptions &options) {
    auto opened = open_filter(where, options.name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    shmbloom_filter *f = std::get<Filter>(opened).get();
    FilterStatus before, after;
    before.info = after.info = get_info(f);
    print(options.name + " is " + state_text(before) + ", with " + keys_text(before.info) + " keys\n");
    flush_output();
    if (options.force_incomplete && is_terminal(stdin))
        if (auto failure = confirm_name(options.name, "This makes '" + options.name +
                                                          "' answer absent for every ID that was never added, also for "
                                                          "those that are only missing in it."))
            return conclude(fields_of(options, before, after), failure);
    const std::string number = std::to_string(options.expect_at_least.value_or(0));
    std::vector<std::string> command{"SB.LIVE", options.name, "FORCE"}, once{"live", options.name, "FORCE"};
    if (options.expect_at_least) {
        command = {"SB.LIVE", options.name, "EXPECT", number};
        once = {"live", options.name, "EXPECT", number};
    }
    const Told told = tell(find_place(where), command, once);
    after.info = get_info(f);
    if (!told.failure)
        print(options.name + " is " + state_text(after) + " now\n");
    return conclude(fields_of(options, before, after), told.failure);
}

} // namespace shmbloom::ctl
