// Copies of bits that another thread sets meanwhile.
#include <thread>

#include "snapshot_fixture.h"

namespace shmbloom {
namespace {

class BusySnapshot : public SnapshotFixture {
  protected:
    ~BusySnapshot() override {
        stop = true;
        adder.join();
    }

    static std::uint64_t hash(std::uint64_t i) { return (i + 1) * 0x9E3779B97F4A7C15; }

    void add_for_ever() {
        for (std::uint64_t i = 0; !stop; i++) {
            shmbloom_set_bits(words.data(), &shape, hash(i));
            // As the loop tells the thread that copies: whoever sees the number sees the bits.
            acknowledged.store(i + 1, std::memory_order_release);
        }
    }

    const shmbloom_shape shape{SHMBLOOM_LAYOUT_CLASSIC, 3, 5 << 23};
    Words words = Words(geometry::place(shape).bits_bytes / 8);
    std::atomic<std::uint64_t> acknowledged{0};
    std::atomic<bool> stop{false};
    std::thread adder{[this] { add_for_ever(); }};
};

TEST_F(BusySnapshot, HasEveryAddThatWasAcknowledgedBeforeItBegan) {
    // Rounds in which nothing was added meanwhile do not count: on one processor there may be some.
    for (int busy = 0; busy < 5;) {
        const std::uint64_t before = acknowledged.load(std::memory_order_acquire);
        write(shape, words);
        busy += acknowledged.load(std::memory_order_acquire) > before;
        ASSERT_EQ(complaint(), "") << "the checksums are of what was written, not of what was there a moment later";
        for (std::uint64_t i = 0; i < before; i++)
            ASSERT_TRUE(shmbloom_test_bits(scratch.data(), &shape, hash(i))) << "add " << i << " of " << before;
    }
}

TEST_F(BusySnapshot, IsMergedWhileOthersAddAndLosesNoneOfTheirBits) {
    write(shape, some_words(shape));
    const std::uint64_t begun = acknowledged;
    while (acknowledged == begun || !open()->merge_into(words.data(), reason))
        std::this_thread::yield();
    const std::uint64_t after = acknowledged.load(std::memory_order_acquire);
    for (std::uint64_t i = 0; i < after; i++)
        ASSERT_TRUE(shmbloom_test_bits(words.data(), &shape, hash(i)));
    const Words merged = some_words(shape);
    for (std::size_t i = 0; i < merged.size(); i++)
        ASSERT_EQ(merged[i] & ~shmbloom_load_field(&words[i]), 0u);
    EXPECT_EQ(reason, "");
}

} // namespace
} // namespace shmbloom
