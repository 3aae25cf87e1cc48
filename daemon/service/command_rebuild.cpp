// SB.REBUILD, SB.ROLLBACK.
#include "service/dispatcher.h"
#include "service/names.h"
#include "service/replies.h"
#include "service/usages.h"
#include "store/doubt.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

constexpr std::uint64_t kSecondsMax = 365 * 86400; // more is a mistake, not an overlap

std::string who(const net::Peer &peer) {
    return "pid " + std::to_string(peer.pid) + ", uid " + std::to_string(peer.uid);
}

// One option of BEGIN. Returns what is wrong, or "".
std::string read_option(RebuildRequest &request, std::string_view option, std::string_view value) {
    const auto number = parse_unsigned(value);
    const std::string wrong = std::string{option} + " '" + std::string{value.substr(0, 64)} + "' is not ";
    if (is_word(option, "CAPACITY")) {
        request.capacity = number;
        return number ? "" : wrong + "a whole number of keys, 1 to 2^40";
    }
    if (is_word(option, "FPR")) {
        request.fpr = parse_real(value);
        return request.fpr ? "" : wrong + "a rate from 1e-9 to 0.5";
    }
    if (is_word(option, "LAYOUT")) {
        request.layout = value;
        return geometry::parse_layout(value) ? "" : wrong + "auto, classic or blocked";
    }
    if (is_word(option, "SINCE")) {
        request.since_lsn = number;
        return number && *number != 0 ? "" : wrong + "an LSN, as SB.STATE shows durable_lsn";
    }
    if (is_word(option, "SINCE-SECONDS")) {
        request.since_s = number;
        return number && *number <= kSecondsMax ? "" : wrong + "0 to " + std::to_string(kSecondsMax) + " seconds";
    }
    if (is_word(option, "OVERLAP")) {
        request.overlap_s = number.value_or(0);
        return number && *number <= kSecondsMax ? "" : wrong + "0 to " + std::to_string(kSecondsMax) + " seconds";
    }
    if (is_word(option, "SNAPSHOT")) {
        request.snapshot = value;
        return is_instance_name(value) ? "" : wrong + "the name of a file in the state folder's import/";
    }
    return "unknown option '" + std::string{option.substr(0, 64)} + "'; usage: " + kRebuildUsage;
}

} // namespace

void Dispatcher::rebuild(const Call &call) {
    const std::string_view act = call.arguments[2];
    if (is_word(act, "BEGIN"))
        return begin_rebuild(call);
    if (is_word(act, "MUST") && call.arguments.size() == 5)
        return must_contain(call);
    if (is_word(act, "END"))
        return end_rebuild(call);
    if (is_word(act, "GROW"))
        return grow(call);
    if (!is_word(act, "ABORT") || call.arguments.size() != 3)
        return call.reply(usage_error(kRebuildUsage));
    call.reply(to_reply(instance_.abort_rebuild(call.session, call.arguments[1]), reply::simple("OK")));
}

void Dispatcher::begin_rebuild(const Call &call) {
    RebuildRequest request;
    request.name = call.arguments[1];
    if (call.arguments.size() % 2 == 0)
        return call.reply(usage_error(kRebuildUsage));
    for (std::size_t i = 3; i < call.arguments.size(); i += 2)
        if (const std::string wrong = read_option(request, call.arguments[i], call.arguments[i + 1]); !wrong.empty())
            return call.reply(reply::error("RANGE", wrong));
    if (request.since_lsn && request.since_s)
        return call.reply(reply::error("RANGE", "SINCE and SINCE-SECONDS exclude each other"));
    if (!request.snapshot.empty() && (request.capacity || request.fpr || request.layout))
        return call.reply(reply::error("RANGE", "a snapshot has a capacity, a rate and a layout of its own: CAPACITY, FPR and "
                                                "LAYOUT are not for SNAPSHOT"));
    instance_.begin_rebuild(call.session, who(call.peer), request,
                            [this, done = call.done, name = request.name](const std::optional<Failure> &failure) {
                                const Filter *const filter = failure ? nullptr : instance_.find(name);
                                if (filter == nullptr || !filter->build)
                                    return done({to_reply(failure ? failure : not_found(name), "")});
                                const Build &build = *filter->build;
                                done({fields_reply({{"since_lsn", std::to_string(build.replay_from)},
                                                    {"overlap", std::to_string(build.overlap_s)},
                                                    {"generation", std::to_string(build.generation)},
                                                    {"capacity", std::to_string(build.capacity)},
                                                    {"fpr", real_text(build.fpr)},
                                                    {"memory_bytes", std::to_string(build.segment->memory_bytes())}})});
                            });
}

