// Rebuild: a source from its beginning on, and every add of the journal since then less an overlap, make a new generation.
// IDs that were deleted in the source are not in it.
#include <algorithm>

#include "service/call_once.h"
#include "service/instance.h"
#include "service/names.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/log.h"

namespace shmbloom {
namespace {

constexpr std::size_t kMustContainMax = 1'000'000;
constexpr std::size_t kMissingShown = 20;

std::uint64_t boot_seconds() {
    return boottime_ns() / 1'000'000'000;
}

Failure nothing_changed(const char *word, const std::string &why) {
    return {word, why + "; nothing changed"};
}

} // namespace

Failure Instance::no_rebuild(std::string_view name) const {
    return {"ERR", "no rebuild of filter '" + std::string{name} + "' was begun on this connection; send SB.REBUILD " +
                       std::string{name} + " BEGIN first"};
}

// By the boot clock as far as this daemon has run, which no step of the machine's clock confuses; before that by the times
// of the journal's files.
std::optional<Lsn> Instance::next_lsn_of(std::uint64_t seconds_ago) const {
    const std::uint64_t now = boot_seconds();
    if (const auto lsn = seconds_ago == 0 ? journal_->next() : lsn_clock_.at(now - std::min(now, seconds_ago)))
        return lsn;
    const std::uint64_t wall = unix_seconds() - std::min(unix_seconds(), seconds_ago);
    if (registry_.journal.trimmed_until >= wall)
        return std::nullopt;
    const auto &files = journal_->files().all();
    if (wall <= registry_.clock_set_at && !files.empty())
        return files.front().first; // all there is: how old it is nobody knows
    for (const JournalFiles::File &file : files)
        if (file.last_used >= wall)
            return file.first;
    return files.empty() ? journal_->next() : files.back().first;
}

// Where the journal's part begins: `replay_from`. What a filter has no journal of cannot be brought along.
std::optional<Failure> Instance::plan_replay(const Filter &filter, const RebuildRequest &request, Build &build) const {
    const FilterRecord &record = filter.record;
    if (!record.is_journalled()) {
        build.replay_from = 0;
        build.source_begun = unix_seconds();
        if (request.since_lsn || request.since_s.value_or(0) != 0 || request.overlap_s != 0)
            return Failure{"RANGE", "filter '" + record.name +
                                        "' keeps no journal (durability memory), so adds of the last hour cannot be brought "
                                        "along; if every add is in the source at once, and the source begins now, say "
                                        "--overlap 0 (OVERLAP 0)"};
        return std::nullopt;
    }
    std::optional<std::uint64_t> ago = request.since_s;
    std::optional<Lsn> from;
    if (request.since_lsn) {
        if (*request.since_lsn > journal_->next())
            return Failure{"RANGE", "SINCE " + std::to_string(*request.since_lsn) +
                                        " has not been given out yet, the next LSN is " + std::to_string(journal_->next()) +
                                        "; is it another instance's?"};
        const auto time = lsn_clock_.time_of(*request.since_lsn);
        if (time)
            ago = boot_seconds() - *time;
        else if (request.overlap_s == 0)
            from = *request.since_lsn;
        else
            return Failure{"RANGE", "LSN " + std::to_string(*request.since_lsn) +
                                        " is older than this daemon, so nobody knows what came an overlap before it; "
                                        "say --since with a duration (SINCE-SECONDS), or --overlap 0 with an LSN that was "
                                        "noted an overlap before the source began"};
        if (request.overlap_s == 0)
            from = *request.since_lsn;
    }
    build.source_begun = ago ? unix_seconds() - std::min(unix_seconds(), *ago) : request.since_lsn ? 0 : unix_seconds();
    if (!from)
        from = next_lsn_of(ago.value_or(0) + request.overlap_s);
    // Who waits to be acknowledged may be so after the source began.
    if (from)
        from = std::min(*from, journal_->durable());
    const auto &files = journal_->files().all();
    // Without a file: what is to be written into the first. What was written went with its folder.
    const Lsn kept_from = files.empty() ? journal_->written() : files.front().first;
    // What came before the filter need not be there.
    build.replay_from = std::max(from.value_or(0), record.created);
    if (build.replay_from < kept_from)
        return Failure{
            "RANGE",
            "the journal does not reach back to an overlap before the source's beginning" +
                (registry_.journal.trimmed_until == 0 ? std::string{}
                                                      : ", but to " + time_text(registry_.journal.trimmed_until)) +
                ": adds of then would be missing. Take a source that begins later, or a shorter --overlap; or keep more: "
                "shmbloomd --journal-retention and --journal-limit"};
    return std::nullopt;
}

// What was loaded in bulk or imported is not in the journal: a source that began before may not have it.
std::optional<Failure> Instance::plan_bulk(const Filter &filter, const RebuildRequest &request,
                                           const Build &build) const {
    const FilterRecord &record = filter.record;
    // The same LSN may have been noted before or after.
    const bool is_before =
        request.since_lsn ? *request.since_lsn <= record.bulk_lsn : build.source_begun < record.bulk_at;
    if (record.bulk_at == 0 || !is_before)
        return std::nullopt;
    return Failure{"RANGE",
                   "keys were loaded or imported into filter '" + record.name + "' from a source that began at " +
                       time_text(record.bulk_at) +
                       ", later than this one, and they are not in the journal: a rebuild would lose them. Take a "
                       "source that began later" +
                       (request.since_lsn ? "; if it did, say so by a duration (--since 10m, SINCE-SECONDS)" : "")};
}

// Doubts that the good end clears: `warming`, and that adds were lost, if the source began late enough to have them.
std::optional<Failure> Instance::plan_doubts(const Filter &filter, Build &build) const {
    for (const auto &[bit, doubt] : filter.record.doubts) {
        const bool lost = bit == SHMBLOOM_DOUBT_LOSSY || bit == SHMBLOOM_DOUBT_DAMAGED;
        if (lost && build.source_begun < doubt.since + build.overlap_s)
            return Failure{"RANGE", "filter '" + filter.record.name + "' is " + join_names(kDoubtNames, bit) + " since " +
                                        time_text(doubt.since) + "; a source that has what was lost begins the overlap of " +
                                        std::to_string(build.overlap_s) + " s later, at " +
                                        time_text(doubt.since + build.overlap_s) +
                                        "; if every add is in the source at once, say --overlap 0 (OVERLAP 0)"};
        if (lost || bit == SHMBLOOM_DOUBT_WARMING)
            build.ends |= bit;
    }
    return std::nullopt;
}

std::optional<Failure> Instance::plan_shape(const RebuildRequest &request, Build &build) const {
    build.capacity = request.capacity.value_or(build.capacity);
    build.fpr = request.fpr.value_or(build.fpr);
    build.layout_asked = request.layout.value_or(build.layout_asked);
    const auto layout = geometry::parse_layout(build.layout_asked);
    if (!layout)
        return Failure{"RANGE", "LAYOUT is auto, classic or blocked"};
    const auto planned = geometry::plan(build.capacity, build.fpr, *layout);
    if (const auto *error = std::get_if<std::string>(&planned))
        return Failure{"RANGE", *error};
    build.shape = std::get<geometry::Geometry>(planned).shape;
    return std::nullopt;
}

std::optional<Failure> Instance::may_build(const Filter &filter) const {
    const std::string &name = filter.record.name;
    if (filter.changing)
        return being_changed(name);
    if (filter.build)
        return is_being_built(filter);
    if (filter.is_making_memory())
        return Failure{"BUSY", "the memory of a build of filter '" + name +
                                   "' that was stopped is still being made; try again"};
    if (!filter.segment)
        return Failure{"NOMEM", "filter '" + name + "' has no memory for its bits; make room and restart shmbloomd"};
    if (const auto refused = registry_.adds_refused.find(name); refused != registry_.adds_refused.end())
        return Failure{"BUSY", "adds to filter '" + name + "' are refused: " + refused->second.text};
    if (filter.bulk_jobs != 0 || filter.has_bulk())
        return Failure{"BUSY", "a load of filter '" + name + "' is under way; wait for its end"};
    return std::nullopt;
}

void Instance::begin_rebuild(std::uint64_t session, const std::string &by, const RebuildRequest &request, Done caller) {
    const Done done = once(std::move(caller));
    const auto found = filters_.find(request.name);
    if (found == filters_.end() || !found->second->is_published())
        return done(not_found(request.name));
    const FilterPtr filter = found->second;
    if (auto failure = may_build(*filter))
        return done(std::move(failure));
    if (!request.snapshot.empty())
        return open_for_rebuild(session, by, filter, request, done);
    rebuild(session, by, filter, request, nullptr, done);
}

// As an import does it: the file is open then, and its name of no more use.
void Instance::open_for_rebuild(std::uint64_t session, const std::string &by, const FilterPtr &filter,
                                const RebuildRequest &request, const Done &done) {
    open_imported(request.snapshot, [this, session, by, filter, request, done](const SnapshotPtr &file,
                                                                              const std::string &reason) {
        if (!file)
            return done(Failure{"RANGE", "not rebuilt: " + reason});
        if (!filter->is_published())
            return done(not_found(request.name));
        if (auto failure = may_build(*filter))
            return done(std::move(failure));
        rebuild(session, by, filter, request, file, done);
    });
}

void Instance::rebuild(std::uint64_t session, const std::string &by, const FilterPtr &filter, RebuildRequest request,
                       const SnapshotPtr &file, const Done &done) {
    const BuildPtr build = new_build(*filter, Build::Kind::rebuild, by);
    build->session = session;
    build->overlap_s = request.overlap_s;
    if (file) {
        const SnapshotIdentity &identity = file->identity();
        if (identity.hash_domain != hash_domain(*filter))
            return done(other_domain(identity, hash_domain(*filter)));
        if (!request.since_lsn && !request.since_s) {
            const std::uint64_t now = unix_seconds();
            if (identity.source_begun == 0 || identity.source_begun > now)
                return done(
                    Failure{"RANGE", std::string{identity.source_begun == 0
                                                     ? "the snapshot does not say when its source began"
                                                     : "the snapshot's source began in the future by this "
                                                       "machine's clock"} +
                                         "; say --since LSN or DURATION (SINCE, SINCE-SECONDS): how long ago it did"});
            request.since_s = now - identity.source_begun;
        }
        build->capacity = identity.capacity;
        build->fpr = identity.fpr;
        build->layout_asked = layout_text(identity.shape.layout);
    }
    if (auto failure = plan_shape(file ? RebuildRequest{} : request, *build))
        return done(std::move(failure));
    if (file)
        build->shape = file->identity().shape;
    if (auto failure = plan_replay(*filter, request, *build))
        return done(std::move(failure));
    if (auto failure = plan_bulk(*filter, request, *build))
        return done(std::move(failure));
    if (auto failure = plan_doubts(*filter, *build))
        return done(std::move(failure));
    if (auto failure = over_budget(*filter, *build))
        return done(std::move(failure));
    build->hash_list = {.complete = filter->record.growable && !file, .through = build->replay_from, .files = {}};
    begin_build(filter, build, [this, filter, build, file, done](const std::optional<Failure> &failure) {
        if (failure)
            return done(failure);
        fill_build(filter, build, [this, build, file, number = filter->record.number,
                                   is_journalled = filter->record.is_journalled()](const JournalPlace &place) {
            std::string reason;
            if (file && !file->merge_into(build->segment->words(), reason))
                return reason;
            // What is in memory only has nothing to replay: that may fail over other filters' adds.
            const std::string trouble = is_journalled ? replay_into(build, number, place) : "";
            if (file)
                post_([build, bits_set = build->segment->count_bits()] { build->bits_set = bits_set; });
            return trouble;
        });
        if (file)
            build->keys = static_cast<std::uint64_t>(geometry::estimated_keys(build->shape, file->bits_set()));
        log::info("a rebuild of filter '" + filter->record.name + "' was begun by " + build->by + ", generation " +
                  std::to_string(build->generation));
        done(std::nullopt);
    });
}

std::optional<Failure> Instance::must_contain(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                                              std::span<const std::uint64_t> hashes) {
    const BuildPtr build = rebuild_of(session, name);
    if (!build)
        return no_rebuild(name);
    if (this->hash_domain(*find(name)) != hash_domain)
        return stale(name);
    if (build->must_contain.size() + hashes.size() > kMustContainMax)
        return Failure{"RANGE", "at most " + std::to_string(kMustContainMax) + " keys that must be in it"};
    build->must_contain.insert(build->must_contain.end(), hashes.begin(), hashes.end());
    return std::nullopt;
}

Instance::BuildPtr Instance::rebuild_of(std::uint64_t session, std::string_view name) {
    const Filter *const filter = find(name);
    return filter != nullptr && filter->build && filter->build->kind == Build::Kind::rebuild &&
                   filter->build->session == session
               ? filter->build
               : nullptr;
}

// Why it must not be switched to; all that can be seen from the numbers.
std::optional<Failure> Instance::rebuild_refusal(const Filter &filter, const Build &build, const RebuildGuards &guards) const {
    if (!build.trouble.empty())
        return nothing_changed("IO", "the new generation could not be filled: " + build.trouble);
    if (build.keys == 0)
        return nothing_changed("RANGE", "the source brought no key, which never makes a generation");
    if (build.keys < guards.expected.value_or(0))
        return nothing_changed("RANGE", "the source brought " + std::to_string(build.keys) + " keys, expected were at least " +
                                            std::to_string(*guards.expected));
    const auto before = static_cast<double>(filter.estimated_keys());
    const auto after = static_cast<double>(build.estimated_keys());
    if (after < before * (1 - static_cast<double>(guards.shrink_percent) / 100))
        return nothing_changed("RANGE", "the new generation has about " + std::to_string(build.estimated_keys()) +
                                            " keys, the present one " + std::to_string(filter.estimated_keys()) +
                                            ": more than " + std::to_string(guards.shrink_percent) +
                                            " % fewer; if so many were deleted, say --allow-shrink PERCENT (SHRINK)");
    const std::uint64_t room = build.capacity + build.capacity / 50; // what is estimated may be off by a little
    if (filter.record.when_full == WhenFull::refuse && build.estimated_keys() > room)
        return nothing_changed("FULL", "the new generation has about " + std::to_string(build.estimated_keys()) +
                                           " keys and was made for " + std::to_string(build.capacity) +
                                           ", and filter '" + filter.record.name +
                                           "' was created with --when-full refuse; say a larger --capacity");
    std::string missing;
    std::size_t count = 0;
    for (std::size_t i = 0; i < build.must_contain.size(); i++)
        if (!build.segment->contains(build.must_contain[i]) && count++ < kMissingShown)
            missing += (missing.empty() ? "" : ",") + std::to_string(i);
    if (count != 0)
        return nothing_changed("RANGE", std::to_string(count) + " of " + std::to_string(build.must_contain.size()) +
                                            " keys that it must contain are not in the new generation, missing: " + missing);
    return std::nullopt;
}

void Instance::end_rebuild(std::uint64_t session, std::string_view name, const RebuildGuards &guards, SwitchDone caller) {
    const SwitchDone done = once(std::move(caller));
    const BuildPtr build = rebuild_of(session, name);
    if (!build || !build->segment)
        return done(no_rebuild(name), {});
    const FilterPtr filter = filters_.find(name)->second;
    when_filled(filter, build, [this, filter, build, guards, done](const std::optional<Failure> &stopped) {
        if (stopped)
            return done(stopped, {});
        filter->show_status(*control_, registry_); // the estimate is of now
        SwitchResult result{.keys = build->keys,
                            .replayed = build->replayed,
                            .estimated_before = filter->estimated_keys(),
                            .estimated_after = build->estimated_keys()};
        auto refusal = rebuild_refusal(*filter, *build, guards);
        if (refusal || guards.dry_run) {
            end_build(filter, build);
            return done(refusal, result);
        }
        result.switched = true;
        build->session = 0; // from here on it goes through, whoever waits for it
        finish_rebuild(filter, build, [result, done](const std::optional<Failure> &failure) {
            done(failure, failure ? SwitchResult{} : result);
        });
    });
}

void Instance::finish_rebuild(const FilterPtr &filter, const BuildPtr &build, Done done) {
    if (!build->list)
        return switch_when_kept(filter, build, std::move(done));
    build->list->finish([this, filter, build, done](const std::string &error, const HashFileRecord &file) {
        if (!is_current(filter, build))
            return done(nothing_changed("ERR", "the rebuild was stopped"));
        build->list.reset();
        if (error.empty()) {
            build->hash_list.files.push_back(file);
            return switch_when_kept(filter, build, done);
        }
        end_build(filter, build);
        done(nothing_changed("IO", error));
    });
}

std::optional<Failure> Instance::abort_rebuild(std::uint64_t session, std::string_view name) {
    const BuildPtr build = rebuild_of(session, name);
    if (!build)
        return no_rebuild(name);
    end_build(filters_.find(name)->second, build);
    return std::nullopt;
}

} // namespace shmbloom
