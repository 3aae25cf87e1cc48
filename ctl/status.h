// What `status` knows about daemon and filters, and its two forms.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "filter.h"
#include "holder_view.h"
#include "instance_state.h"
#include "options.h"

namespace shmbloom::ctl {

struct FilterStatus {
    shmbloom_info info{};
    std::string error; // why the filter cannot be opened; info then holds its name and nothing else
    std::uint64_t wrong_absents = SHMBLOOM_UNKNOWN;
    std::optional<FilterDetails> details{}; // as the daemon says; nullopt: it does not
    std::optional<HolderView> holders{};    // only looked for by `status NAME`
    std::map<std::string, std::string> reasons; // of doubts by word, where the registry may be read

    bool is_live() const { return error.empty() && info.live != 0; }
    bool is_known() const { return error.empty() && info.uuid[0] != '\0'; }
    std::vector<std::string> doubts() const;
    std::vector<std::string> warnings() const;
    std::vector<std::string> handle_doubts() const; // words only
    int severity() const;                           // 0: live, no warning; higher is worse
};

// Until the filter holds its capacity at the present pace; nullopt: it does not grow, or nobody knows yet.
std::optional<double> days_until_full(const shmbloom_info &info);

struct Status {
    std::optional<Listing> place;      // nullopt: no daemon of this boot has been here
    std::vector<FilterStatus> filters; // worst first
    std::string error{};               // why nothing is known
    std::optional<InstanceState> state{}; // as the daemon says; nullopt: it does not
};

// Seconds since 1970; a parameter of the forms, so that they are pure.
std::uint64_t unix_now_s();

std::string status_text(const Where &where, const Status &status, std::uint64_t now_s);
std::string status_text(const Where &where, const FilterStatus &filter, std::uint64_t now_s);

// Schema 1: fields are only ever added; null is unknown; docs/protocol.md lists them.
std::string status_json(const Status &status);
std::string status_json(const FilterStatus &filter);

} // namespace shmbloom::ctl