void Dispatcher::must_contain(const Call &call) {
    std::uint64_t hash_domain = 0;
    std::vector<std::uint64_t> hashes;
    auto failure = read_hashes(call.arguments[3], call.arguments[4], &hash_domain, hashes);
    if (!failure)
        failure = instance_.must_contain(call.session, call.arguments[1], hash_domain, hashes);
    call.reply(to_reply(failure, reply::integer(static_cast<std::int64_t>(hashes.size()))));
}

void Dispatcher::end_rebuild(const Call &call) {
    RebuildGuards guards;
    for (std::size_t i = 3; i < call.arguments.size(); i++) {
        const std::string_view option = call.arguments[i];
        if (is_word(option, "DRYRUN")) {
            guards.dry_run = true;
            continue;
        }
        const auto number = parse_unsigned(i + 1 < call.arguments.size() ? call.arguments[++i] : std::string_view{});
        const std::uint64_t value = number.value_or(0);
        if (is_word(option, "EXPECT") && number)
            guards.expected = value;
        else if (is_word(option, "SHRINK") && number && value <= 100)
            guards.shrink_percent = value;
        else
            return call.reply(reply::error("RANGE", "EXPECT is a whole number of keys, SHRINK 0 to 100 percent; usage: " +
                                                        std::string{kRebuildUsage}));
    }
    instance_.end_rebuild(call.session, call.arguments[1], guards, reply_switch(call));
}

void Dispatcher::grow(const Call &call) {
    const bool has_capacity = call.arguments.size() == 5 && is_word(call.arguments[3], "CAPACITY");
    const auto capacity = has_capacity ? parse_unsigned(call.arguments[4]) : std::nullopt;
    if (call.arguments.size() != 3 && !capacity)
        return call.reply(usage_error(kRebuildUsage));
    instance_.grow(std::string{call.arguments[1]}, capacity, who(call.peer), reply_switch(call));
}

Instance::SwitchDone Dispatcher::reply_switch(const Call &call) const {
    return [this, done = call.done, name = std::string{call.arguments[1]}](const std::optional<Failure> &failure,
                                                                           const SwitchResult &result) {
        const Filter *const filter = failure ? nullptr : instance_.find(name);
        if (filter == nullptr)
            return done({to_reply(failure ? failure : not_found(name), "")});
        const std::uint32_t doubts = filter->gates(instance_.control()).doubts();
        done({fields_reply({{"switched", result.switched ? "1" : "0"},
                            {"keys", std::to_string(result.keys)},
                            {"replayed", std::to_string(result.replayed)},
                            {"estimated_keys", std::to_string(result.estimated_after)},
                            {"estimated_keys_before", std::to_string(result.estimated_before)},
                            {"generation", std::to_string(filter->record.generation)},
                            {"lineage", std::to_string(filter->record.lineage)},
                            {"capacity", std::to_string(filter->record.capacity)},
                            {"fpr", real_text(filter->record.fpr)},
                            {"live", doubts == 0 ? "1" : "0"},
                            {"doubts", join_names(kDoubtNames, doubts)}})});
    };
}

void Dispatcher::rollback(const Call &call) {
    const bool with_present = call.arguments.size() == 3;
    if (with_present && !is_word(call.arguments[2], "UNION"))
        return call.reply(usage_error(kRollbackUsage));
    instance_.rollback(std::string{call.arguments[1]}, with_present, who(call.peer),
                       reply_info(call, call.arguments[1]));
}

} // namespace shmbloom
