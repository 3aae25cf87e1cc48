// Shadow mode and audits: an "absent" that is not said.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

#include "forms.h"
#include "world.h"

namespace shmbloom::test {
namespace {

using Answers = std::vector<std::uint8_t>;

Handle open_with(const World &world, std::uint32_t flags, std::uint32_t audit_one_in = 0) {
    shmbloom_options options = options_for(world);
    options.flags = flags;
    options.audit_one_in = audit_one_in;
    return open("links", options);
}

TEST(Shadow, AnswersEveryAbsentUnverifiedAndCountsIt) {
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "there");
    const Handle handle = open_with(world, SHMBLOOM_OPEN_SHADOW);
    EXPECT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    EXPECT_EQ(contains(handle, "not there"), SHMBLOOM_UNVERIFIED);
    const std::vector<std::string> keys{"there", "not there", "nor this"};
    const Keys many{keys};
    const Packed packed{keys};
    const Answers expected{SHMBLOOM_MAYBE, SHMBLOOM_UNVERIFIED, SHMBLOOM_UNVERIFIED};
    Answers answers(3);
    EXPECT_EQ(shmbloom_contains_many(handle.get(), many.data(), 3, answers.data()), 0);
    EXPECT_EQ(answers, expected);
    answers.assign(3, 0);
    EXPECT_EQ(shmbloom_contains_packed(handle.get(), packed.bytes(), packed.offsets(), 3, answers.data()), 0);
    EXPECT_EQ(answers, expected);
    std::uint64_t hash = 0, domain = 0;
    ASSERT_EQ(shmbloom_hash(handle.get(), "not there", 9, &hash, &domain), 0);
    EXPECT_EQ(shmbloom_contains_hashes(handle.get(), domain, &hash, 1, answers.data()), 0);
    EXPECT_EQ(answers[0], SHMBLOOM_UNVERIFIED);
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.would_be_absent, 6u);
    EXPECT_EQ(i.unverified, 6u);
    EXPECT_EQ(i.maybe, 3u);
    EXPECT_EQ(i.absent, 0u);
    EXPECT_EQ(i.audited, 0u);
    EXPECT_EQ(i.live, 1);
}

TEST(Shadow, OfNumbersIsTheSame) {
    World world;
    world.create("links", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    const Handle handle = open_with(world, SHMBLOOM_OPEN_SHADOW);
    EXPECT_EQ(shmbloom_contains_u64(handle.get(), 1), SHMBLOOM_UNVERIFIED);
    const std::uint64_t key = 2;
    std::uint8_t answer = 0;
    EXPECT_EQ(shmbloom_contains_many_u64(handle.get(), &key, 1, &answer), 0);
    EXPECT_EQ(answer, SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).would_be_absent, 2u);
}

TEST(Shadow, DoesNotCountWhatIsInDoubt) {
    World world;
    Filter &filter = world.create("links", {.doubts = SHMBLOOM_DOUBT_WARMING});
    const Handle handle = open_with(world, SHMBLOOM_OPEN_SHADOW);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).would_be_absent, 0u);
    world.set_doubts(filter, 0);
    EXPECT_EQ(contains(handle, "x"), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(info(handle).would_be_absent, 1u);
}

// In a child each, since it is the environment that decides. 0, 1, 2, or 100 less -errno.
int answer_with(const World &world, const char *variable, const char *value, std::uint32_t flags,
                const std::string &expected_text) {
    return in_child([&] {
        ::setenv(variable, value, 1);
        char text[256] = "";
        shmbloom_options options = options_for(world);
        options.flags = flags;
        options.error_text = text;
        options.error_text_size = sizeof text;
        shmbloom_filter *f = nullptr;
        const int r = shmbloom_open(&f, "links", &options);
        if (r < 0)
            return std::strstr(text, expected_text.c_str()) != nullptr ? 100 - r : 255;
        return shmbloom_contains(f, "x", 1);
    });
}

int answer_in_mode(const World &world, const char *mode, std::uint32_t flags, const std::string &expected_text = "") {
    return answer_with(world, "SHMBLOOM_MODE", mode, flags, expected_text);
}

