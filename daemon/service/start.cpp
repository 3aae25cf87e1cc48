#include "service/start.h"

#include <algorithm>
#include <utility>

#include "service/start_steps.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

Registry make_registry(const Options &options, const StateFolder &state, const Uuid &boot) {
    if (!state.is_new() && !options.init)
        throw Refusal{"the state folder '" + state.path() +
                      "' has no registry.json: if a filter was ever kept here, put "
                      "the folder back from where it went; to begin with no filters, start once with --init"};
    Registry registry;
    registry.state_uuid = Uuid::random();
    registry.folder = state.id();
    auto seed = state.read_seed(options.seed_file);
    if (!seed)
        seed = state.make_seed();
    registry.seed = seed->seed;
    registry.domain = seed->domain;
    registry.boot = boot;
    return registry;
}

bool is_copy(const StateFolder &state, const Registry &registry, bool same_boot) {
    const FileId here = state.id();
    return registry.folder.inode != here.inode || (same_boot && registry.folder.dev != here.dev);
}

void check_registry(const Options &options, const StateFolder &state, const Registry &registry, bool same_boot) {
    if (is_copy(state, registry, same_boot) && !options.take_over)
        throw Refusal{"the state folder '" + state.path() +
                      "' is a copy: its registry was written in another folder, and "
                      "two daemons with one state would each miss the other's adds; start in the original folder, or "
                      "once with --take-over: its filters come up lossy"};
    if (const auto seed = state.read_seed(options.seed_file);
        seed && *seed != StateFolder::Seed{registry.seed, registry.domain})
        throw Refusal{
            "the seed file is not the one that this instance began with, every stored key would be absent; take "
            "the option --seed-file out, or begin with a new state folder"};
}

// What seems to come from the future happened before now, and the clock was set back since: an overlap or a day from
// now on is long enough.
void bring_to_now(Registry &registry) {
    const auto past = [now = unix_seconds()](std::uint64_t &since) { since = std::min(since, now); };
    past(registry.degraded.since);
    const auto of = [&](FilterRecord &record) {
        past(record.live_since);
        for (auto &[bit, doubt] : record.doubts)
            past(doubt.since);
    };
    for (FilterRecord &record : registry.filters)
        of(record);
    for (DroppedFilter &dropped : registry.dropped) {
        past(dropped.since);
        of(dropped.record);
    }
}

} // namespace

Started Start::run() {
    read_wall_clock();
    open_registry();
    find_control();
    if (options_.forget_readers)
        forget_readers();
    end_leftovers();
    restore_ = std::make_unique<Restore>(state_, registry(), durable_lsn_);
    records_ = std::exchange(registry().filters, {});
    for (FilterRecord &record : records_)
        take(record);
    note();
    for (const auto &[name, filter] : started_.filters)
        if (filter->record.making != 0)
            make_anew(*filter);
    restore_->replay();
    crash_point("start.replayed");
    go_on_with_journal();
    name_control();
    // Segments and control stand now: from here on they are true.
    state_.write_registry(whole_registry(started_.registry, started_.filters));
    crash_point("start.durable");
    restore_->remove_unused_files();
    open_gates();
    started_.last_start = {restore_->report(), (boottime_ns() - begun_ns_) / 1'000'000};
    log::info(started_.last_start.text);
    return std::move(started_);
}

void Start::open_registry() {
    auto found = state_.read_registry();
    same_boot_ = found && found->boot == boot_;
    if (found)
        check_registry(options_, state_, *found, same_boot_);
    found_copy_ = found && is_copy(state_, *found, same_boot_);
    registry() = found ? std::move(*found) : make_registry(options_, state_, boot_);
    if (found_copy_)
        take_over();
    bring_to_now(registry());
    was_clean_ = registry().clean_stop;
    registry().folder = state_.id();
    if (!same_boot_) {
        // Every process that could map an old control or segment is gone.
        registry().control_lost = false;
        registry().adds_refused.clear();
        // Else a start that ends after noting this boot would leave them to the next as lost in it.
        registry().control = {};
        for (FilterRecord &record : registry().filters)
            record.segment = {};
    }
}

// Another state from here on: what the original keeps in memory is not touched, and none of it is ours.
void Start::take_over() {
    log::warning("the copy '" + state_.path() + "' is taken over: a state of its own from now on");
    registry().earlier_state_uuids.push_back(registry().state_uuid);
    registry().state_uuid = Uuid::random();
    registry().ending.clear();
    for (FilterRecord &record : registry().filters)
        record.making = 0;
}

// Set forward since the daemon of before in this boot: by the clock of now, what it wrote a minute ago may look an hour
// old.
void Start::note_clock() {
    const std::uint64_t boot_at = unix_seconds() - boottime_ns() / 1'000'000'000;
    if (registry().boot != boot_)
        registry().clock_set_at = 0;
    else if (registry().boot_at != 0 && boot_at > registry().boot_at + 1)
        registry().clock_set_at = unix_seconds();
    registry().boot_at = boot_at;
}

// Durable before anything that workers see is made or replaced.
void Start::note() {
    note_clock();
    registry().boot = boot_;
    registry().clean_stop = false;
    if (adopted_control_)
        control().set_next_generation(registry().next_generation);
    state_.write_registry(whole_registry(registry(), started_.filters));
    crash_point("start.noted");
}

// Of what was adopted nobody knows how much of the journal is its own: at most all of it.
void Start::go_on_with_journal() {
    started_.journal = restore_->settings();
    started_.journal_folder = restore_->take_folder();
    for (const auto &[name, filter] : started_.filters)
        if (const FilterRecord &record = filter->record; record.is_journalled() && !restore_->is_planned(*filter))
            filter->hashes_since_snapshot =
                started_.journal.next - (record.snapshots.empty() ? record.created : record.snapshots.back().s);
}

Registry whole_registry(const Registry &registry, const Filters &filters) {
    Registry whole = registry;
    for (const auto &[name, filter] : filters)
        if (filter->record.generation != 0 || filter->record.making != 0)
            whole.filters.push_back(filter->record);
    return whole;
}

Started start_instance(const Options &options, const StateFolder &state, const Uuid &boot) {
    try {
        return Start{options, state, boot}.run();
    } catch (...) {
        // Refused, or a full disk: a first start that leaves a folder without a registry makes the next one be refused.
        state.remove_if_unused();
        throw;
    }
}

} // namespace shmbloom
