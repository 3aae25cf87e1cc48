// Which control goes on: the one of before, when it is the very one that the registry names, or a new one.
#include <algorithm>

#include "service/start_steps.h"
#include "sys/log.h"

namespace shmbloom {

// The original's control, still where it was, is the original's.
bool Start::is_anothers(const ControlRecord &record) const {
    return found_copy_ && record.path != options_.runtime_dir + "/control" && file_id_at(record.path) == record.file;
}

void Start::find_control() {
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

void Start::forget_readers() {
    log::warning("no worker of before is left, says an operator: adds are taken");
    registry().control_lost = false;
    registry().adds_refused.clear();
}

void Start::name_control() {
    if (!adopted_control_) {
        started_.control =
            std::make_unique<Control>(Control::Create{}, options_.runtime_dir, registry().state_uuid, boot_);
        control().set_next_generation(registry().next_generation);
    }
    // Proof for a later start that does not find the frames: all below was synced just now.
    control().set_durable_lsn(std::max(control().durable_lsn(), started_.journal.after));
    registry().control = {control().path(), control().uuid(), control().id()};
}

} // namespace shmbloom
