// A segment whose name is gone is copied into a new generation while adds and lookups go on: until then new workers cannot
// open it, and a start would have to restore it. The content is the same, so the lineage stays.
#include "service/instance.h"
#include "sys/clock.h"
#include "sys/log.h"

namespace shmbloom {

void Instance::notice_lost_name(const FilterPtr &filter) {
    if (!filter->segment || filter->changing || filter->build || filter->is_making_memory() || filter->bulk_jobs != 0 ||
        unix_seconds() < filter->no_renewal_before)
        return;
    std::optional<FileId> found;
    try {
        found = shared_memory_id(filter->segment->name());
    } catch (const std::system_error &) {
        return; // could not look; the next beat looks again
    }
    if (found == filter->segment->id())
        return;
    if ((filter->warnings & SHMBLOOM_WARNING_NAME_LOST) == 0)
        log::error("the name of filter '" + filter->record.name +
                   "' in /dev/shm is gone: adds and workers that have it mapped go on, new workers answer unverified "
                   "until it is copied to a new generation");
    filter->warnings |= SHMBLOOM_WARNING_NAME_LOST;
    renew(filter);
}

void Instance::renew(const FilterPtr &filter) {
    const BuildPtr build = new_build(*filter, Build::Kind::copy, "");
    build->lineage = filter->record.lineage;
    begin_build(filter, build, [this, filter, build](const std::optional<Failure> &failure) {
        if (failure) {
            filter->no_renewal_before = unix_seconds() + 60;
            log::error("filter '" + filter->record.name +
                       "' cannot be copied to a new generation, tried again in a minute: " + failure->text);
            return;
        }
        // Those bits of before come with the copy, in any order: bits only go from 0 to 1.
        fill_build(filter, build, [build, from = filter->segment](const JournalPlace &) {
            build->segment->merge(*from);
            return std::string{};
        });
        when_filled(filter, build, [this, filter, build](const std::optional<Failure> &stopped) {
            if (!stopped)
                commit_switch(filter, build, std::nullopt, [](const auto &) {});
        });
    });
}

} // namespace shmbloom
