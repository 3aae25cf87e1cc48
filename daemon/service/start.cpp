#include "service/start.h"

#include <algorithm>
#include <cstring>

#include "service/restore.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/crash_point.h"
#include "sys/log.h"
#include "sys/memory.h"
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

// What a start does, step by step; a class only to keep what the steps share.
class Start {
  public:
    Start(const Options &options, const StateFolder &state, const Uuid &boot)
        : options_{options}, state_{state}, boot_{boot} {}

    Started run() {
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

  private:
    Registry &registry() { return started_.registry; }
    Control &control() { return *started_.control; }

    void open_registry() {
        auto found = state_.read_registry();
        same_boot_ = found && found->boot == boot_;
        if (found)
            check_registry(options_, state_, *found, same_boot_);
        found_copy_ = found && is_copy(state_, *found, same_boot_);
        registry() = found ? std::move(*found) : make_registry(options_, state_, boot_);
        if (found_copy_)
            take_over();
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
    void take_over() {
        log::warning("the copy '" + state_.path() + "' is taken over: a state of its own from now on");
        registry().earlier_state_uuids.push_back(registry().state_uuid);
        registry().state_uuid = Uuid::random();
        registry().ending.clear();
        for (FilterRecord &record : registry().filters)
            record.making = 0;
    }

    // The original's control, still where it was, is the original's.
    bool is_anothers(const ControlRecord &record) const {
        return found_copy_ && record.path != options_.runtime_dir + "/control" &&
               file_id_at(record.path) == record.file;
    }

    void find_control() {
        std::string reason;
        auto found = Control::open(options_.runtime_dir, reason);
        const ControlRecord &record = registry().control;
        adopted_control_ = found && same_boot_ && found->path() == record.path && found->id() == record.file &&
                           found->uuid() == record.uuid && found->boot() == boot_ &&
                           found->state_uuid() == registry().state_uuid;
        if (found && found->state_uuid() == registry().state_uuid) {
            registry().next_generation = std::max(registry().next_generation, found->next_generation());
            durable_lsn_ = found->durable_lsn();
        }
        if (adopted_control_) {
            started_.control = std::move(found);
            return;
        }
        // The very one, though of the state that this copy was until now: its readers are reached below.
        const bool stands = found && found->id() == record.file && found->uuid() == record.uuid;
        if (same_boot_ && !record.path.empty() && !stands && !is_anothers(record)) {
            log::warning("control '" + record.path + "' of this boot is lost (" +
                         (found ? "another one stands there" : reason) +
                         "): workers that map it go on with the segments they have");
            registry().control_lost = true;
        }
        // Whoever maps it must not go on by its gates: nobody stores them any more.
        if (found)
            found->end_all_gates();
    }

    void forget_readers() {
        log::warning("no worker of before is left, says an operator: adds are taken");
        registry().control_lost = false;
        registry().adds_refused.clear();
    }

    // Segments that no filter uses, and those that were never completed.
    void end_leftovers() {
        for (const EndingSegment &ending : std::exchange(registry().ending, {}))
            if (!end_segment(ending) && !ending.gate_ended && same_boot_) {
                refuse_adds_if_unreachable(ending.filter_name, ending.generation);
                // Until this start has opened the gates, control may be all that can end its readers: if this start
                // dies and control is lost before the next, that one must still know.
                registry().ending.push_back(ending);
            }
        for (FilterRecord &record : registry().filters)
            if (record.making != 0)
                remove_unfinished_shared_memory(
                    segment_name(registry().state_uuid, record.uuid, std::exchange(record.making, 0)));
        // A filter without a generation was never acknowledged.
        std::erase_if(registry().filters, [](const FilterRecord &record) { return record.generation == 0; });
    }

    // Gate 0, then the name. False when the name is gone or leads elsewhere.
    bool end_segment(const EndingSegment &ending) {
        const std::string name = segment_name(registry().state_uuid, ending.filter_uuid, ending.generation);
        if (shared_memory_id(name) != ending.segment)
            return false;
        SharedMemory memory{SharedMemory::Attach{}, name};
        if (memory.size() >= sizeof(shmbloom_segment_header))
            end_gate(&reinterpret_cast<shmbloom_segment_header *>(memory.data())->gate);
        return remove_shared_memory(name, ending.segment);
    }

    // Both a segment that was published and a control are gone: nothing can tell their readers of an add.
    void refuse_adds_if_unreachable(const std::string &name, std::uint64_t generation) {
        if (!registry().control_lost)
            return;
        const std::string text =
            "the segment of generation " + std::to_string(generation) +
            " and a control file were removed in this boot, so workers may still read bits that "
            "nobody can reach; restart the machine, or restart every worker and then run 'shmbloomctl "
            "forget-readers " +
            name + "'";
        registry().adds_refused[name] = {unix_seconds(), text};
        log::critical("adds to filter '" + name + "' are refused: " + text);
    }

    std::optional<std::size_t> find_slot(const FilterRecord &record) {
        for (std::size_t i = 0; adopted_control_ && i < SHMBLOOM_SLOT_COUNT; i++) {
            shmbloom_slot copy;
            shmbloom_copy_from_shared(&copy, control().slot(i), sizeof copy);
            if (Uuid::from(copy.uuid) == record.uuid &&
                record.name == std::string_view{copy.name, ::strnlen(copy.name, 64)})
                return i;
        }
        return std::nullopt;
    }

    // Adopts the filter's segment, or plans a new generation for it; gathers its doubts from wherever they stand.
    void take(FilterRecord &record) {
        auto filter = std::make_shared<Filter>();
        std::string reason = "the machine was restarted";
        filter->record = std::move(record);
        FilterRecord &mine = filter->record;
        if (same_boot_)
            filter->segment = Segment::adopt(filter->identity(registry(), mine.generation), mine.segment, reason);
        const auto slot = find_slot(mine);
        if (slot) {
            filter->slot = *slot;
            take_slot(*filter, *control().slot(*slot));
        }
        if (filter->segment)
            add_doubts(mine, doubts_of(shmbloom_load_gate(filter->segment->gate())), "set while the daemon was away");
        if (mine.doubts.contains(SHMBLOOM_DOUBT_PARTIAL)) {
            filter->segment.reset();
            reason = "its bits were never complete";
        }
        if (filter->segment) {
            // Shown at each add, so a slot of this very content knows.
            filter->bits_set = slot && mine.generation == generation_of(shmbloom_load_gate(&control().slot(*slot)->gate))
                                   ? shmbloom_load_field(&control().slot(*slot)->bits_set)
                                   : filter->segment->count_bits();
            filter->huge_page_bytes = filter->segment->huge_page_bytes();
            log::info("filter '" + mine.name + "': generation " + std::to_string(mine.generation) + " adopted");
        } else {
            lose(*filter, reason);
        }
        started_.filters.emplace(mine.name, std::move(filter));
    }

    // A gate of another generation says nothing of this one, but `paused` was meant for the filter.
    void take_slot(Filter &filter, const shmbloom_slot &slot) {
        const std::uint64_t gate = shmbloom_load_gate(&slot.gate);
        const bool agrees = generation_of(gate) == filter.record.generation;
        add_doubts(filter.record, doubts_of(gate) & (agrees ? SHMBLOOM_DOUBT_MASK : SHMBLOOM_DOUBT_PAUSED),
                   "set while the daemon was away");
        filter.record.adds_acknowledged =
            std::max(filter.record.adds_acknowledged, shmbloom_load_field(&slot.adds_acknowledged));
        filter.record.adds_new = std::max(filter.record.adds_new, shmbloom_load_field(&slot.adds_new));
        filter.adds_refused = shmbloom_load_field(&slot.adds_refused);
        filter.wrong_absents = shmbloom_load_field(&slot.wrong_absents);
    }

    static void add_doubts(FilterRecord &record, std::uint64_t bits, const std::string &text) {
        for (std::uint32_t i = 0; i < SHMBLOOM_DOUBT_COUNT; i++)
            if (bits >> i & 1)
                record.doubts.try_emplace(1u << i, DoubtRecord{unix_seconds(), text});
        if (!record.doubts.empty())
            record.live_since = 0;
    }

    void lose(Filter &filter, const std::string &reason) {
        FilterRecord &record = filter.record;
        log::warning("filter '" + record.name + "': the segment of generation " + std::to_string(record.generation) +
                     " is lost (" + reason + ")" +
                     (record.is_journalled() ? "; it is restored"
                                             : "; a new, empty one answers unverified: load it again"));
        // A record without an inode never had a segment, so it has no readers.
        if (same_boot_ && record.segment != FileId{}) {
            refuse_adds_if_unreachable(record.name, record.generation);
            registry().ending.push_back({.filter_uuid = record.uuid,
                                         .filter_name = record.name,
                                         .generation = record.generation,
                                         .segment = record.segment});
        }
        record.doubts.erase(SHMBLOOM_DOUBT_PARTIAL);
        if (record.is_journalled())
            restore_->plan(filter, !same_boot_ && !was_clean_);
        if (!record.is_journalled() || found_copy_) {
            record.doubts[SHMBLOOM_DOUBT_LOSSY] = {unix_seconds(), "the segment was lost: " + reason};
            record.live_since = 0;
        }
        record.making = registry().next_generation++;
    }

    // Durable before anything that workers see is made or replaced.
    void note() {
        registry().boot = boot_;
        registry().clean_stop = false;
        if (adopted_control_)
            control().set_next_generation(registry().next_generation);
        state_.write_registry(whole_registry(registry(), started_.filters));
        crash_point("start.noted");
    }

    void make_anew(Filter &filter) {
        FilterRecord &record = filter.record;
        const std::uint64_t generation = std::exchange(record.making, 0);
        SegmentIdentity identity = filter.identity(registry(), generation);
        if (restore_->is_planned(filter))
            identity.lineage = record.lineage; // the same content as before
        std::string reason;
        try {
            const auto refusal =
                memory_refusal(geometry::place(record.shape).segment_bytes, options_.shm_reserve_bytes);
            if (!refusal)
                filter.segment = std::make_unique<Segment>(Segment::Create{}, identity);
            else
                reason = *refusal;
        } catch (const std::system_error &error) {
            reason = error.what();
        }
        crash_point("start.segment_made");
        record.generation = generation;
        if (!restore_->is_planned(filter))
            record.lineage = generation;
        record.segment = filter.segment ? filter.segment->id() : FileId{};
        filter.bits_set = 0;
        restore_->fill(filter);
        filter.huge_page_bytes = filter.segment ? filter.segment->huge_page_bytes() : 0;
        if (!filter.segment) {
            record.doubts[SHMBLOOM_DOUBT_PARTIAL] = {unix_seconds(), "no memory for its bits: " + reason};
            log::error("filter '" + record.name + "' has no memory, adds to it are refused: " + reason);
        }
    }

    // Of what was adopted nobody knows how much of the journal is its own: at most all of it.
    void go_on_with_journal() {
        started_.journal = restore_->settings();
        started_.journal_folder = restore_->take_folder();
        for (const auto &[name, filter] : started_.filters)
            if (const FilterRecord &record = filter->record; record.is_journalled() && !restore_->is_planned(*filter))
                filter->hashes_since_snapshot =
                    started_.journal.next - (record.snapshots.empty() ? record.created : record.snapshots.back().s);
    }

    void name_control() {
        if (!adopted_control_) {
            started_.control =
                std::make_unique<Control>(Control::Create{}, options_.runtime_dir, registry().state_uuid, boot_);
            control().set_next_generation(registry().next_generation);
        }
        // Proof for a later start that does not find the frames: all below was synced just now.
        control().set_durable_lsn(std::max(control().durable_lsn(), started_.journal.after));
        registry().control = {control().path(), control().uuid(), control().id()};
    }

    // More certain things last: a segment's gate before its slot's, and a new control's name last of all.
    void open_gates() {
        end_foreign_slots();
        for (const auto &[name, filter] : started_.filters) {
            if (registry().adds_refused.contains(name))
                filter->warnings |= SHMBLOOM_WARNING_ADDS_REFUSED;
            open_slot(*filter);
            crash_point("start.gate_open");
        }
        control().set_daemon_pid(static_cast<std::uint64_t>(::getpid()));
        control().beat();
        if (!adopted_control_)
            control().publish();
        control().raise_name_counter();
        end_replaced();
        crash_point("start.open");
    }

    // A slot that no filter of the registry stands for.
    void end_foreign_slots() {
        for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
            if (!is_used(i))
                end_gate(&control().slot(i)->gate);
    }

    void open_slot(Filter &filter) {
        const FilterRecord &record = filter.record;
        if (!filter.is_published())
            filter.slot = unused_slot();
        const std::uint64_t gate = shmbloom_load_gate(&control().slot(filter.slot)->gate);
        std::uint64_t replaced = 0;
        if (generation_of(gate) != record.generation)
            replaced = control().write_slot(filter.slot, filter.picture(registry()));
        filter.gates(control()).open(record.generation,
                                     record.doubt_bits() | (doubts_of(replaced) & SHMBLOOM_DOUBT_PAUSED));
        filter.show_status(control(), registry());
    }

    // The segments that this start replaced: control's gates speak of the new generations already.
    void end_replaced() {
        if (registry().ending.empty())
            return;
        for (const EndingSegment &ending : std::exchange(registry().ending, {}))
            end_segment(ending);
        state_.write_registry(whole_registry(registry(), started_.filters));
    }

    // Every slot that no filter has is free here: end_foreign_slots saw to it.
    std::size_t unused_slot() {
        for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
            if (!is_used(i))
                return i;
        throw Refusal{"the registry names more than " + std::to_string(SHMBLOOM_SLOT_COUNT) + " filters"};
    }

    bool is_used(std::size_t slot) const {
        return std::ranges::any_of(started_.filters, [slot](const auto &entry) { return entry.second->slot == slot; });
    }

    const Options &options_;
    const StateFolder &state_;
    const Uuid boot_;
    const std::uint64_t begun_ns_ = boottime_ns();
    bool same_boot_ = false;
    bool found_copy_ = false;
    bool adopted_control_ = false;
    bool was_clean_ = false;
    Lsn durable_lsn_ = 1; // as the control that was found says
    std::vector<FilterRecord> records_;
    std::unique_ptr<Restore> restore_;
    Started started_;
};

} // namespace

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
