// Growth: a growable filter gets a larger generation, out of its hash list, before it holds more keys than it was made for.
// One filter and one probe always, never a chain of them.
#include <algorithm>
#include <map>

#include "service/call_once.h"
#include "service/instance.h"
#include "store/doubt.h"
#include "sys/clock.h"
#include "sys/log.h"
#include "sys/memory.h"

namespace shmbloom {
namespace {

constexpr std::uint64_t kWaitMax_ns = 500'000'000; // half of a worker's time for an add
constexpr std::uint64_t kLook_s = 10;
constexpr std::uint64_t kPause_s = 10; // after a growth that was refused

} // namespace

// What a growth makes: at least twice as large, and with room for so many keys below its own threshold.
std::uint64_t Instance::grown_capacity(const FilterRecord &record, std::uint64_t keys) const {
    std::uint64_t capacity = record.capacity;
    do
        capacity *= std::max(record.expansion, 2u);
    while (capacity < geometry::kCapacityMax && static_cast<double>(capacity) * grow_at_ < static_cast<double>(keys));
    return std::min(capacity, geometry::kCapacityMax);
}

std::optional<Failure> Instance::over_budget(const Filter &filter, const Build &build) const {
    const std::uint64_t need = geometry::place(build.shape).segment_bytes;
    const MemoryUse use = memory_use();
    if (use.used + need <= use.limit)
        return std::nullopt;
    return Failure{"NOMEM", "the new generation of filter '" + filter.record.name + "' needs " + std::to_string(need) +
                                " bytes, " + std::to_string(use.used + need - use.limit) + " more than " + use.limit_text +
                                " leaves; " + holders_text(filter) +
                                "make room, or start shmbloomd with a larger --max-memory"};
}

// Who keeps memory of the filter that no generation uses any more; looked for on a thread, as it takes a while, and only
// from a switch on until nobody is found.
void Instance::look_for_holders(const FilterPtr &filter) {
    const std::uint64_t now = boottime_ns() / 1'000'000'000;
    if (!filter->may_be_held || filter->build || filter->changing || now < filter->no_look_before)
        return;
    filter->no_look_before = now + kLook_s;
    std::string state = to_string(registry_.state_uuid);
    std::erase(state, '-');
    memory_.run([this, filter, state = state.substr(0, 16), uuid = to_string(filter->record.uuid),
                 generation = filter->record.generation] {
        auto found = holders::find(state, uuid).holders;
        std::erase_if(found, [&](const holders::Holder &holder) { return holder.generation >= generation; });
        post_([filter, found, generation] {
            filter->holders = found;
            filter->may_be_held = !found.empty() || filter->record.generation != generation;
        });
    });
}

std::string Instance::holders_text(const Filter &filter) const {
    std::string text;
    for (const holders::Holder &holder : filter.holders)
        text += (text.empty() ? "" : ", ") + std::to_string(holder.pid) + " (generation " +
                std::to_string(holder.generation) + ", " + std::to_string(holder.bytes) + " bytes)";
    return text.empty() ? "" : "processes that still map earlier generations: " + text + "; restart them, or ";
}

std::optional<Failure> Instance::plan_growth(const Filter &filter, std::optional<std::uint64_t> capacity,
                                             std::uint64_t keys, Build &build) const {
    const FilterRecord &record = filter.record;
    const std::string name = "filter '" + record.name + "'";
    if (!record.growable)
        return Failure{"RANGE", name + " is not growable; rebuild it from its source with another --capacity"};
    if (!record.is_journalled() || !record.hash_list.complete)
        return Failure{"RANGE", "the hash list of " + name +
                                    " is incomplete: bits came without their hashes, so it cannot grow without its source; "
                                    "'shmbloomctl rebuild " +
                                    record.name + "' from its source makes the list whole"};
    if (record.bulk_unkept)
        return Failure{"RANGE", "a load of " + name +
                                    " was cut off, and nobody has the hashes of what it brought; load it again to "
                                    "its end, or rebuild it, and it grows"};
    build.capacity = capacity.value_or(grown_capacity(record, keys));
    if (build.capacity <= record.capacity)
        return Failure{"RANGE", name + " has a capacity of " + std::to_string(record.capacity) +
                                    " already; a smaller one needs a rebuild from its source"};
    if (auto failure = plan_shape({}, build))
        return failure;
    build.replay_from = record.hash_list.through;
    return over_budget(filter, build);
}

void Instance::grow(const std::string &name, std::optional<std::uint64_t> capacity, const std::string &by,
                    SwitchDone done) {
    if (find(name) == nullptr)
        return done(not_found(name), {});
    const FilterPtr filter = filters_.find(name)->second;
    grow(filter, capacity, filter->estimated_keys(), by, std::move(done));
}

// `done` when it is switched, or why not.
void Instance::grow(const FilterPtr &filter, std::optional<std::uint64_t> capacity, std::uint64_t keys,
                    const std::string &by, SwitchDone caller) {
    const SwitchDone done = once(std::move(caller));
    if (auto failure = may_build(*filter))
        return done(std::move(failure), {});
    if (filter->listing)
        return done(Failure{"BUSY", "the hash list of filter '" + filter->record.name + "' is just being written; try again"},
                    {});
    const BuildPtr build = new_build(*filter, Build::Kind::growth, by);
    if (auto failure = plan_growth(*filter, capacity, keys, *build))
        return done(std::move(failure), {});
    log::info("filter '" + filter->record.name + "' grows from a capacity of " + std::to_string(filter->record.capacity) +
              " keys to " + std::to_string(build->capacity));
    begin_build(filter, build, [this, filter, build, done](const std::optional<Failure> &failure) {
        if (failure)
            return done(failure, {});
        fill_build(filter, build, [this, build, uuid = filter->record.uuid,
                                   number = filter->record.number](const JournalPlace &place) { return fill_from_hash_list(build, uuid, number, place); });
        when_filled(filter, build, [this, filter, build, done](const std::optional<Failure> &stopped) {
            if (stopped)
                return done(stopped, {});
            end_growth(filter, build, done);
        });
    });
}

// On the builder's thread.
std::string Instance::fill_from_hash_list(const BuildPtr &build, const Uuid &uuid, std::uint64_t filter_number,
                                          const JournalPlace &place) {
    const std::string folder_name = to_string(uuid);
    std::uint64_t fresh = 0, keys = 0;
    try {
        const UniqueFd folder = state_.open_subfolder(folder_name);
        for (const HashFileRecord &file : build->hash_list.files) {
            const std::string trouble = read_hash_list(folder.get(), state_.path() + "/" + folder_name, uuid, file,
                                                       [&](std::span<const std::uint64_t> hashes) {
                                                           fresh += build->segment->set(hashes);
                                                           keys += hashes.size();
                                                       });
            if (!trouble.empty())
                return trouble;
        }
    } catch (const std::system_error &error) {
        return error.what();
    }
    post_([build, fresh, keys] {
        build->bits_set += fresh;
        build->keys = keys;
    });
    return replay_into(build, filter_number, place);
}

void Instance::end_growth(const FilterPtr &filter, const BuildPtr &build, const SwitchDone &done) {
    const std::string &trouble = build->trouble;
    if (is_list_in_trouble(filter, build->is_unwritten ? "" : trouble, build->is_unwritten ? trouble : "")) {
        end_build(filter, build);
        return done(Failure{"IO", "filter '" + filter->record.name + "' did not grow: its hash list cannot be " +
                                      (build->is_unwritten ? "written: " : "read: ") + trouble},
                    {});
    }
    SwitchResult result{.switched = true,
                        .keys = build->keys,
                        .replayed = build->replayed,
                        .estimated_before = filter->estimated_keys(),
                        .estimated_after = build->estimated_keys()};
    switch_when_kept(filter, build, [result, done](const std::optional<Failure> &failure) {
        done(failure, failure ? SwitchResult{} : result);
    });
}

// By itself. `keys`: that it is to have room for.
void Instance::grow_by_itself(const FilterPtr &filter, std::uint64_t keys) {
    if (filter->build || filter->changing || filter->listing || unix_seconds() < filter->no_growth_before)
        return;
    grow(filter, std::nullopt, keys, "", [this, filter](const std::optional<Failure> &failure, const SwitchResult &) {
        if (failure && failure->word != std::string_view{"BUSY"}) {
            if (filter->growth_blocked != failure->text)
                log::error("filter '" + filter->record.name + "' does not grow: " + failure->text);
            filter->growth_blocked = failure->text;
            filter->no_growth_before = unix_seconds() + kPause_s;
        } else if (!failure) {
            filter->growth_blocked.clear();
        }
        add_those_that_waited(filter);
    });
}

// Once a second.
void Instance::look_after_growth(const FilterPtr &filter) {
    warn_of_fill(*filter);
    if (!later_)
        end_waits(filter);
    const FilterRecord &record = filter->record;
    if (!record.growable || !filter->segment)
        return;
    if (!record.hash_list.complete)
        filter->growth_blocked = "its hash list is incomplete; rebuild it from its source";
    const auto threshold = static_cast<double>(record.capacity) * grow_at_;
    if (static_cast<double>(filter->estimated_keys()) >= threshold && !filter->has_bulk())
        grow_by_itself(filter, filter->estimated_keys());
    else if (record.hash_list.complete)
        filter->growth_blocked.clear();
    if (filter->growth_blocked.empty())
        filter->warnings &= ~std::uint32_t{SHMBLOOM_WARNING_GROWTH_BLOCKED};
    else
        filter->warnings |= SHMBLOOM_WARNING_GROWTH_BLOCKED;
}

// A line in the log at 70, 85 and 100 %, each once.
void Instance::warn_of_fill(Filter &filter) const {
    const FilterRecord &record = filter.record;
    const std::uint64_t percent = filter.estimated_keys() * 100 / record.capacity;
    const std::uint64_t step = percent >= 100 ? 100 : percent >= 85 ? 85 : percent >= 70 ? 70 : 0;
    if (step <= filter.warned_percent) {
        filter.warned_percent = step;
        return;
    }
    filter.warned_percent = step;
    std::string text = "filter '" + record.name + "' is at " + std::to_string(percent) + " % of its capacity of " +
                       std::to_string(record.capacity) + " keys";
    if (record.growable) {
        const Growth growth = next_growth(filter);
        text += "; it grows at " + std::to_string(growth.at_keys) + " keys to " + std::to_string(growth.to_capacity) +
                ", which takes " + std::to_string(growth.bytes) + " bytes" +
                (growth.missing_bytes == 0 ? "" : ": " + std::to_string(growth.missing_bytes) + " more than there are");
    } else {
        text += record.when_full == WhenFull::refuse ? "; at 100 % new keys are refused" : "; above, its rate rises";
        text += ": rebuild it with a larger --capacity";
    }
    log::warning(text);
}

Instance::Growth Instance::next_growth(const Filter &filter) const {
    Growth growth;
    growth.at_keys = static_cast<std::uint64_t>(static_cast<double>(filter.record.capacity) * grow_at_);
    growth.to_capacity = grown_capacity(filter.record, growth.at_keys);
    const auto layout = geometry::parse_layout(filter.record.layout_asked);
    const auto planned =
        geometry::plan(growth.to_capacity, filter.record.fpr, layout.value_or(geometry::LayoutChoice::automatic));
    if (const auto *geometry = std::get_if<geometry::Geometry>(&planned))
        growth.bytes = geometry->segment_bytes;
    const MemoryUse use = memory_use();
    growth.missing_bytes = use.used + growth.bytes > use.limit ? use.used + growth.bytes - use.limit : 0;
    return growth;
}

// With what is pinned, as far as this process may see it.
Instance::MemoryUse Instance::memory_use() const {
    MemoryUse use;
    for (const auto &[name, filter] : filters_)
        if (filter->build && !filter->build->segment) // it has none yet, and will
            use.used += geometry::place(filter->build->shape).segment_bytes;
    if (options_.max_memory_bytes == 0) {
        const FilesystemRoom room = shared_memory_room();
        use.limit = room.total - room.total / 4;
        use.used += room.total - room.free;
        use.limit_text = "three quarters of /dev/shm, which is as much as shmbloomd takes (--max-memory),";
        return use;
    }
    use.limit = options_.max_memory_bytes;
    use.limit_text = "--max-memory " + std::to_string(use.limit);
    for (const auto &[name, filter] : filters_) {
        use.used += filter->segment ? filter->segment->memory_bytes() : 0;
        use.used += filter->build && filter->build->segment ? filter->build->segment->memory_bytes() : 0;
        std::map<std::uint64_t, std::uint64_t> pinned; // by generation: one memory, whoever maps it
        for (const holders::Holder &holder : filter->holders)
            pinned[holder.generation] = holder.bytes;
        for (const auto &[generation, bytes] : pinned)
            use.used += bytes;
    }
    return use;
}

// Whether the add is to wait until the filter has grown: only when its new keys do not fit any more. Also begins the
// growth, and answers for those that are not growable.
bool Instance::waits_for_growth(const FilterPtr &filter, std::span<const std::uint64_t> hashes) {
    const FilterRecord &record = filter->record;
    const std::uint64_t most_bits = filter->bits_set + hashes.size() * 64;
    if (most_bits < filter->bits_at(grow_at_))
        return false;
    const std::uint64_t fresh = filter->fresh(hashes);
    const std::uint64_t keys = filter->estimate_now() + fresh;
    if (static_cast<double>(keys) < static_cast<double>(record.capacity) * grow_at_ || !record.hash_list.complete)
        return false;
    const bool is_over = fresh != 0 && keys > record.capacity;
    if (is_over && filter->build == nullptr && filter->growth_blocked.empty())
        grow_by_itself(filter, filter->waiting_hashes() + keys);
    else if (!filter->build)
        grow_by_itself(filter, keys);
    return is_over && filter->build && filter->build->kind == Build::Kind::growth;
}

void Instance::wait_for_growth(const FilterPtr &filter, std::size_t hashes, std::function<void(bool may_wait)> add) {
    filter->growth_waits.push_back({std::move(add), hashes, boottime_ns() + kWaitMax_ns});
    if (filter->growth_waits.size() == 1)
        look_again_at_waits(filter);
}

void Instance::look_again_at_waits(const FilterPtr &filter) {
    if (later_)
        later_(std::chrono::nanoseconds{kWaitMax_ns}, [this, filter] { end_waits(filter); });
}

// Not in time: they go on, and if the rate rises for it, that is shown.
void Instance::end_waits(const FilterPtr &filter) {
    const std::uint64_t now = boottime_ns();
    auto &waits = filter->growth_waits;
    while (!waits.empty() && waits.front().until_ns <= now) {
        const auto add = std::move(waits.front().add);
        waits.pop_front();
        add(false);
    }
    if (!waits.empty())
        look_again_at_waits(filter);
}

// Grown, or it failed.
void Instance::add_those_that_waited(const FilterPtr &filter) {
    for (const auto &waiting : std::exchange(filter->growth_waits, {}))
        waiting.add(true);
}

} // namespace shmbloom
