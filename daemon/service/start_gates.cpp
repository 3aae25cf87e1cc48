// The end of a start: the gates are opened, each by what is durable by now.
#include <algorithm>
#include <unistd.h>
#include <utility>

#include "service/start_steps.h"
#include "sys/crash_point.h"
#include "sys/os_error.h"

namespace shmbloom {

// More certain things last: a segment's gate before its slot's, and a new control's name last of all.
void Start::open_gates() {
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
void Start::end_foreign_slots() {
    for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        if (!is_used(i))
            end_gate(&control().slot(i)->gate);
}

void Start::open_slot(Filter &filter) {
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

// Every slot that no filter has is free here: end_foreign_slots saw to it.
std::size_t Start::unused_slot() {
    for (std::size_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        if (!is_used(i))
            return i;
    throw Refusal{"the registry names more than " + std::to_string(SHMBLOOM_SLOT_COUNT) + " filters"};
}

bool Start::is_used(std::size_t slot) const {
    return std::ranges::any_of(started_.filters, [slot](const auto &entry) { return entry.second->slot == slot; });
}

} // namespace shmbloom
