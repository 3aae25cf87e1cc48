#include "service/filter.h"

#include <algorithm>
#include <cmath>

#include "sys/clock.h"

namespace shmbloom {

Gates Filter::gates(Control &control) const {
    return {&control.slot(slot)->gate, segment ? segment->gate() : nullptr};
}

SegmentIdentity Filter::identity(const Registry &registry, std::uint64_t generation) const {
    return {.state_uuid = registry.state_uuid,
            .filter_uuid = record.uuid,
            .generation = generation,
            .lineage = generation == record.generation ? record.lineage : generation,
            .seed = registry.seed,
            .domain = registry.domain,
            .normalization = record.normalization,
            .key_type = record.key_type,
            .capacity = record.capacity,
            .fpr = record.fpr,
            .shape = record.shape};
}

void Filter::set_bits(Control &control, std::span<const std::uint64_t> hashes, std::uint8_t *answers) {
    const bool live = gates(control).doubts() == 0;
    if (build && build->segment)
        build->bits_set += build->segment->set(hashes);
    bits_set += segment->add(hashes, answers);
    if (!live)
        std::fill_n(answers, hashes.size(), std::uint8_t{2});
    // Shown at once, so that a kill between two heartbeats loses no count.
    shmbloom_store_field(&control.slot(slot)->bits_set, bits_set);
}

void Filter::count_acknowledged(Control &control, std::uint64_t acknowledged, std::uint64_t added) {
    record.adds_acknowledged += acknowledged;
    record.adds_new += added;
    shmbloom_slot *const shown = control.slot(slot);
    shmbloom_store_field(&shown->adds_acknowledged, record.adds_acknowledged);
    shmbloom_store_field(&shown->adds_new, record.adds_new);
}

const std::shared_ptr<Segment> &Filter::recorded_segment() const {
    return build && build->generation == record.generation ? build->segment : segment;
}

shmbloom_slot Filter::picture(const Registry &registry) const {
    shmbloom_slot slot_content{};
    std::ranges::copy(record.uuid.bytes, slot_content.uuid);
    std::ranges::copy(record.name, slot_content.name);
    slot_content.seed = registry.seed;
    slot_content.hash_domain = identity(registry, record.generation).hash_domain();
    slot_content.normalization = record.normalization;
    slot_content.key_type = record.key_type;
    slot_content.generation = record.generation;
    slot_content.dev = record.segment.dev;
    slot_content.inode = record.segment.inode;

    slot_content.capacity = record.capacity;
    slot_content.fpr = record.fpr;
    slot_content.layout = record.shape.layout;
    slot_content.durability = record.durability;
    slot_content.growable = record.growable ? 1 : 0;
    slot_content.warnings = warnings;
    slot_content.lineage = record.lineage;
    slot_content.live_since = record.live_since;
    for (std::size_t i = 0; i < SHMBLOOM_DOUBT_COUNT; i++)
        if (const auto doubt = record.doubts.find(1u << i); doubt != record.doubts.end())
            slot_content.doubt_since[i] = doubt->second.since;
    slot_content.huge_page_bytes = huge_page_bytes;

    slot_content.bits_set = bits_set;
    slot_content.adds_acknowledged = record.adds_acknowledged;
    slot_content.adds_new = record.adds_new;
    slot_content.adds_refused = adds_refused;
    slot_content.estimated_keys = estimated_keys_;
    slot_content.estimated_fpr = estimated_fpr_;
    slot_content.wrong_absents = wrong_absents;
    slot_content.keys_per_day = growth_.keys_per_day();
    return slot_content;
}

void Filter::show_status(Control &control, const Registry &registry) {
    estimate();
    if (record.doubts.empty())
        growth_.observe(boottime_ns() / 1'000'000'000, estimated_keys_);
    else
        growth_.forget();
    control.write_status(slot, picture(registry));
}

void Filter::estimate() {
    if (estimated_from_bits_ == bits_set)
        return;
    estimated_from_bits_ = bits_set;
    estimated_keys_ = estimate_now();
    estimated_fpr_ = geometry::estimated_fpr(shape(), bits_set);
    if (estimated_keys_ > record.capacity || (record.when_full == WhenFull::refuse && estimated_keys_ == record.capacity))
        warnings |= SHMBLOOM_WARNING_FULL;
}

// The record is a step ahead while a switch waits for the disk.
const shmbloom_shape &Filter::shape() const {
    return segment ? segment->identity().shape : record.shape;
}

std::uint64_t Filter::estimate_now() const {
    return static_cast<std::uint64_t>(std::llround(geometry::estimated_keys(shape(), bits_set)));
}

void Filter::forget_estimates() {
    estimated_from_bits_ = UINT64_MAX;
    growth_.forget();
}

std::uint64_t Filter::fresh(std::span<const std::uint64_t> hashes) const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(hashes, [this](std::uint64_t hash) { return !segment->contains(hash); }));
}

std::uint64_t Filter::waiting_hashes() const {
    std::uint64_t sum = 0;
    for (const Wait &wait : growth_waits)
        sum += wait.hashes;
    return sum;
}

std::uint64_t Filter::bits_at(double share) {
    if (marked_generation_ == segment->identity().generation)
        return marked_bits_;
    const double keys = static_cast<double>(segment->identity().capacity) * share;
    std::uint64_t low = 0, high = bits();
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (geometry::estimated_keys(shape(), middle) < keys)
            low = middle + 1;
        else
            high = middle;
    }
    marked_generation_ = segment->identity().generation;
    return marked_bits_ = low;
}

std::uint64_t Filter::bits() const {
    return shape().layout == SHMBLOOM_LAYOUT_BLOCKED ? shape().size * 512 : shape().size;
}

double Filter::fill() const {
    return static_cast<double>(bits_set) / static_cast<double>(bits());
}

} // namespace shmbloom
