// Hashes that a load or a rebuild brings in bulk: bits are set by as many threads as there are cores, and nothing of it is
// in the journal. They are acknowledged when a snapshot that holds them is on the disk.
#include <algorithm>

#include "service/call_once.h"
#include "service/instance.h"
#include "sys/clock.h"
#include "sys/log.h"

namespace shmbloom {

// Into the generation that is being rebuilt; into the filter itself while it is warming; else as any other adds.
void Instance::bulk(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                    std::vector<std::uint64_t> hashes, BulkDone done) {
    Filter *const found = find(name);
    if (found == nullptr)
        return done(not_found(name), {});
    if (this->hash_domain(*found) != hash_domain)
        return done(stale(name), {});
    const FilterPtr filter = filters_.find(name)->second;
    if (const BuildPtr build = rebuild_of(session, name))
        return bulk_into_build(filter, build, std::move(hashes), std::move(done));
    if (!filter->loads.is_open(session))
        return done(Failure{"ERR", "neither a load nor a rebuild of filter '" + std::string{name} +
                                       "' was begun on this connection; send SB.LOAD " + std::string{name} + " BEGIN first"},
                    {});
    const bool is_warming = filter->record.doubts.contains(SHMBLOOM_DOUBT_WARMING);
    if (is_warming && !filter->build && !filter->changing && !add_refusal(*filter)) {
        // Of one that is to refuse when it is full: first what is being set, so that it is counted.
        if (filter->record.when_full == WhenFull::refuse && filter->bulk_jobs != 0)
            return filter->after_bulk.push_back(
                [this, session, name = std::string{name}, hash_domain, hashes = std::move(hashes),
                 done = std::move(done)] { bulk(session, name, hash_domain, hashes, done); });
        if (filter->record.is_journalled() && !filter->bulk_noted)
            return note_bulk(filter, session, hash_domain, std::move(hashes), std::move(done));
        return bulk_into_filter(filter, session, std::move(hashes), std::move(done));
    }
    add(session, name, hash_domain, hashes, [done = std::move(done)](const auto &failure, const std::string &answers) {
        BulkCounts counts{};
        for (const char answer : answers)
            counts[static_cast<std::size_t>(answer)]++;
        done(failure, counts);
    });
}

// Before the first bits are set: whoever declares the filter live although the load was cut off must know of them.
void Instance::note_bulk(const FilterPtr &filter, std::uint64_t session, std::uint64_t hash_domain,
                         std::vector<std::uint64_t> hashes, BulkDone done) {
    filter->record.bulk_unkept = true;
    const auto given_up = std::make_shared<bool>(false);
    writer_.commit({.durable =
                        [this, filter, session, hash_domain, hashes = std::move(hashes), done, given_up] {
                            if (*given_up)
                                return;
                            filter->bulk_noted = filter->record.bulk_unkept;
                            bulk(session, filter->record.name, hash_domain, hashes, done);
                        },
                    .failed =
                        [done, given_up](const std::string &error) {
                            *given_up = true;
                            done(Failure{"IO", "not loaded, the registry cannot be written: " + error}, {});
                        }});
}

void Instance::bulk_into_build(const FilterPtr &filter, const BuildPtr &build, std::vector<std::uint64_t> hashes,
                               BulkDone done) {
    if (!build->segment)
        return done(no_rebuild(filter->record.name), {});
    const std::size_t count = hashes.size();
    build->keys += count;
    if (build->hash_list.complete) {
        if (!build->list)
            build->list = new_hash_list(filter->record);
        build->list->write(hashes);
    }
    build->jobs++;
    bulk_adder_.add(build->segment, std::move(hashes), [this, build](std::uint64_t fresh) {
        build->bits_set += fresh;
        build->jobs--;
        went_on(*build);
    });
    when_room(build->list, count, std::move(done));
}

void Instance::when_room(const std::shared_ptr<NewHashList> &list, std::size_t count, BulkDone done) {
    bulk_adder_.when_room([list, count, done = std::move(done)] {
        const auto reply = [count, done] { done(std::nullopt, {0, 0, count}); };
        list ? list->when_room(reply) : reply();
    });
}

void Instance::bulk_into_filter(const FilterPtr &filter, std::uint64_t session, std::vector<std::uint64_t> hashes,
                                BulkDone done) {
    const std::size_t count = hashes.size();
    if (auto refusal = full_refusal(*filter, hashes)) {
        filter->adds_refused += count;
        return done(refusal, {});
    }
    filter->loads.count_keys(session, count);
    Loads::Bulk &bulk = filter->loads.bulk(session);
    bulk.any = true;
    if (filter->record.growable && filter->record.hash_list.complete) {
        if (!bulk.list)
            bulk.list = new_hash_list(filter->record);
        bulk.list->write(hashes);
    }
    const auto list = bulk.list;
    filter->bulk_jobs++;
    bulk_adder_.add(filter->segment, std::move(hashes), [this, filter](std::uint64_t fresh) {
        filter->bits_set += fresh;
        if (filter->is_published())
            shmbloom_store_field(&control_->slot(filter->slot)->bits_set, filter->bits_set);
        if (--filter->bulk_jobs == 0)
            for (const auto &go_on : std::exchange(filter->after_bulk, {}))
                go_on();
    });
    when_room(list, count, std::move(done));
}

// A snapshot without it is not restored, and neither an older source nor a generation of before takes its place without
// a word.
void Instance::count_bulk_act(FilterRecord &record, std::uint64_t source_begun) const {
    record.bulk_acts++;
    record.bulk_at = std::max(record.bulk_at, std::min(source_begun, unix_seconds())); // another machine may be ahead
    record.bulk_lsn = journal_->next();
    if (record.previous)
        record.previous->bulk_since = true;
}

// For who declares the filter live all the same: what loads that were cut off brought. Nobody has its hashes.
void Instance::keep_unkept_bulk(const FilterPtr &filter, std::function<void(const std::string &error)> done) {
    if (filter->bulk_jobs != 0)
        return filter->after_bulk.push_back([this, filter, done] { keep_unkept_bulk(filter, done); });
    count_bulk_act(filter->record, unix_seconds());
    filter->record.hash_list.complete = false;
    snapshotter_->take(filter, Snapshotter::Pace::full, [filter, done](const std::string &error) {
        if (error.empty())
            filter->bulk_noted = filter->record.bulk_unkept = false;
        done(error);
    });
}

// Counted before the copy begins, so that no snapshot of before is ever taken for one that has them.
void Instance::keep_bulk(const FilterPtr &filter, std::uint64_t session, std::function<void(const std::string &error)> done) {
    if (filter->bulk_jobs != 0)
        return filter->after_bulk.push_back([this, filter, session, done] { keep_bulk(filter, session, done); });
    const std::uint64_t begun = filter->loads.is_open(session) ? filter->loads.bulk(session).begun : unix_seconds();
    const auto keep = [this, filter, begun, done](const std::string &error) {
        if (!error.empty() || !filter->record.is_journalled())
            return done(error);
        count_bulk_act(filter->record, begun);
        snapshotter_->take(filter, Snapshotter::Pace::full, done);
    };
    const std::shared_ptr<NewHashList> list = filter->loads.is_open(session) ? filter->loads.bulk(session).list : nullptr;
    if (!list)
        return keep("");
    list->finish([filter, keep](const std::string &error, const HashFileRecord &file) {
        if (error.empty())
            filter->record.hash_list.files.push_back(file);
        keep(error);
    });
}

} // namespace shmbloom
