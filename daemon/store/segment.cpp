#include "store/segment.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shmbloom/key.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

shmbloom_segment_header make_header(const SegmentIdentity &identity, const geometry::Geometry &geometry) {
    shmbloom_segment_header header{};
    header.magic = SHMBLOOM_SEGMENT_MAGIC;
    header.version = SHMBLOOM_FORMAT_VERSION;
    header.header_bytes = SHMBLOOM_SEGMENT_HEADER_BYTES;
    std::ranges::copy(identity.state_uuid.bytes, header.state_uuid);
    std::ranges::copy(identity.filter_uuid.bytes, header.filter_uuid);
    header.generation = identity.generation;
    header.lineage = identity.lineage;
    header.seed = identity.seed;
    header.domain = identity.domain;
    header.hash_id = SHMBLOOM_HASH_XXH3_64;
    header.normalization = identity.normalization;
    header.key_type = identity.key_type;
    header.layout = identity.shape.layout;
    header.capacity = identity.capacity;
    header.fpr = identity.fpr;
    header.size = identity.shape.size;
    header.probes = identity.shape.probes;
    header.bits_offset = geometry.bits_offset;
    header.bits_bytes = geometry.bits_bytes;
    header.segment_bytes = geometry.segment_bytes;
    header.checksum = shmbloom_header_checksum(&header);
    return header;
}

} // namespace

std::string segment_name(const Uuid &state_uuid, const Uuid &filter_uuid, std::uint64_t generation) {
    std::string state = to_string(state_uuid);
    std::erase(state, '-');
    state.resize(16);
    return "/shmbloom." + state + "." + to_string(filter_uuid) + "." + std::to_string(generation);
}

Segment::Segment(const SegmentIdentity &identity, std::unique_ptr<SharedMemory> memory)
    : identity_{identity}, geometry_{geometry::place(identity.shape)}, memory_{std::move(memory)},
      test_{shmbloom__choose_test(&identity_.shape, shmbloom__best_instructions())},
      set_{shmbloom__choose_set(shmbloom__best_instructions())} {}

Segment::Segment(Create, const SegmentIdentity &identity) : Segment{identity, nullptr} {
    memory_ =
        std::make_unique<SharedMemory>(SharedMemory::Create{}, name(), geometry_.segment_bytes,
                                       geometry_.bits_bytes >= SHMBLOOM_HUGE_FROM_BYTES ? geometry_.bits_offset : 0);
    // No reader comes before the registry and then the gates name this generation, so a plain copy will do.
    const shmbloom_segment_header header = make_header(identity_, geometry_);
    std::memcpy(memory_->data(), &header, sizeof header);
}

std::unique_ptr<Segment> Segment::adopt(const SegmentIdentity &identity, FileId id, std::string &reason) {
    const std::string name = segment_name(identity.state_uuid, identity.filter_uuid, identity.generation);
    try {
        auto memory = std::make_unique<SharedMemory>(SharedMemory::Attach{}, name);
        const geometry::Geometry geometry = geometry::place(identity.shape);
        if (memory->id() != id)
            reason = "the name '" + name + "' leads to another object than the one recorded";
        else if (memory->size() != geometry.segment_bytes)
            reason = "'" + name + "' has " + std::to_string(memory->size()) + " bytes instead of " +
                     std::to_string(geometry.segment_bytes);
        else if (memory->has_holes())
            reason = "'" + name + "' has holes: bits that were in them are gone";
        else {
            const shmbloom_segment_header header = make_header(identity, geometry);
            // Everything before the gate is constant, so it must be what this daemon would write itself.
            if (std::memcmp(memory->data(), &header, offsetof(shmbloom_segment_header, gate)) != 0)
                reason = "the header of '" + name + "' is not what the registry says";
            else
                return std::unique_ptr<Segment>{new Segment{identity, std::move(memory)}};
        }
    } catch (const std::system_error &error) {
        reason = error.what();
    }
    return nullptr;
}

std::string Segment::name() const {
    return segment_name(identity_.state_uuid, identity_.filter_uuid, identity_.generation);
}

shmbloom_segment_header *Segment::header() const {
    return reinterpret_cast<shmbloom_segment_header *>(memory_->data());
}

std::uint64_t *Segment::words() const {
    return reinterpret_cast<std::uint64_t *>(memory_->data() + geometry_.bits_offset);
}

// The cache lines that a hash leads to, on their way before it is their turn.
inline void Segment::prefetch(std::uint64_t hash) const {
    if (identity_.shape.layout == SHMBLOOM_LAYOUT_BLOCKED) {
        __builtin_prefetch(words() + shmbloom_multiply_high(hash, identity_.shape.size) * 8, 1);
        return;
    }
    for (std::uint32_t i = 0; i < identity_.shape.probes; i++, hash = shmbloom_next_probe(hash))
        __builtin_prefetch(words() + shmbloom_multiply_high(hash, identity_.shape.size) / 64, 1);
}

std::uint64_t Segment::add(std::span<const std::uint64_t> hashes, std::uint8_t *answers) {
    constexpr std::size_t kAhead = 16;
    std::uint64_t fresh = 0;
    for (std::size_t i = 0; i < std::min(kAhead, hashes.size()); i++)
        prefetch(hashes[i]);
    for (std::size_t i = 0; i < hashes.size(); i++) {
        if (i + kAhead < hashes.size())
            prefetch(hashes[i + kAhead]);
        const std::uint32_t missing = shmbloom_set_bits(words(), &identity_.shape, hashes[i]);
        answers[i] = missing == 0 ? 1 : 0;
        fresh += missing;
    }
    return fresh;
}

std::uint64_t Segment::set(std::span<const std::uint64_t> hashes) {
    return set_(words(), &identity_.shape, {hashes.data(), hashes.size()}, false);
}

std::uint64_t Segment::add_alone(std::span<const std::uint64_t> hashes) {
    return set_(words(), &identity_.shape, {hashes.data(), hashes.size()}, true);
}

void Segment::contain(std::span<const std::uint64_t> hashes, std::uint8_t *answers) const {
    shmbloom__hashes next{hashes.data(), std::min<std::size_t>(hashes.size(), SHMBLOOM__HASHES_AT_ONCE)};
    shmbloom__fetch_all(words(), &identity_.shape, next);
    while (next.count != 0) {
        const shmbloom__hashes tested = next;
        hashes = hashes.subspan(tested.count);
        next = {hashes.data(), std::min<std::size_t>(hashes.size(), SHMBLOOM__HASHES_AT_ONCE)};
        test_(words(), &identity_.shape, tested, answers, next);
        answers += tested.count;
    }
}

void Segment::merge(const Segment &other) {
    for (std::size_t i = 0; i < geometry_.bits_bytes / 8; i++) {
        const std::uint64_t word = shmbloom_load_field(other.words() + i);
        if ((word & ~shmbloom_load_field(words() + i)) != 0)
            __atomic_fetch_or(words() + i, word, __ATOMIC_RELAXED);
    }
}

std::uint64_t Segment::count_bits() const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < geometry_.bits_bytes / 8; i++)
        count += static_cast<std::uint64_t>(std::popcount(shmbloom_load_field(words() + i)));
    return count;
}

} // namespace shmbloom
