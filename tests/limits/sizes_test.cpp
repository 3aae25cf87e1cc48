// Filters as large as no test machine has memory for, and one that it has.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "instance.h"
#include "keys.h"
#include "shmbloom/probe.h"

namespace shmbloom::test {
namespace {

// 2^38 bits, of which only the pages that are touched exist.
class HugeWords {
  public:
    static constexpr std::uint64_t kBits = std::uint64_t{1} << 38;

    HugeWords()
        : memory_{::mmap(nullptr, kBits / 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)} {}
    ~HugeWords() {
        if (memory_ != MAP_FAILED)
            ::munmap(memory_, kBits / 8);
    }
    HugeWords(const HugeWords &) = delete;
    HugeWords &operator=(const HugeWords &) = delete;

    bool is_mapped() const { return memory_ != MAP_FAILED; }
    std::uint64_t *get() const { return static_cast<std::uint64_t *>(memory_); }

  private:
    void *memory_;
};

void expect_all_there_and_no_other(const shmbloom_shape &shape) {
    const HugeWords words;
    ASSERT_TRUE(words.is_mapped());
    ASSERT_EQ(shmbloom_shape_bytes(&shape), HugeWords::kBits / 8);
    constexpr std::uint64_t keys = 2000;
    for (std::uint64_t i = 0; i < keys; i++)
        shmbloom_set_bits(words.get(), &shape, test_mix(i + 1));
    for (std::uint64_t i = 0; i < keys; i++)
        ASSERT_EQ(shmbloom_test_bits(words.get(), &shape, test_mix(i + 1)), 1) << i;
    // Indices cut to 32 bits would lay everything on a few pages, and these would be found there.
    for (std::uint64_t i = keys; i < 2 * keys; i++)
        ASSERT_EQ(shmbloom_test_bits(words.get(), &shape, test_mix(i + 1)), 0) << i;
}

TEST(Sizes, ClassicReachesEveryOneOf2To38Bits) {
    expect_all_there_and_no_other({.layout = SHMBLOOM_LAYOUT_CLASSIC, .probes = 7, .size = HugeWords::kBits});
    std::uint64_t low = 0, high = 0;
    for (std::uint64_t i = 0; i < 10'000; i++)
        (shmbloom_multiply_high(test_mix(i + 1), HugeWords::kBits) < HugeWords::kBits / 2 ? low : high)++;
    EXPECT_NEAR(static_cast<double>(low), static_cast<double>(high), 600); // six standard deviations
}

TEST(Sizes, BlockedReachesEveryOneOf2To38Bits) {
    expect_all_there_and_no_other({.layout = SHMBLOOM_LAYOUT_BLOCKED, .probes = 2, .size = HugeWords::kBits / 512});
    expect_all_there_and_no_other({.layout = SHMBLOOM_LAYOUT_BLOCKED, .probes = 3, .size = HugeWords::kBits / 512});
}

#ifndef SHMBLOOM_SANITIZED
TEST(Sizes, AFilterOf2To33BitsIsMadeFilledAdoptedAndDropped) {
    TestInstance instance;
    instance.start();
    instance.must_ctl({"create", "big", "--capacity", "850M", "--fpr", "1e-2", "--layout", "blocked", "--nothing-exists-yet"});
    EXPECT_GE(std::stoull(instance.info("big").at("bits")), std::uint64_t{1} << 33);
    instance.must_ctl({"load", "big", "--exec", "--", "/usr/bin/seq", "1", "300000"});
    Worker worker = instance.worker();
    worker.open("big");
    EXPECT_EQ(worker.count("number", 1, 300'000).maybe, 300'000u);
    EXPECT_EQ(worker.count("number", 1'000'000, 300'000).absent, 300'000u);
    instance.kill();
    instance.start();
    EXPECT_EQ(worker.count("number", 1, 300'000).maybe, 300'000u);
    EXPECT_NEAR(std::stod(instance.info("big").at("estimated_keys")), 300'000, 3'000);
    instance.must_ctl({"drop", "big", "--yes"});
    EXPECT_TRUE(instance.segment_names().empty());
}
#endif

} // namespace
} // namespace shmbloom::test
