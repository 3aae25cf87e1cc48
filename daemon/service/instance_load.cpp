// Loads: how a filter comes to be live.
#include <algorithm>

#include "service/call_once.h"
#include "service/instance.h"
#include "service/names.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

Failure no_load(std::string_view name) {
    return {"ERR", "no load of filter '" + std::string{name} + "' was begun on this connection; send SB.LOAD " +
                       std::string{name} + " BEGIN first"};
}

} // namespace

std::optional<Failure> Instance::begin_load(std::uint64_t session, std::string_view name, std::uint64_t overlap_s) {
    Filter *const filter = find(name);
    if (filter == nullptr)
        return not_found(name);
    if (filter->loads.is_open(session))
        return Failure{"ERR", "a load of filter '" + std::string{name} + "' is open on this connection already"};
    const std::uint64_t now = unix_seconds();
    // An add may be acknowledged an overlap before its row can be seen in the source. Adds that were lost are in the
    // source only when the overlap has passed since.
    for (const std::uint32_t bit : {SHMBLOOM_DOUBT_LOSSY, SHMBLOOM_DOUBT_DAMAGED}) {
        const auto doubt = filter->record.doubts.find(bit);
        if (doubt != filter->record.doubts.end() && now < doubt->second.since + overlap_s)
            return Failure{
                "RANGE", "filter '" + std::string{name} + "' is " + join_names(kDoubtNames, bit) + " since " +
                             time_text(doubt->second.since) + "; a load that ends this must begin the overlap of " +
                             std::to_string(overlap_s) + " s later, at " + time_text(doubt->second.since + overlap_s) +
                             "; if every add is in the source at once, say --overlap 0 (OVERLAP 0)"};
    }
    filter->loads.begin(session, now, overlap_s);
    return std::nullopt;
}

void Instance::end_load(std::uint64_t session, std::string_view name, std::optional<std::uint64_t> expected,
                        LoadDone caller) {
    const LoadDone done = once(std::move(caller));
    Filter *const found = find(name);
    if (found == nullptr)
        return done(not_found(name), {});
    if (!found->loads.is_open(session))
        return done(no_load(name), {});
    if (found->changing)
        return done(being_changed(name), {}); // the load is still open: END can be sent again
    const std::uint64_t keys = found->loads.keys(session);
    if (keys == 0 || keys < expected.value_or(0)) {
        found->loads.abort(session);
        return done(
            Failure{"RANGE", keys == 0 ? "the load brought no key, which never ends a doubt; it counts as aborted"
                                       : "the load brought " + std::to_string(keys) + " keys, expected were at least " +
                                             std::to_string(*expected) + "; it counts as aborted"},
            {.keys = keys});
    }
    const FilterPtr filter = filters_.find(name)->second;
    const LoadResult result{.keys = keys};
    if (!found->loads.bulk(session).any)
        return load_ended(filter, session, result, done);
    keep_bulk(filter, session, [this, filter, session, result, done](const std::string &error) {
        if (!filter->is_published())
            return done(not_found(filter->record.name), {});
        if (!filter->loads.is_open(session))
            return done(no_load(filter->record.name), {});
        if (error.empty())
            return load_ended(filter, session, result, done);
        filter->loads.abort(session);
        done(Failure{"IO", "the keys are not on the disk, so the load counts as aborted: " + error}, result);
    });
}

void Instance::load_ended(const FilterPtr &filter, std::uint64_t session, LoadResult result, LoadDone done) {
    const bool is_bulk = filter->loads.bulk(session).any;
    const Loads::Verdict verdict = filter->loads.end(session);
    result.loads_open = filter->loads.open_count();
    result.spoiled = verdict.spoiled;
    const auto end = [this, filter, verdict, result, done](const std::optional<Failure> &, const SwitchResult &) {
        const std::uint32_t ended = verdict.last && !verdict.spoiled ? ended_by(*filter, verdict) : 0;
        if (ended == 0 || !filter->is_published())
            return done(std::nullopt, result);
        if (filter->record.source_begun == 0 && (ended & SHMBLOOM_DOUBT_WARMING) != 0)
            filter->record.source_begun = verdict.begun;
        end_doubts(filter, ended, [done, result, filter](std::optional<Failure> failure) {
            if (!failure)
                log::info("filter '" + filter->record.name + "' loaded with " + std::to_string(result.keys) + " keys");
            done(std::move(failure), result);
        });
    };
    if (verdict.last && !verdict.spoiled)
        filter->bulk_noted = filter->record.bulk_unkept = false; // the snapshots of all that ended well have it
    // Before it is live: with more keys than it was made for it would answer "maybe" to nearly everything.
    filter->show_status(*control_, registry_);
    const std::uint64_t known = std::max(filter->estimated_keys(), is_bulk ? result.keys : 0);
    if (is_bulk && filter->record.growable && known > filter->record.capacity)
        return grow(filter, std::nullopt, known, "", end);
    end(std::nullopt, {});
}

// Doubts that the good end of all loads of a group clears: never one that is younger than they, and what says that adds
// were lost only when all began at least their overlap after it.
std::uint32_t Instance::ended_by(const Filter &filter, const Loads::Verdict &verdict) const {
    std::uint32_t ended = 0;
    for (const auto &[bit, doubt] : filter.record.doubts) {
        const bool lost = bit == SHMBLOOM_DOUBT_LOSSY || bit == SHMBLOOM_DOUBT_DAMAGED;
        if ((lost && doubt.since <= verdict.begun_less_overlap) ||
            (bit == SHMBLOOM_DOUBT_WARMING && doubt.since <= verdict.begun))
            ended |= bit;
    }
    return ended;
}

std::optional<Failure> Instance::abort_load(std::uint64_t session, std::string_view name) {
    Filter *const filter = find(name);
    if (filter == nullptr)
        return not_found(name);
    if (!filter->loads.is_open(session))
        return no_load(name);
    filter->loads.abort(session);
    return std::nullopt;
}

void Instance::session_closed(std::uint64_t session) {
    for (const auto &[name, filter] : filters_) {
        filter->loads.abort(session);
        if (filter->build && filter->build->session == session && session != 0) {
            log::warning("the rebuild of filter '" + name + "' ended with its connection; nothing changed");
            end_build(filter, filter->build);
        }
    }
}

} // namespace shmbloom
