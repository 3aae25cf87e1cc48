// Adds: appended to the journal, bits set, acknowledged when they are as durable as their filter promises.
#include <algorithm>
#include <cerrno>

#include "service/disk_failure.h"
#include "service/instance.h"
#include "sys/log.h"

namespace shmbloom {

std::optional<Failure> Instance::add_refusal(Filter &filter) const {
    const std::string &name = filter.record.name;
    if (const auto refused = registry_.adds_refused.find(name); refused != registry_.adds_refused.end())
        return Failure{"BUSY", "adds to filter '" + name + "' are refused: " + refused->second.text};
    if (!filter.segment)
        return Failure{"NOMEM", "filter '" + name +
                                    "' has no memory for its bits; make room and restart "
                                    "shmbloomd, or drop it"};
    return std::nullopt;
}

void Instance::add(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                   std::span<const std::uint64_t> hashes, AddDone done) {
    const auto found = filters_.find(name);
    if (found == filters_.end() || !found->second->is_published())
        return done(not_found(name), "");
    // A hash made with another seed or another normalization would set bits that no lookup asks for.
    if (this->hash_domain(*found->second) != hash_domain)
        return done(stale(name), "");
    add_to(found->second, session, hashes, true, std::move(done));
}

// `may_wait`: for room, if the filter is growing.
void Instance::add_to(const FilterPtr &filter, std::uint64_t session, std::span<const std::uint64_t> hashes, bool may_wait,
                      AddDone done) {
    auto refusal = add_refusal(*filter);
    if (!refusal && (refusal = full_refusal(*filter, hashes)))
        filter->show_status(*control_, registry_); // that it is full is seen when it is felt
    if (refusal) {
        filter->adds_refused += hashes.size();
        return done(refusal, "");
    }
    // Before it is in the journal: what waits too long for its worker was never added.
    if (may_wait && filter->record.growable && waits_for_growth(filter, hashes))
        return wait_for_growth(filter, hashes.size(),
                               [this, filter, session, hashes = std::vector(hashes.begin(), hashes.end()),
                                done = std::move(done)](bool again) {
                                   if (!filter->is_published())
                                       return done(not_found(filter->record.name), "");
                                   add_to(filter, session, hashes, again, done);
                               });
    // Duplicates too: that the bits are there does not say that they are on the disk.
    const bool is_journalled = filter->record.is_journalled();
    const auto failing = is_journalled ? journal_->failing() : std::nullopt;
    const Lsn end = is_journalled && !failing ? journal_->append(filter->record.number, hashes) : 0;
    std::string answers(hashes.size(), '\2');
    filter->set_bits(*control_, hashes, reinterpret_cast<std::uint8_t *>(answers.data()));
    const auto added = static_cast<std::size_t>(std::ranges::count(answers, '\0'));
    if (failing) {
        filter->adds_refused += hashes.size();
        return done(not_on_disk(*failing), "");
    }
    if (!is_journalled)
        return acknowledge(filter, session, std::move(answers), added, done);
    filter->hashes_since_snapshot += hashes.size();
    auto when = [this, filter, session, answers = std::move(answers), added,
                 done = std::move(done)](const std::optional<DiskError> &error) {
        if (!error)
            return acknowledge(filter, session, answers, added, done);
        filter->adds_refused += answers.size();
        done(not_on_disk(*error), "");
    };
    if (filter->record.durability == SHMBLOOM_DURABILITY_DURABLE)
        journal_->when_synced(end, std::move(when));
    else
        journal_->when_written(end, std::move(when));
}

// Of one that is to refuse when it is full: new keys only.
std::optional<Failure> Instance::full_refusal(const Filter &filter, std::span<const std::uint64_t> hashes) const {
    const FilterRecord &record = filter.record;
    if (record.when_full != WhenFull::refuse)
        return std::nullopt;
    // What is estimated may be off by a little: a batch that just fits shall not be refused for that.
    const std::uint64_t keys = filter.estimate_now(),
                        room = record.capacity + (hashes.size() > 1 ? record.capacity / 100 : 0);
    if (keys + hashes.size() <= room)
        return std::nullopt;
    const std::uint64_t fresh = filter.fresh(hashes);
    if (fresh == 0 || keys + fresh <= room)
        return std::nullopt;
    return Failure{
        "FULL", "filter '" + record.name + "' has no room for " + std::to_string(fresh) + " new keys: it holds about " +
                    std::to_string(keys) + " of the " + std::to_string(record.capacity) +
                    " keys that it was made for, and was created with --when-full refuse; rebuild it from its "
                    "source with a larger --capacity"};
}

void Instance::acknowledge(const FilterPtr &filter, std::uint64_t session, std::string answers, std::size_t added,
                           const AddDone &done) {
    if (!filter->is_published()) // dropped meanwhile: its name may be another's by now, which does not have these keys
        return done(not_found(filter->record.name), "");
    filter->count_acknowledged(*control_, answers.size(), added);
    filter->loads.count_keys(session, answers.size());
    done(std::nullopt, std::move(answers));
}

void Instance::report_wrong_absent(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                                   std::uint64_t hash, std::uint64_t generation, AddDone done) {
    add(session, name, hash_domain, {&hash, 1},
        [this, name = std::string{name}, hash, generation, done = std::move(done)](const std::optional<Failure> &failure,
                                                                                   std::string answers) {
            if (Filter *const filter = failure ? nullptr : find(name))
                count_wrong_absent(*filter, hash, generation);
            done(failure, std::move(answers));
        });
}

void Instance::count_wrong_absent(Filter &filter, std::uint64_t hash, std::uint64_t generation) {
    const std::string &name = filter.record.name;
    filter.wrong_absents++;
    filter.show_status(*control_, registry_);
    log::error("filter '" + name + "' answered absent for a key that its source has: hash " + to_hex(hash) +
               ", generation " + std::to_string(generation) + ", wrong absents " +
               std::to_string(filter.wrong_absents) + "; the key is added now, find out which add was not sent here");
    if (options_.pause_on_wrong_absent != 0 && filter.wrong_absents >= options_.pause_on_wrong_absent &&
        !filter.record.doubts.contains(SHMBLOOM_DOUBT_PAUSED))
        pause(name, std::to_string(filter.wrong_absents) + " wrong absents were reported", [](const auto &) {});
}

} // namespace shmbloom