TEST(Simd, IsTurnedOffByOneWordOnly) {
    World world;
    world.create("links");
    for (const char *word : {"none", ""})
        EXPECT_EQ(answer_with(world, "SHMBLOOM_SIMD", word, 0, ""), SHMBLOOM_ABSENT) << word;
    for (const char *word : {"NONE", "none ", "off", "0", "avx2"})
        EXPECT_EQ(answer_with(world, "SHMBLOOM_SIMD", word, 0, "SHMBLOOM_SIMD: must be none or not set"), 100 + EINVAL)
            << word;
}

TEST(Shadow, IsWhatTheEnvironmentCanAskForToo) {
    World world;
    world.create("links");
    EXPECT_EQ(answer_in_mode(world, "shadow", 0), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(answer_in_mode(world, "shadow", SHMBLOOM_OPEN_SHADOW), SHMBLOOM_UNVERIFIED);
    EXPECT_EQ(answer_in_mode(world, "enforce", 0), SHMBLOOM_ABSENT);
    EXPECT_EQ(answer_in_mode(world, "", 0), SHMBLOOM_ABSENT);
    // The program asked for it: no environment takes that away.
    EXPECT_EQ(answer_in_mode(world, "enforce", SHMBLOOM_OPEN_SHADOW), SHMBLOOM_UNVERIFIED);
}

TEST(Shadow, IsNotGuessedFromAnotherWord) {
    World world;
    world.create("links");
    for (const char *mode : {"Shadow", "shadow ", "0", "1", "on", "off", "enforced"})
        EXPECT_EQ(answer_in_mode(world, mode, 0, "SHMBLOOM_MODE: must be enforce or shadow"), 100 + EINVAL) << mode;
}

class Audit : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Audit, AnswersItsShareOfAbsentsUnverified) {
    World world;
    world.create("links");
    const Handle handle = open_with(world, 0, GetParam());
    constexpr int rounds = 200;
    constexpr int size = 1000;
    const std::vector<std::string> keys(size, "not there");
    const Keys many{keys};
    Answers answers(size);
    std::uint64_t unverified = 0;
    for (int round = 0; round < rounds; round++) {
        ASSERT_EQ(shmbloom_contains_many(handle.get(), many.data(), size, answers.data()), 0);
        for (int i = 0; i < size; i++)
            unverified += (answers[static_cast<std::size_t>(i)] == SHMBLOOM_UNVERIFIED) +
                          (contains(handle, "not there") == SHMBLOOM_UNVERIFIED);
    }
    const double n = 2.0 * rounds * size;
    const double share = 1.0 / GetParam();
    // Six standard deviations: once in 500 million runs.
    const double spread = 6 * std::sqrt(n * share * (1 - share));
    EXPECT_NEAR(static_cast<double>(unverified), n * share, spread);
    const shmbloom_info i = info(handle);
    EXPECT_EQ(i.audited, unverified);
    EXPECT_EQ(i.unverified, unverified);
    EXPECT_EQ(i.absent, static_cast<std::uint64_t>(n) - unverified);
    EXPECT_EQ(i.would_be_absent, 0u);
}

INSTANTIATE_TEST_SUITE_P(OneIn, Audit, testing::Values(1, 2, 10, 1000));

TEST(Audits, NeverTouchAMaybe) {
    World world;
    Filter &filter = world.create("links");
    world.add(filter, "there");
    const Handle handle = open_with(world, 0, 1);
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(contains(handle, "there"), SHMBLOOM_MAYBE);
    EXPECT_EQ(info(handle).audited, 0u);
}

TEST(Audits, AreOffUnlessAskedFor) {
    World world;
    world.create("links");
    const Handle handle = open_with(world, 0, 0);
    for (int i = 0; i < 100000; i++)
        ASSERT_EQ(contains(handle, "not there"), SHMBLOOM_ABSENT);
}

TEST(Audits, OfOneInFourBillionAreRare) {
    World world;
    world.create("links");
    const Handle handle = open_with(world, 0, UINT32_MAX);
    for (int i = 0; i < 1000; i++)
        (void)contains(handle, "not there");
    EXPECT_LE(info(handle).audited, 2u);
}

} // namespace
} // namespace shmbloom::test
