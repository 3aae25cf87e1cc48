#include "segment_fixture.h"

#include <cstring>
#include <filesystem>

#include "format/golden_header.h"
#include "shmbloom/key.h"
#include "store/gate.h"

namespace shmbloom {
namespace {

TEST(SegmentName, HoldsStateFilterAndGeneration) {
    const auto state = Uuid::parse("01234567-89ab-4def-8123-456789abcdef").value();
    const auto filter = Uuid::parse("11111111-2222-4333-8444-555555555555").value();
    EXPECT_EQ(segment_name(state, filter, 42), "/shmbloom.0123456789ab4def.11111111-2222-4333-8444-555555555555.42");
    // The longest there is stays below NAME_MAX.
    EXPECT_LT(segment_name(state, filter, SHMBLOOM_GENERATION_MAX).size(), 255u);
}

class CreatedSegment : public SegmentFixture {
  protected:
    // Why the segment is not taken over; "" when it is.
    std::string adopt(const SegmentIdentity &as, FileId id) {
        std::string reason;
        adopted = Segment::adopt(as, id, reason);
        EXPECT_EQ(adopted == nullptr, !reason.empty());
        return reason;
    }
    std::string adopt() { return adopt(identity, segment->id()); }

    std::unique_ptr<Segment> segment = std::make_unique<Segment>(Segment::Create{}, identity);
    std::unique_ptr<Segment> adopted;
};

TEST_F(CreatedSegment, IsReadableByItsGroupAndHasNoHoles) {
    const struct stat found = status();
    EXPECT_EQ(found.st_mode & 07777, 0640u);
    EXPECT_EQ(static_cast<std::size_t>(found.st_size), segment->memory_bytes());
    EXPECT_GE(found.st_blocks * 512, found.st_size);
}

TEST_F(CreatedSegment, HasAHeaderThatReadersAccept) {
    shmbloom_segment_header header;
    const std::string bytes = read(0, sizeof header);
    std::memcpy(&header, bytes.data(), sizeof header);
    EXPECT_EQ(header.magic, SHMBLOOM_SEGMENT_MAGIC);
    EXPECT_EQ(header.version, 1u);
    EXPECT_EQ(header.header_bytes, 4096u);
    EXPECT_EQ(Uuid::from(header.state_uuid), identity.state_uuid);
    EXPECT_EQ(Uuid::from(header.filter_uuid), identity.filter_uuid);
    EXPECT_EQ(header.generation, 7u);
    EXPECT_EQ(header.lineage, 5u);
    EXPECT_EQ(header.size, 9586u); // design.md, n = 1000, p = 0.01
    EXPECT_EQ(header.probes, 7u);
    EXPECT_EQ(header.bits_offset, 4096u);
    EXPECT_EQ(header.segment_bytes, segment->memory_bytes());
    EXPECT_EQ(header.checksum, shmbloom_header_checksum(&header));
}

// The frozen header, which readers in the field were made for.
TEST(GoldenSegment, IsWhatTheDaemonWrites) {
    const shmbloom_segment_header golden = golden_fields();
    const SegmentIdentity identity{.state_uuid = Uuid::from(golden.state_uuid),
                                   .filter_uuid = Uuid::from(golden.filter_uuid),
                                   .generation = golden.generation,
                                   .lineage = golden.lineage,
                                   .seed = golden.seed,
                                   .domain = golden.domain,
                                   .normalization = golden.normalization,
                                   .key_type = golden.key_type,
                                   .capacity = golden.capacity,
                                   .fpr = golden.fpr,
                                   .shape = {golden.layout, golden.probes, golden.size}};
    ::shm_unlink(segment_name(identity.state_uuid, identity.filter_uuid, identity.generation).c_str());
    const Segment segment{Segment::Create{}, identity};
    ::shm_unlink(segment.name().c_str());
    set_gate(segment.gate(), golden.generation, SHMBLOOM_DOUBT_WARMING);
    const auto *header = reinterpret_cast<const char *>(segment.gate()) - offsetof(shmbloom_segment_header, gate);
    EXPECT_EQ(std::memcmp(header, golden_header, sizeof golden_header), 0);
    EXPECT_EQ(segment.memory_bytes(), golden.segment_bytes);
}

TEST_F(CreatedSegment, BeginsWithoutGateOrBits) {
    EXPECT_EQ(shmbloom_load_gate(segment->gate()), 0u);
    EXPECT_EQ(segment->count_bits(), 0u);
}

TEST_F(CreatedSegment, TakesNoNameThatExists) {
    EXPECT_THROW((Segment{Segment::Create{}, identity}), std::system_error);
    EXPECT_EQ(shared_memory_id(name), segment->id()); // the refused one took nothing away
}

TEST_F(CreatedSegment, CountsWhatAnAddChanges) {
    const std::uint64_t hashes[] = {1, 2, 3, 2};
    std::uint8_t answers[4] = {9, 9, 9, 9};
    const std::uint64_t fresh = segment->add(hashes, answers);
    EXPECT_EQ(answers[0], 0);
    EXPECT_EQ(answers[3], 1) << "the second add of a hash";
    EXPECT_EQ(segment->count_bits(), fresh);
    EXPECT_EQ(segment->add(hashes, answers), 0u);
    EXPECT_EQ(std::ranges::count(answers, 1), 4);
}

TEST_F(CreatedSegment, TakesTheSameBitsAloneAsWithOthers) {
    std::vector<std::uint64_t> hashes(3000);
    for (std::size_t i = 0; i < hashes.size(); i++)
        hashes[i] = shmbloom_hash_number(i % 2500, identity.seed); // some twice
    std::vector<std::uint8_t> answers(hashes.size());
    for (const shmbloom_shape shape : {shmbloom_shape{SHMBLOOM_LAYOUT_CLASSIC, 7, 30011}, shmbloom_shape{SHMBLOOM_LAYOUT_BLOCKED, 2, 61},
                                       shmbloom_shape{SHMBLOOM_LAYOUT_BLOCKED, 3, 61}}) {
        std::unique_ptr<Segment> made[2];
        SegmentIdentity other = identity;
        other.shape = shape;
        for (auto &each : made) {
            other.generation++;
            each = std::make_unique<Segment>(Segment::Create{}, other);
            remove_shared_memory(each->name(), each->id());
        }
        EXPECT_EQ(made[0]->add(hashes, answers.data()), made[1]->add_alone(hashes));
        EXPECT_EQ(std::memcmp(made[0]->words(), made[1]->words(), made[0]->bits_bytes()), 0);
        EXPECT_EQ(made[1]->count_bits(), made[0]->count_bits());
        EXPECT_EQ(made[1]->add_alone(hashes), 0u);
    }
}

TEST_F(CreatedSegment, IsAdoptedWithItsGateAndBits) {
    const std::uint64_t hash = 42;
    std::uint8_t answer = 0;
    segment->add({&hash, 1}, &answer);
    shmbloom_store_gate(segment->gate(), 7u << SHMBLOOM_GENERATION_SHIFT);
    const FileId id = segment->id();
    segment.reset(); // unmaps, and leaves the name
    EXPECT_EQ(adopt(identity, id), "");
    EXPECT_EQ(shmbloom_load_gate(adopted->gate()), 7u << SHMBLOOM_GENERATION_SHIFT);
    adopted->add({&hash, 1}, &answer);
    EXPECT_EQ(answer, 1);
}

TEST_F(CreatedSegment, IsNotAdoptedUnderAnotherInode) {
    FileId other = segment->id();
    other.inode++;
    EXPECT_NE(adopt(identity, other).find("leads to another object than the one recorded"), std::string::npos);
    other = segment->id();
    other.dev++;
    EXPECT_NE(adopt(identity, other), "");
}

TEST_F(CreatedSegment, IsNotAdoptedWhenItsNameLeadsToAnother) {
    std::filesystem::rename("/dev/shm" + name, "/dev/shm" + name + ".moved");
    const Segment other{Segment::Create{}, identity};
    EXPECT_NE(adopt(), "");
    ::shm_unlink((name + ".moved").c_str());
}

TEST_F(CreatedSegment, IsNotAdoptedWithoutItsName) {
    ::shm_unlink(name.c_str());
    EXPECT_NE(adopt().find(name), std::string::npos);
}

TEST_F(CreatedSegment, IsNotAdoptedInAnotherSize) {
    const std::size_t size = segment->memory_bytes();
    resize(size + 4096);
    EXPECT_EQ(adopt(),
              "'" + name + "' has " + std::to_string(size + 4096) + " bytes instead of " + std::to_string(size));
    resize(size - 4096);
    EXPECT_NE(adopt(), "");
    resize(1); // shorter than a header
    EXPECT_NE(adopt(), "");
    resize(0);
    EXPECT_NE(adopt(), "");
}

TEST_F(CreatedSegment, IsNotAdoptedWithAnyBitOfItsHeaderFlipped) {
    for (std::size_t offset = 0; offset < offsetof(shmbloom_segment_header, gate); offset++) {
        const unsigned bit = offset % 8;
        flip_bit(offset, bit);
        EXPECT_NE(adopt().find("the header of '" + name + "' is not what the registry says"), std::string::npos)
            << offset;
        flip_bit(offset, bit);
    }
    EXPECT_EQ(adopt(), "");
}

TEST_F(CreatedSegment, IsNotAdoptedAsAnotherFilter) {
    const auto adopt_as = [&](auto change) {
        SegmentIdentity other = identity;
        change(other);
        return adopt(other, segment->id());
    };
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.lineage++; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.seed++; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.domain++; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.normalization = 0; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.key_type = SHMBLOOM_KEY_TYPE_U64; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.capacity++; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.fpr = 0.011; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.shape.probes++; }), "");
    EXPECT_NE(adopt_as([](SegmentIdentity &i) { i.shape.size++; }), "");
}

TEST_F(CreatedSegment, IsNotAdoptedWithHoles) {
    const std::string content = read(0, segment->memory_bytes());
    ::shm_unlink(name.c_str());
    const UniqueFd fd{::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0640)};
    ASSERT_EQ(::ftruncate(fd.get(), static_cast<off_t>(content.size())), 0);
    ASSERT_EQ(::pwrite(fd.get(), content.data(), 4096, 0), 4096);
    // A hole met while /dev/shm is full is a SIGBUS in every worker.
    EXPECT_NE(adopt(identity, file_id(fd.get())), "");
}

TEST_F(CreatedSegment, KeepsItsHeaderThroughAdds) {
    const std::string before = read(0, offsetof(shmbloom_segment_header, gate));
    std::vector<std::uint64_t> hashes(1000);
    for (std::size_t i = 0; i < hashes.size(); i++)
        hashes[i] = shmbloom_hash_number(i, identity.seed);
    std::vector<std::uint8_t> answers(hashes.size());
    segment->add(hashes, answers.data());
    EXPECT_EQ(read(0, before.size()), before);
}

} // namespace
} // namespace shmbloom
