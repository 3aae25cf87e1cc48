#include "journal_search.h"


#include "client.h"
#include "filter.h"
#include "numbers.h"

namespace shmbloom::ctl {

namespace {

// A daemon that hangs shall not keep the rest of an explanation back for long.
constexpr std::chrono::seconds kHelloTimeout{2}, kSearchTimeout{60};

JournalSearch not_searched(std::string why) {
    JournalSearch search;
    search.why_not = std::move(why);
    return search;
}

} // namespace

JournalSearch search_journal(const Where &where, const std::string &name, const std::string &durability,
                             std::uint64_t hash_domain, std::uint64_t hash) {
    if (durability == "memory")
        return not_searched("it has none, durability: memory");
    auto listed = list_filters(where);
    if (const Failure *failure = failure_of(listed))
        return not_searched(failure->text);
    auto client = Client::connect_to(std::get<Listing>(listed).runtime_dir, kHelloTimeout);
    if (failure_of(client) != nullptr)
        return not_searched("the daemon does not answer");
    auto reply =
        std::get<Client>(client).call({"SB.JOURNAL", name, hex_text(hash_domain), hex_text(hash)}, kSearchTimeout);
    if (const Failure *failure = failure_of(reply))
        return not_searched(failure->text);
    const Reply &hit = std::get<Reply>(reply);
    JournalSearch search;
    search.was_searched = true;
    search.found = !hit.elements.empty();
    search.lsn = parse_count(hit.field("lsn")).value_or(0);
    search.time_ns = parse_count(hit.field("time_ns")).value_or(0);
    search.is_synced = hit.field("synced") == "1";
    return search;
}

std::string search_text(const JournalSearch &search) {
    if (!search.was_searched)
        return "not searched: " + search.why_not;
    if (!search.found)
        return "does not hold its hash: never added, loaded in bulk, or so long ago that a snapshot has taken over";
    return "holds its hash: LSN " + std::to_string(search.lsn) + ", added " + format_time(search.time_ns / 1'000'000'000) +
           (search.is_synced ? ", synced" : ", not synced yet");
}

Json search_object(const JournalSearch &search) {
    if (!search.found)
        return {};
    return {{"lsn", json_id(search.lsn)}, {"time", search.time_ns / 1'000'000'000}, {"synced", search.is_synced}};
}

} // namespace shmbloom::ctl
