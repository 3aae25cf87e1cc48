// The shared memory of one generation of a filter: a checksummed constant header, a gate, bits that only go from 0
// to 1. Unmapping is the destructor's; the name is removed by `remove_shared_memory`, a decision of the registry's.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "geometry/geometry.h"
#include "probes/probes.h"
#include "store/shared_memory.h"
#include "sys/uuid.h"

namespace shmbloom {

// All that a segment's header says.
struct SegmentIdentity {
    Uuid state_uuid;
    Uuid filter_uuid;
    std::uint64_t generation = 0;
    std::uint64_t lineage = 0;
    std::uint64_t seed = 0;
    std::uint64_t domain = 0;
    std::uint32_t normalization = 0;
    std::uint32_t key_type = 0;
    std::uint64_t capacity = 0;
    double fpr = 0;
    shmbloom_shape shape{};

    std::uint64_t hash_domain() const {
        return shmbloom_hash_domain(domain, SHMBLOOM_HASH_XXH3_64, normalization, key_type);
    }
};

// "/shmbloom.<first 16 hex digits of the state uuid>.<filter uuid>.<generation>"
std::string segment_name(const Uuid &state_uuid, const Uuid &filter_uuid, std::uint64_t generation);

class Segment {
  public:
    struct Create {};

    // A new segment with its gate at 0, in huge pages where the machine gives them. May take seconds. Throws
    // std::system_error; then no name is left.
    Segment(Create, const SegmentIdentity &identity);

    // Takes over the segment that a former daemon left: the name must lead to `id`, and size and header be what
    // `identity` says. Otherwise null, and `reason` says what differs. Never throws for what it finds.
    static std::unique_ptr<Segment> adopt(const SegmentIdentity &identity, FileId id, std::string &reason);

    const SegmentIdentity &identity() const { return identity_; }
    FileId id() const { return memory_->id(); }
    std::string name() const;
    std::uint64_t *gate() const { return &header()->gate; }
    std::size_t memory_bytes() const { return memory_->size(); }
    std::size_t huge_page_bytes() const { return memory_->huge_page_bytes(); }

    // Sets the bits of each hash; answers[i]: 0 when a bit was missing, else 1. Returns the number of bits that were
    // missing. Any thread, any time: bits are set atomically and only ever set.
    std::uint64_t add(std::span<const std::uint64_t> hashes, std::uint8_t *answers);

    // The same for who needs no answers; what it returns may be a little too much when others add the same keys.
    std::uint64_t set(std::span<const std::uint64_t> hashes);
    // The same, while no other thread or process sets bits in it, as before it is published: several times as fast.
    std::uint64_t add_alone(std::span<const std::uint64_t> hashes);

    std::uint64_t *words() const;
    std::uint64_t bits_bytes() const { return geometry_.bits_bytes; }
    bool contains(std::uint64_t hash) const { return shmbloom_test_bits(words(), &identity_.shape, hash) != 0; }
    // The same of many: answers[i] becomes 1 or 0.
    void contain(std::span<const std::uint64_t> hashes, std::uint8_t *answers) const;
    std::uint64_t count_bits() const; // about 0.3 s a GiB
    void merge(const Segment &other); // its bits too, of the same shape; while both are read and added to

  private:
    Segment(const SegmentIdentity &identity, std::unique_ptr<SharedMemory> memory);
    shmbloom_segment_header *header() const;
    // Inlined, come what may: gcc 12 takes a function that only prefetches for one without effect.
    [[gnu::always_inline]] void prefetch(std::uint64_t hash) const;

    SegmentIdentity identity_;
    geometry::Geometry geometry_;
    std::unique_ptr<SharedMemory> memory_;
    shmbloom__test_hashes *test_;
    shmbloom__set_hashes *set_;
};

} // namespace shmbloom
