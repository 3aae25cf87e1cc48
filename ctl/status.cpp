// status: daemon and filters from control and segment headers, whether the daemon runs or not.
#include "status.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "hints.h"
#include "output.h"
#include "place.h"
#include "text.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

std::vector<std::string> words_of(const char *commas) {
    std::vector<std::string> words;
    split_commas(commas, [&](std::string_view word) { words.emplace_back(word); });
    return words;
}

void fill(FilterStatus &status, shmbloom_filter *f) {
    status.info = get_info(f);
    status.wrong_absents = wrong_absents_of(f);
}

// Why an operator paused it stands in the registry alone.
void fill_reasons(const Where &where, const std::vector<FilterStatus *> &filters) {
    const bool any_doubt =
        std::any_of(filters.begin(), filters.end(), [](const auto *f) { return f->info.doubts != 0; });
    const Place place = any_doubt ? find_place(where) : Place{};
    if (!place.registry)
        return;
    for (FilterStatus *filter : filters)
        for (const RecordedFilter &record : place.registry->filters)
            if (record.uuid == filter->info.uuid)
                filter->reasons = record.reasons;
}

// What the daemon alone knows, as far as it answers.
void fill_details(const std::optional<InstanceState> &state, FilterStatus &filter) {
    if (!state)
        return;
    if (const auto found = state->filters.find(filter.info.uuid); found != state->filters.end())
        filter.details = found->second;
}

FilterStatus look_at(const Where &where, const std::string &name) {
    FilterStatus status;
    auto opened = open_filter(where, name);
    if (const Failure *failure = failure_of(opened)) {
        status.error = failure->text;
        std::snprintf(status.info.name, sizeof status.info.name, "%s", name.c_str());
    } else {
        fill(status, std::get<Filter>(opened).get());
    }
    return status;
}

// A stopped process has no heartbeat either, but what it would do is still to come.
bool is_shmbloomd(std::uint64_t pid) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/comm"};
    std::string name;
    return pid != 0 && std::getline(file, name) && name == "shmbloomd";
}

int show_one(const Where &where, const std::string &name, bool json) {
    auto opened = open_filter(where, name);
    if (const Failure *failure = failure_of(opened))
        return fail(*failure);
    FilterStatus status;
    fill(status, std::get<Filter>(opened).get());
    fill_reasons(where, {&status});
    if (status.is_known())
        status.holders = look_for_holders(status.info.runtime_dir, status.info.uuid);
    if (status.info.heartbeat_age_ms <= 3000)
        fill_details(ask_state(status.info.runtime_dir), status);
    if (json)
        print_json(status_json(status));
    else
        print(status_text(where, status, unix_now_s()));
    return static_cast<int>(status.is_live() ? Exit::done : Exit::negative);
}

Result<Status> look_at_all(const Where &where) {
    auto listed = list_filters(where);
    if (const Failure *failure = failure_of(listed))
        return *failure;
    Status status;
    status.place = take(std::move(listed));
    for (const std::string &name : status.place->names)
        status.filters.push_back(look_at(where, name));
    std::vector<FilterStatus *> filters;
    for (FilterStatus &filter : status.filters)
        filters.push_back(&filter);
    fill_reasons(where, filters);
    if (status.place->is_daemon_running())
        status.state = ask_state(status.place->runtime_dir);
    for (FilterStatus &filter : status.filters)
        fill_details(status.state, filter);
    for (const FilterStatus &filter : status.filters)
        status.place->hangs =
            status.place->hangs || (!status.place->is_daemon_running() && is_shmbloomd(filter.info.daemon_pid));
    std::sort(status.filters.begin(), status.filters.end(), [](const FilterStatus &a, const FilterStatus &b) {
        const int worse = a.severity() - b.severity();
        return worse != 0 ? worse > 0 : std::string_view{a.info.name} < b.info.name;
    });
    return status;
}

} // namespace

std::uint64_t unix_now_s() {
    return static_cast<std::uint64_t>(std::time(nullptr));
}

std::optional<double> days_until_full(const shmbloom_info &info) {
    if (!(info.keys_per_day > 0) || info.headroom_keys == SHMBLOOM_UNKNOWN)
        return std::nullopt;
    return static_cast<double>(info.headroom_keys) / info.keys_per_day;
}

std::vector<std::string> FilterStatus::doubts() const {
    return words_of(info.doubts_text);
}

std::vector<std::string> FilterStatus::warnings() const {
    return words_of(info.warnings_text);
}

std::vector<std::string> FilterStatus::handle_doubts() const {
    std::vector<std::string> words;
    for (const auto &[bit, word] : {std::pair{SHMBLOOM_HANDLE_NO_CONTROL, "no_control"},
                                    {SHMBLOOM_HANDLE_NO_FILTER, "no_filter"},
                                    {SHMBLOOM_HANDLE_NO_PERMISSION, "no_permission"},
                                    {SHMBLOOM_HANDLE_FORMAT, "format"},
                                    {SHMBLOOM_HANDLE_BUSY, "busy"},
                                    {SHMBLOOM_HANDLE_NO_SEGMENT, "no_segment"}})
        if (info.handle_doubts & bit)
            words.emplace_back(word);
    return words;
}

int FilterStatus::severity() const {
    int worst = is_live() ? 0 : severity_of("?"); // not live for no known reason is as bad as it gets
    if (!is_live() && info.doubts != 0)
        worst = 0;
    for (const auto &words : {doubts(), warnings()})
        for (const std::string &word : words)
            worst = std::max(worst, severity_of(word));
    return worst;
}

int run(const Where &where, const StatusOptions &options) {
    if (options.name)
        return show_one(where, *options.name, options.json);
    auto looked = look_at_all(where);
    if (const Failure *failure = failure_of(looked)) {
        if (options.json) // a monitor gets its object whatever happens
            print_json(status_json(Status{{}, {}, failure->text}));
        return fail(*failure);
    }
    const Status status = take(std::move(looked));
    if (options.json)
        print_json(status_json(status));
    else
        print(status_text(where, status, unix_now_s()));
    if (!status.place->is_daemon_running())
        return static_cast<int>(Exit::unreachable);
    const bool all_live = std::all_of(status.filters.begin(), status.filters.end(),
                                      [](const FilterStatus &filter) { return filter.is_live(); });
    return static_cast<int>(all_live ? Exit::done : Exit::negative);
}

} // namespace shmbloom::ctl
