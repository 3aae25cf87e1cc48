// Segments that no filter uses any more, and their readers, whom somebody must be able to reach.
#include <utility>

#include "service/start_steps.h"
#include "sys/clock.h"
#include "sys/log.h"

namespace shmbloom {

// Segments that no filter uses, and those that were never completed.
void Start::end_leftovers() {
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
bool Start::end_segment(const EndingSegment &ending) {
    const std::string name = segment_name(registry().state_uuid, ending.filter_uuid, ending.generation);
    if (shared_memory_id(name) != ending.segment)
        return false;
    SharedMemory memory{SharedMemory::Attach{}, name};
    if (memory.size() >= sizeof(shmbloom_segment_header))
        end_gate(&reinterpret_cast<shmbloom_segment_header *>(memory.data())->gate);
    return remove_shared_memory(name, ending.segment);
}

// Both a segment that was published and a control are gone: nothing can tell their readers of an add.
void Start::refuse_adds_if_unreachable(const std::string &name, std::uint64_t generation) {
    if (!registry().control_lost)
        return;
    const std::string text = "the segment of generation " + std::to_string(generation) +
                             " and a control file were removed in this boot, so workers may still read bits that "
                             "nobody can reach; restart the machine, or restart every worker and then run 'shmbloomctl "
                             "forget-readers " +
                             name + "'";
    registry().adds_refused[name] = {unix_seconds(), text};
    log::critical("adds to filter '" + name + "' are refused: " + text);
}

// The segments that this start replaced: control's gates speak of the new generations already.
void Start::end_replaced() {
    if (registry().ending.empty())
        return;
    for (const EndingSegment &ending : std::exchange(registry().ending, {}))
        end_segment(ending);
    state_.write_registry(whole_registry(registry(), started_.filters));
}

} // namespace shmbloom
