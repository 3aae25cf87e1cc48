// Commands that end or make doubts: SB.LOAD, SB.LIVE, SB.PAUSE, SB.RESUME, SB.FORGETREADERS.
#include "service/dispatcher.h"
#include "service/names.h"
#include "service/replies.h"
#include "service/usages.h"
#include "store/doubt.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

// An overlap of more than a year is a mistake, not an overlap.
constexpr std::uint64_t kOverlapMaxSeconds = 365 * 86400;
constexpr std::uint64_t kOverlapDefaultSeconds = 3600;

} // namespace

void Dispatcher::load(const Call &call) {
    const std::string_view name = call.arguments[1];
    const std::string_view act = call.arguments[2];
    const bool has_option = call.arguments.size() == 5;
    const std::string_view option = has_option ? call.arguments[3] : "";
    const auto number = has_option ? parse_unsigned(call.arguments[4]) : std::nullopt;
    if (is_word(act, "ABORT") && call.arguments.size() == 3)
        return call.reply(to_reply(instance_.abort_load(call.session, name), reply::simple("OK")));
    if (is_word(act, "BEGIN") && (call.arguments.size() == 3 || is_word(option, "OVERLAP"))) {
        if (has_option && (!number || *number > kOverlapMaxSeconds))
            return call.reply(
                reply::error("RANGE", "OVERLAP is 0 to " + std::to_string(kOverlapMaxSeconds) + " seconds"));
        return call.reply(to_reply(instance_.begin_load(call.session, name, number.value_or(kOverlapDefaultSeconds)),
                                   reply::simple("OK")));
    }
    if (!is_word(act, "END") || (call.arguments.size() != 3 && !is_word(option, "EXPECT")))
        return call.reply(usage_error(kLoadUsage));
    if (has_option && !number)
        return call.reply(reply::error("RANGE", "EXPECT is a whole number of keys"));
    instance_.end_load(call.session, name, number,
                       [this, done = call.done, name = std::string{name}](const std::optional<Failure> &failure,
                                                                          const LoadResult &result) {
                           const Filter *const filter = instance_.find(name);
                           const std::uint32_t doubts =
                               filter == nullptr ? 0 : filter->gates(instance_.control()).doubts();
                           const std::uint64_t estimated = filter == nullptr ? 0 : filter->estimate_now();
                           const std::uint64_t capacity = filter == nullptr ? 0 : filter->record.capacity;
                           done({to_reply(failure, fields_reply({{"live", filter != nullptr && doubts == 0 ? "1" : "0"},
                                                                 {"keys", std::to_string(result.keys)},
                                                                 {"doubts", join_names(kDoubtNames, doubts)},
                                                                 {"loads_open", std::to_string(result.loads_open)},
                                                                 {"spoiled", result.spoiled ? "1" : "0"},
                                                                 {"estimated_keys", std::to_string(estimated)},
                                                                 {"capacity", std::to_string(capacity)}}))});
                       });
}

void Dispatcher::live(const Call &call) {
    const bool force = call.arguments.size() == 3 && is_word(call.arguments[2], "FORCE");
    const bool expect = call.arguments.size() == 4 && is_word(call.arguments[2], "EXPECT");
    if (!force && !expect)
        return call.reply(usage_error(kLiveUsage));
    const auto number = expect ? parse_unsigned(call.arguments[3]) : std::nullopt;
    if (expect && (!number || *number == 0))
        return call.reply(reply::error("RANGE", "EXPECT is a whole number of keys, at least 1"));
    instance_.declare_live(call.arguments[1], number, reply_ok(call));
}

void Dispatcher::pause(const Call &call) {
    std::string why;
    for (std::size_t i = 2; i < call.arguments.size(); i++)
        why.append(why.empty() ? "" : " ").append(call.arguments[i]);
    // The registry is JSON: a reason that is no text would keep every change of every filter from the disk.
    if (why.size() > 200 || why.find_first_of("\r\n") != std::string::npos || !is_utf8(why))
        return call.reply(reply::error("RANGE", "the reason is one line of at most 200 bytes, in UTF-8"));
    instance_.pause(call.arguments[1], why.empty() ? "paused by an operator" : why, reply_ok(call));
}

void Dispatcher::resume(const Call &call) {
    instance_.resume(call.arguments[1], reply_ok(call));
}

void Dispatcher::forget_readers(const Call &call) {
    instance_.forget_readers(call.arguments[1], reply_ok(call));
}

} // namespace shmbloom
