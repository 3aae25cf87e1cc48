// SB.UNDROP, SB.IMPORT, SB.JOURNAL: what an operator gets back, or looks for, in what is stored.
#include "service/dispatcher.h"
#include "service/replies.h"

namespace shmbloom {
namespace {

namespace reply = net::reply;

} // namespace

Instance::Done Dispatcher::reply_info(const Call &call, std::string_view name) const {
    return [this, done = call.done, name = std::string{name}](const std::optional<Failure> &failure) {
        const Filter *const filter = failure ? nullptr : instance_.find(name);
        done({to_reply(failure, filter != nullptr ? info_reply(*filter) : reply::simple("OK"))});
    };
}

void Dispatcher::undrop(const Call &call) {
    if (call.arguments.size() == 2)
        return instance_.undrop(std::string{call.arguments[1]}, reply_info(call, call.arguments[1]));
    const auto &dropped = instance_.registry().dropped;
    std::string text = reply::array(dropped.size());
    for (const DroppedFilter &kept : dropped) {
        const FilterRecord &record = kept.record;
        const auto of_last = [&record](std::uint64_t SnapshotRecord::*field) {
            return record.snapshots.empty() ? std::nullopt
                                            : std::optional{std::to_string(record.snapshots.back().*field)};
        };
        text += fields_reply({{"name", record.name},
                              {"uuid", to_string(record.uuid)},
                              {"dropped", std::to_string(kept.since)},
                              {"capacity", std::to_string(record.capacity)},
                              {"adds_acknowledged", std::to_string(record.adds_acknowledged)},
                              {"last_snapshot", of_last(&SnapshotRecord::begun)},
                              {"last_snapshot_bytes", of_last(&SnapshotRecord::bytes)}});
    }
    call.reply(std::move(text));
}

void Dispatcher::import(const Call &call) {
    instance_.import(std::string{call.arguments[1]}, std::string{call.arguments[2]},
                     reply_info(call, call.arguments[1]));
}

void Dispatcher::journal(const Call &call) {
    const auto domain = parse_hex(call.arguments[2]), hash = parse_hex(call.arguments[3]);
    if (!domain || !hash)
        return call.reply(reply::error("RANGE", "hash_domain and hash are 16 hexadecimal digits in lower case"));
    instance_.search_journal(call.arguments[1], *domain, *hash,
                             [this, done = call.done](const std::optional<Failure> &failure,
                                                      const std::optional<Instance::JournalHit> &hit) {
                                 if (failure || !hit)
                                     return done({to_reply(failure, "$-1\r\n")});
                                 done({fields_reply({{"lsn", std::to_string(hit->lsn)},
                                                     {"time_ns", std::to_string(hit->time_ns)},
                                                     {"synced", hit->lsn < instance_.journal().durable() ? "1" : "0"},
                                                     {"file", std::to_string(hit->file)}})});
                             });
}

} // namespace shmbloom
