// What a reader may see while the daemon writes. Both use one mapping: tsan does not know that two are one page.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

#include "segment_fixture.h"
#include "store/control.h"
#include "store/gate.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

// Every field says the same number, so that a mixture shows.
shmbloom_slot slot_of(std::uint64_t generation) {
    shmbloom_slot slot{};
    std::ranges::fill(slot.uuid, static_cast<std::uint8_t>(generation));
    std::ranges::fill(slot.name, static_cast<char>('a' + generation % 26));
    slot.seed = slot.hash_domain = slot.generation = slot.dev = slot.inode = slot.capacity = slot.lineage = generation;
    slot.normalization = slot.key_type = slot.layout = static_cast<std::uint32_t>(generation);
    slot.bits_set = slot.adds_acknowledged = slot.estimated_keys = generation;
    return slot;
}

bool is_of_one_piece(const shmbloom_slot &found) {
    shmbloom_slot expected = slot_of(found.generation);
    expected.gate = found.gate;
    return std::memcmp(&expected, &found, sizeof found) == 0 && generation_of(found.gate) == found.generation;
}

TEST(SlotReader, NeverGetsAMixtureOfTwoGenerations) {
    const test::TempFolder folder;
    Control control{Control::Create{}, folder.path(), Uuid::random(), Uuid::random()};
    constexpr std::uint64_t last = 20'000;
    std::atomic<std::uint64_t> copies{0};
    std::thread writer{[&] {
        for (std::uint64_t generation = 1; generation <= last; generation++) {
            control.write_slot(0, slot_of(generation));
            shmbloom_store_gate(&control.slot(0)->gate, make_gate(generation, generation % 32));
            // One reader at least has had a copy of its own now and then, also on a single processor.
            while (generation % 100 == 0 && copies < generation / 100)
                std::this_thread::yield();
        }
    }};
    const auto read = [&] {
        shmbloom_slot copy;
        for (std::uint64_t newest = 0; newest < last;) {
            if (shmbloom_read_slot(control.slot(0), &copy) == 0)
                continue;
            ASSERT_TRUE(is_of_one_piece(copy)) << "generation " << copy.generation;
            ASSERT_GE(copy.generation, newest);
            newest = copy.generation;
            copies++;
        }
    };
    std::thread other{read};
    read();
    other.join();
    writer.join();
}

TEST(GateReader, SeesTheSegmentOpenBeforeControlAndClosedBeforeControl) {
    std::uint64_t control = 0, segment = 0;
    const Gates gates{&control, &segment};
    constexpr std::uint64_t last = 100'000;
    std::thread writer{[&] {
        for (std::uint64_t generation = 1; generation <= last; generation++) {
            gates.open(generation, 0);
            gates.doubt(SHMBLOOM_DOUBT_LOSSY);
        }
    }};
    for (std::uint64_t seen = 0; generation_of(seen) < last;) {
        seen = shmbloom_load_gate(&control);
        const std::uint64_t segments = shmbloom_load_gate(&segment);
        ASSERT_GE(generation_of(segments), generation_of(seen));
        // Whoever sees the doubt in control, which is set last, sees it in the segment, or a later generation.
        const bool same = generation_of(segments) == generation_of(seen);
        ASSERT_FALSE(same && doubts_of(seen) != 0 && doubts_of(segments) == 0);
    }
    writer.join();
}

TEST(GateReader, SeesAPauseThatRacesWithAStore) {
    std::uint64_t gate = make_gate(1, 0);
    for (std::uint64_t round = 0; round < 2000; round++) {
        __atomic_store_n(&gate, make_gate(1, 0), __ATOMIC_RELAXED);
        std::atomic<bool> go{false};
        std::thread operator_{[&] {
            while (!go)
                std::this_thread::yield();
            __atomic_fetch_or(&gate, std::uint64_t{SHMBLOOM_DOUBT_PAUSED}, __ATOMIC_RELEASE);
        }};
        go = true;
        for (std::uint64_t generation = 2; generation < 20; generation++)
            set_gate(&gate, generation, SHMBLOOM_DOUBT_WARMING);
        operator_.join();
        ASSERT_EQ(shmbloom_load_gate(&gate), make_gate(19, SHMBLOOM_DOUBT_WARMING | SHMBLOOM_DOUBT_PAUSED));
    }
}

TEST(SegmentAdders, OnOneMappingSetEveryBitAndCountEachOnce) {
    const SegmentIdentity identity = some_identity(20'000, 0.001);
    Segment segment{Segment::Create{}, identity};
    ::shm_unlink(segment.name().c_str());
    std::vector<std::uint64_t> hashes(20'000);
    for (std::size_t i = 0; i < hashes.size(); i++)
        hashes[i] = (i + 1) * 0x9E3779B97F4A7C15ull;
    std::atomic<std::uint64_t> fresh{0};
    const auto add = [&] {
        std::vector<std::uint8_t> answers(1000);
        for (std::size_t at = 0; at < hashes.size(); at += answers.size())
            fresh += segment.add(std::span{hashes}.subspan(at, answers.size()), answers.data());
    };
    std::thread first{add}, second{add};
    add();
    first.join();
    second.join();
    EXPECT_EQ(segment.count_bits(), fresh);
    std::vector<std::uint8_t> answers(hashes.size());
    EXPECT_EQ(segment.add(hashes, answers.data()), 0u);
    EXPECT_EQ(std::ranges::count(answers, 1), static_cast<std::ptrdiff_t>(hashes.size()));
}

} // namespace
} // namespace shmbloom
