// What an operator declares about a filter: live, paused, resumed, its unreachable readers gone.
#include "service/call_once.h"
#include "service/instance.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"

namespace shmbloom {

std::vector<std::string> Instance::matching(std::string_view name) const {
    std::vector<std::string> names;
    for (const auto &[other, filter] : filters_)
        if (filter->is_published() && (name == "*" || name == other))
            names.push_back(other);
    return names;
}

// That adds were lost is over only when a full snapshot holds all there is: else the next restore would find the same hole
// in the journal again.
void Instance::end_doubts(const FilterPtr &filter, std::uint32_t ended, Done done) {
    if ((ended & (SHMBLOOM_DOUBT_LOSSY | SHMBLOOM_DOUBT_DAMAGED)) == 0 || !filter->record.is_journalled())
        return write_ended_doubts(filter, ended, std::move(done));
    filter->changing = true;
    snapshotter_->take(filter, Snapshotter::Pace::full, [this, filter, ended, done](const std::string &error) {
        filter->changing = false;
        if (error.empty())
            return write_ended_doubts(filter, ended, done);
        done(Failure{"IO", "the doubts of filter '" + filter->record.name +
                               "' stay until a full snapshot is on the disk, and that failed: " + error +
                               "; see to the disk, then load it again"});
    });
}

// More certain: the registry first, then the segment's gate, control's last.
void Instance::write_ended_doubts(const FilterPtr &filter, std::uint32_t ended, Done done) {
    for (std::uint32_t bit = 1; bit <= ended; bit <<= 1)
        if ((ended & bit) != 0)
            filter->record.doubts.erase(bit);
    filter->record.live_since = filter->record.doubts.empty() ? unix_seconds() : 0;
    filter->changing = true;
    writer_.commit(
        {.durable =
             [this, filter, ended, done] {
                 crash_point("load.durable");
                 filter->changing = false;
                 const Gates gates = filter->gates(*control_);
                 // Paused again while this waited for the registry: then it stays so.
                 if ((ended & ~filter->record.doubt_bits() & SHMBLOOM_DOUBT_PAUSED) != 0)
                     gates.resume();
                 if (gates.segment != nullptr)
                     set_gate(gates.segment, filter->record.generation, filter->record.doubt_bits());
                 crash_point("load.segment_gate");
                 gates.open(filter->record.generation, filter->record.doubt_bits());
                 crash_point("load.control_gate");
                 filter->show_status(*control_, registry_);
                 done(std::nullopt);
             },
         .failed =
             [done](const std::string &error) {
                 done(Failure{"IO", "the registry cannot be written (" + error +
                                        "); it is tried again every second, and the doubts end when that succeeds"});
             }});
}

void Instance::declare_live(std::string_view name, std::optional<std::uint64_t> expected, Done caller) {
    const Done done = once(std::move(caller));
    Filter *const found = find(name);
    if (found == nullptr)
        return done(not_found(name));
    if (found->changing)
        return done(being_changed(name));
    if (!found->segment)
        return done(Failure{"NOMEM", "filter '" + std::string{name} +
                                         "' has no memory for its bits, so it can be live only "
                                         "after a restart of shmbloomd that finds room"});
    const std::uint32_t lost = found->record.doubt_bits() & (SHMBLOOM_DOUBT_LOSSY | SHMBLOOM_DOUBT_DAMAGED);
    found->show_status(*control_, registry_); // the estimate is of now
    if (expected && lost != 0)
        return done(
            Failure{"RANGE", "filter '" + std::string{name} + "' is " + join_names(kDoubtNames, lost) +
                                 ": acknowledged adds may be missing, and no number of keys shows that they are not; "
                                 "load it, or say FORCE (--force-incomplete)"});
    if (expected && found->estimated_keys() < *expected)
        return done(Failure{"RANGE", "filter '" + std::string{name} + "' has about " +
                                         std::to_string(found->estimated_keys()) + " keys, expected were at least " +
                                         std::to_string(*expected)});
    const std::uint32_t ended =
        found->record.doubt_bits() &
        (SHMBLOOM_DOUBT_WARMING | (expected ? 0 : SHMBLOOM_DOUBT_LOSSY | SHMBLOOM_DOUBT_DAMAGED));
    if (ended == 0)
        return done(std::nullopt);
    log::warning("filter '" + std::string{name} + "' was declared complete " +
                 (expected ? "with " + std::to_string(found->estimated_keys()) + " keys" : std::string{"by force"}) +
                 ", ending " + join_names(kDoubtNames, ended));
    const FilterPtr filter = filters_.find(name)->second;
    if ((ended & SHMBLOOM_DOUBT_WARMING) == 0 || !filter->record.bulk_unkept)
        return end_doubts(filter, ended, done);
    keep_unkept_bulk(filter, [this, filter, ended, done](const std::string &error) {
        if (!filter->is_published())
            return done(not_found(filter->record.name));
        if (filter->changing)
            return done(being_changed(filter->record.name));
        if (error.empty())
            return end_doubts(filter, ended & filter->record.doubt_bits(), done);
        done(Failure{"IO", "filter '" + filter->record.name +
                               "' stays in doubt until a full snapshot has what its loads "
                               "brought, and that failed: " +
                               error});
    });
}

// Less certain: the gates, then the registry, then the reply. Cannot be refused for a change under way.
void Instance::pause(std::string_view name, const std::string &why, Done caller) {
    const Done done = once(std::move(caller));
    const auto names = matching(name);
    if (names.empty() && name != "*")
        return done(not_found(name));
    for (const std::string &each : names) {
        Filter &filter = *filters_.find(each)->second;
        filter.gates(*control_).doubt(SHMBLOOM_DOUBT_PAUSED);
        filter.record.doubts[SHMBLOOM_DOUBT_PAUSED] = {unix_seconds(), why};
        filter.record.live_since = 0;
        filter.show_status(*control_, registry_);
        log::warning("filter '" + each + "' is paused (" + why + "): it answers unverified");
    }
    crash_point("pause.gates");
    writer_.commit(
        {.durable = [done] { done(std::nullopt); },
         .failed =
             [done](const std::string &error) {
                 done(Failure{"IO", "paused now, but a restart of the machine forgets it: the registry cannot be "
                                    "written (" +
                                        error + ")"});
             }});
}

void Instance::resume(std::string_view name, Done caller) {
    const Done done = once(std::move(caller));
    const auto names = matching(name);
    if (names.empty() && name != "*")
        return done(not_found(name));
    for (const std::string &each : names)
        if (filters_.find(each)->second->changing)
            return done(being_changed(each));
    const auto left = std::make_shared<std::size_t>(names.size());
    if (*left == 0)
        return done(std::nullopt);
    for (const std::string &each : names)
        end_doubts(filters_.find(each)->second, SHMBLOOM_DOUBT_PAUSED,
                   [done, left, each](std::optional<Failure> failure) {
                       if (failure)
                           return done(std::move(failure));
                       log::info("filter '" + each + "' is resumed");
                       if (--*left == 0)
                           done(std::nullopt);
                   });
}

void Instance::forget_readers(std::string_view name, Done caller) {
    const Done done = once(std::move(caller));
    if (name != "*" && find(name) == nullptr && !registry_.adds_refused.contains(std::string{name}))
        return done(not_found(name));
    std::erase_if(registry_.adds_refused, [&](const auto &entry) { return name == "*" || entry.first == name; });
    writer_.commit({.durable =
                        [this, name = std::string{name}, done] {
                            for (const std::string &each : matching(name)) {
                                Filter &filter = *filters_.find(each)->second;
                                filter.warnings &= ~SHMBLOOM_WARNING_ADDS_REFUSED;
                                filter.show_status(*control_, registry_);
                            }
                            log::warning("adds to '" + name +
                                         "' are taken again: an operator says that no worker of before is left");
                            done(std::nullopt);
                        },
                    .failed =
                        [done](const std::string &error) {
                            done(Failure{"IO", "the registry cannot be written: " + error});
                        }});
}

} // namespace shmbloom
