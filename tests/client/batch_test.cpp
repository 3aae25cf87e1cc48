// Lookups of many keys: the same answers as one by one, in every form, and what they answer when something is wrong.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

#include "forms.h"
#include "world.h"

namespace shmbloom::test {
namespace {

using Answers = std::vector<std::uint8_t>;

std::vector<std::string> texts(int count) {
    std::vector<std::string> keys;
    for (int i = 0; i < count; i++)
        keys.push_back("key-" + std::to_string(i));
    return keys;
}

class Batch : public testing::TestWithParam<Spec> {};

TEST_P(Batch, OfBytesAnswersAsOneByOne) {
    World world;
    Filter &filter = world.create("links", GetParam());
    const Handle handle = open(world, "links");
    // Around the size of a block, and none.
    for (const int count : {0, 1, 63, 64, 65, 127, 128, 129, 1000}) {
        const auto keys = texts(count);
        for (std::size_t i = 0; i < keys.size(); i += 3)
            world.add(filter, keys[i]);
        Answers one_by_one;
        for (const std::string &key : keys)
            one_by_one.push_back(static_cast<std::uint8_t>(contains(handle, key)));
        const Keys many{keys};
        const Packed packed{keys};
        Answers answers(keys.size(), 0);
        EXPECT_EQ(shmbloom_contains_many(handle.get(), many.data(), many.size(), answers.data()), 0);
        EXPECT_EQ(answers, one_by_one) << count;
        answers.assign(keys.size(), 0);
        EXPECT_EQ(
            shmbloom_contains_packed(handle.get(), packed.bytes(), packed.offsets(), packed.size(), answers.data()), 0);
        EXPECT_EQ(answers, one_by_one) << count;
    }
    const shmbloom_info counts = info(handle);
    EXPECT_EQ(counts.absent + counts.maybe, 3u * (1 + 63 + 64 + 65 + 127 + 128 + 129 + 1000));
    EXPECT_EQ(counts.unverified, 0u);
}

TEST_P(Batch, OfNumbersAnswersAsOneByOne) {
    World world;
    Spec spec = GetParam();
    spec.key_type = SHMBLOOM_KEY_TYPE_U64;
    Filter &filter = world.create("numbers", spec);
    const Handle handle = open(world, "numbers");
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 500; i++) {
        keys.push_back(i * 0x9E3779B97F4A7C15);
        if (i % 3 == 0)
            world.add(filter, keys.back());
    }
    Answers one_by_one, answers(keys.size());
    for (const std::uint64_t key : keys)
        one_by_one.push_back(static_cast<std::uint8_t>(shmbloom_contains_u64(handle.get(), key)));
    EXPECT_EQ(shmbloom_contains_many_u64(handle.get(), keys.data(), keys.size(), answers.data()), 0);
    EXPECT_EQ(answers, one_by_one);
}

TEST_P(Batch, OfHashesAnswersAsOneByOne) {
    World world;
    Filter &filter = world.create("links", GetParam());
    const Handle handle = open(world, "links");
    const auto keys = texts(300);
    std::vector<std::uint64_t> hashes(keys.size());
    std::uint64_t domain = 0;
    Answers one_by_one, answers(keys.size());
    for (std::size_t i = 0; i < keys.size(); i++) {
        if (i % 3 == 0)
            world.add(filter, keys[i]);
        EXPECT_EQ(shmbloom_hash(handle.get(), keys[i].data(), keys[i].size(), &hashes[i], &domain), 0);
        one_by_one.push_back(static_cast<std::uint8_t>(contains(handle, keys[i])));
    }
    EXPECT_EQ(shmbloom_contains_hashes(handle.get(), domain, hashes.data(), hashes.size(), answers.data()), 0);
    EXPECT_EQ(answers, one_by_one);
    EXPECT_EQ(shmbloom_contains_hashes(handle.get(), domain ^ 1, hashes.data(), hashes.size(), answers.data()),
              -ESTALE);
    EXPECT_EQ(answers, Answers(keys.size(), SHMBLOOM_UNVERIFIED));
}

TEST_P(Batch, NormalizesAsTheFilterSays) {
    World world;
    Spec spec = GetParam();
    spec.normalization = SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER;
    world.add(world.create("links", spec), "key");
    const Handle handle = open(world, "links");
    const std::vector<std::string> keys{" KEY ", "k e y"};
    Answers answers(2, 0);
    EXPECT_EQ(shmbloom_contains_many(handle.get(), Keys{keys}.data(), 2, answers.data()), 0);
    EXPECT_EQ(answers, (Answers{SHMBLOOM_MAYBE, SHMBLOOM_ABSENT}));
}

INSTANTIATE_TEST_SUITE_P(EveryShape, Batch, testing::ValuesIn(every_shape()));

// Every form of call, with answers that begin as zeros: what a forgotten error would read.
class BatchErrors : public testing::Test {
  protected:
    World world;
    Filter &filter = world.create("links");
    Filter &numbers = world.create("numbers", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    Handle links_handle = open(world, "links");
    Handle numbers_handle = open(world, "numbers");
    static constexpr std::size_t n = 200;
    std::vector<std::string> keys = texts(n);
    std::vector<std::uint64_t> u64s = std::vector<std::uint64_t>(n, 7);

    Answers unverified = Answers(n, SHMBLOOM_UNVERIFIED);

    // All forms of lookups, by what they are given.
    int many(shmbloom_filter *f, const shmbloom_key *k) {
        return call([&](auto *a) { return shmbloom_contains_many(f, k, n, a); });
    }
    int packed(shmbloom_filter *f, const void *b, const std::uint64_t *o) {
        return call([&](auto *a) { return shmbloom_contains_packed(f, b, o, n, a); });
    }
    int many_u64(shmbloom_filter *f, const std::uint64_t *k) {
        return call([&](auto *a) { return shmbloom_contains_many_u64(f, k, n, a); });
    }
    int hashes(shmbloom_filter *f, std::uint64_t domain, const std::uint64_t *h) {
        return call([&](auto *a) { return shmbloom_contains_hashes(f, domain, h, n, a); });
    }
    Answers answers;

  private:
    template <typename Call>
    int call(Call run) {
        std::unique_ptr<std::uint8_t, decltype(&std::free)> zeros{static_cast<std::uint8_t *>(std::calloc(n, 1)),
                                                                  std::free};
        const int r = run(zeros.get());
        answers.assign(zeros.get(), zeros.get() + n);
        return r;
    }
};

TEST_F(BatchErrors, OfANullAreUnverified) {
    const Keys k{keys};
    const Packed p{keys};
    shmbloom_filter *const f = links_handle.get();
    EXPECT_EQ(many(nullptr, k.data()), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(many(f, nullptr), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(packed(nullptr, p.bytes(), p.offsets()), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(packed(f, nullptr, p.offsets()), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(packed(f, p.bytes(), nullptr), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(many_u64(nullptr, u64s.data()), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(many_u64(numbers_handle.get(), nullptr), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(hashes(nullptr, 0, u64s.data()), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(hashes(f, 0, nullptr), -EINVAL);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(shmbloom_contains_many(f, k.data(), n, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_contains_packed(f, p.bytes(), p.offsets(), n, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_contains_many_u64(f, u64s.data(), n, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_contains_hashes(f, 0, u64s.data(), n, nullptr), -EINVAL);
}

TEST_F(BatchErrors, OfNoKeysAreNone) {
    EXPECT_EQ(shmbloom_contains_many(links_handle.get(), nullptr, 0, nullptr), 0);
    EXPECT_EQ(shmbloom_contains_packed(links_handle.get(), nullptr, nullptr, 0, nullptr), 0);
    EXPECT_EQ(shmbloom_contains_many_u64(links_handle.get(), nullptr, 0, nullptr), 0);
    EXPECT_EQ(shmbloom_contains_hashes(links_handle.get(), 0, nullptr, 0, nullptr), 0);
}

TEST_F(BatchErrors, OfTheOtherKeyTypeAreUnverified) {
    const Packed p{keys};
    EXPECT_EQ(many(numbers_handle.get(), Keys{keys}.data()), -EPROTOTYPE);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(packed(numbers_handle.get(), p.bytes(), p.offsets()), -EPROTOTYPE);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(many_u64(links_handle.get(), u64s.data()), -EPROTOTYPE);
    EXPECT_EQ(answers, unverified);
    // It is known, too, while the filter is in doubt.
    world.set_doubts(filter, SHMBLOOM_DOUBT_WARMING);
    EXPECT_EQ(many_u64(links_handle.get(), u64s.data()), -EPROTOTYPE);
    EXPECT_EQ(info(links_handle).unverified, 2 * n);
}

TEST_F(BatchErrors, OfOffsetsThatDecreaseAreUnverified) {
    const Packed p{keys};
    for (const std::size_t at : {std::size_t{1}, n / 2, n}) {
        std::vector<std::uint64_t> offsets(p.offsets(), p.offsets() + n + 1);
        offsets[at] = offsets[at - 1] - 1;
        EXPECT_EQ(packed(links_handle.get(), p.bytes(), offsets.data()), -EINVAL);
        EXPECT_EQ(answers, unverified) << at;
    }
}

TEST_F(BatchErrors, OfAFilterInDoubtAreNone) {
    const Packed p{keys};
    world.set_doubts(filter, SHMBLOOM_DOUBT_PAUSED);
    world.drop(numbers);
    EXPECT_EQ(many(links_handle.get(), Keys{keys}.data()), 0);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(packed(links_handle.get(), p.bytes(), p.offsets()), 0);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(many_u64(numbers_handle.get(), u64s.data()), 0);
    EXPECT_EQ(answers, unverified);
    EXPECT_EQ(hashes(numbers_handle.get(), 0, u64s.data()), 0);
    EXPECT_EQ(answers, unverified);
}

// A caller's mistake does not wait for the filter to become live.
TEST_F(BatchErrors, OfKeysAreKnownInDoubtToo) {
    world.set_doubts(filter, SHMBLOOM_DOUBT_WARMING);
    keys[70] = std::string((1 << 20) + 1, 'x');
    EXPECT_EQ(many(links_handle.get(), Keys{keys}.data()), -E2BIG);
    EXPECT_EQ(answers, unverified);
    const Packed p{keys};
    EXPECT_EQ(packed(links_handle.get(), p.bytes(), p.offsets()), -E2BIG);
    EXPECT_EQ(answers, unverified);
    Keys with_null{keys};
    with_null.data()[3] = {nullptr, 1};
    EXPECT_EQ(many(links_handle.get(), with_null.data()), -EINVAL); // of the first
    EXPECT_EQ(answers, unverified);
}

TEST_F(BatchErrors, OfKeysThatAreTooLongAreTheirsAlone) {
    const std::string longest(1 << 20, 'x');
    keys[70] = longest + "x";
    keys[71] = longest;
    world.add(filter, longest);
    Answers expected(n, SHMBLOOM_ABSENT);
    expected[70] = SHMBLOOM_UNVERIFIED;
    expected[71] = SHMBLOOM_MAYBE;
    EXPECT_EQ(many(links_handle.get(), Keys{keys}.data()), -E2BIG);
    EXPECT_EQ(answers, expected);
    const Packed p{keys};
    EXPECT_EQ(packed(links_handle.get(), p.bytes(), p.offsets()), -E2BIG);
    EXPECT_EQ(answers, expected);
    EXPECT_EQ(info(links_handle).unverified, 2u);
}

TEST_F(BatchErrors, OfAKeyThatIsNullAreItsAlone) {
    Keys k{keys};
    k.data()[3] = {nullptr, 0};
    k.data()[130] = {nullptr, 1};
    EXPECT_EQ(many(links_handle.get(), k.data()), -EINVAL);
    Answers expected(n, SHMBLOOM_ABSENT);
    expected[130] = SHMBLOOM_UNVERIFIED;
    EXPECT_EQ(answers, expected);
}

TEST_F(BatchErrors, OfPackedKeysWithoutBytesAreNone) {
    const std::vector<std::uint64_t> offsets(n + 1, 12345);
    world.add(filter, std::string_view{});
    EXPECT_EQ(packed(links_handle.get(), nullptr, offsets.data()), 0);
    EXPECT_EQ(answers, Answers(n, SHMBLOOM_MAYBE));
}

TEST_F(BatchErrors, OfAPieceOfAnArrowArrayAreNone) {
    const Packed p{keys};
    world.add(filter, keys[101]);
    Answers some(50, 0);
    EXPECT_EQ(shmbloom_contains_packed(links_handle.get(), p.bytes(), p.offsets() + 100, 50, some.data()), 0);
    Answers expected(50, SHMBLOOM_ABSENT);
    expected[1] = SHMBLOOM_MAYBE;
    EXPECT_EQ(some, expected);
}

// ---- What happens in the middle of a batch: at the moment when a certain key is read. ----

// A key on a page that may not be read. The fault that its hashing raises lets `act` happen, then the page is readable.
class TrapKey {
  public:
    explicit TrapKey(std::function<void()> act) : act_{std::move(act)} {
        page_ = static_cast<char *>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        std::memcpy(page_, "trap", 4);
        ::mprotect(page_, 4096, PROT_NONE);
        armed_ = this;
        struct sigaction action {};
        action.sa_sigaction = spring;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        ::sigaction(SIGSEGV, &action, &before_);
    }
    ~TrapKey() {
        ::sigaction(SIGSEGV, &before_, nullptr);
        ::munmap(page_, 4096);
    }
    shmbloom_key key() const { return {page_, 4}; }
    static int sprung() { return sprung_; }

  private:
    static void spring(int, siginfo_t *where, void *) {
        if (where->si_addr != armed_->page_)
            ::_exit(99);
        ::mprotect(armed_->page_, 4096, PROT_READ);
        sprung_++;
        armed_->act_(); // not async-signal-safe, but the library's hashing was interrupted, which holds nothing
    }

    std::function<void()> act_;
    char *page_;
    struct sigaction before_ {};
    static inline TrapKey *armed_ = nullptr;
    static inline int sprung_ = 0;
};

// In a filter that is tested block by block, and in two in which a block is tested when the next one has been hashed.
class Middle : public testing::TestWithParam<Spec> {
  protected:
    World world;
    Filter &filter = world.create("links", GetParam());
    Handle handle = open(world, "links");
    std::vector<std::string> keys = texts(1000);
    Keys many{keys};

    Answers look_up(int expected = 0) {
        Answers answers(many.size(), 99);
        const int before = TrapKey::sprung();
        EXPECT_EQ(shmbloom_contains_many(handle.get(), many.data(), many.size(), answers.data()), expected);
        EXPECT_EQ(TrapKey::sprung(), before + 1);
        return answers;
    }
    static std::ptrdiff_t count_from(const Answers &answers, std::size_t from, std::uint8_t value) {
        return std::count(answers.begin() + static_cast<std::ptrdiff_t>(from), answers.end(), value);
    }
};

TEST_P(Middle, AnswersAtMostSixtyFourKeysFromTheOldGeneration) {
    for (const std::string &key : keys)
        world.add(filter, key);
    world.add(filter, "trap");
    const TrapKey trap{[&] { world.switch_generation(filter); }};
    constexpr std::size_t at = 500;
    many.data()[at] = trap.key();
    const Answers answers = look_up();
    EXPECT_EQ(count_from(answers, 0, SHMBLOOM_UNVERIFIED), 0);
    EXPECT_EQ(std::count(answers.begin(), answers.begin() + at, SHMBLOOM_MAYBE), static_cast<std::ptrdiff_t>(at));
    EXPECT_LE(count_from(answers, at, SHMBLOOM_MAYBE), 64);
    EXPECT_EQ(answers[at + 64], SHMBLOOM_ABSENT);
    EXPECT_EQ(answers.back(), SHMBLOOM_ABSENT);
}

TEST_P(Middle, SaysAbsentOfAtMostSixtyFourKeysAfterAPause) {
    const TrapKey trap{[&] { world.set_doubts(filter, SHMBLOOM_DOUBT_PAUSED); }};
    many.data()[100] = trap.key();
    const Answers answers = look_up();
    EXPECT_EQ(std::count(answers.begin(), answers.begin() + 100, SHMBLOOM_ABSENT), 100);
    EXPECT_EQ(count_from(answers, 164, SHMBLOOM_UNVERIFIED), 1000 - 164);
}

TEST_P(Middle, HashesTheRestForTheFilterThatCameInItsPlace) {
    const TrapKey trap{[&] {
        world.drop(filter);
        Filter &again = world.create("links", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 3, 1000}, .seed = 77}, 300);
        for (const std::string &key : keys)
            world.add(again, key);
    }};
    many.data()[200] = trap.key();
    const Answers answers = look_up();
    EXPECT_EQ(count_from(answers, 264, SHMBLOOM_MAYBE), 1000 - 264);
    EXPECT_EQ(count_from(answers, 0, SHMBLOOM_UNVERIFIED), 0);
}

TEST_P(Middle, AnswersUnverifiedOnceTheFilterHasTheOtherKeyType) {
    const TrapKey trap{[&] {
        world.drop(filter);
        world.create("links", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    }};
    many.data()[200] = trap.key();
    const Answers answers = look_up(-EPROTOTYPE);
    EXPECT_EQ(std::count(answers.begin(), answers.begin() + 200, SHMBLOOM_ABSENT), 200);
    EXPECT_EQ(count_from(answers, 264, SHMBLOOM_UNVERIFIED), 1000 - 264);
}

TEST_P(Middle, ReadsNoBitOfAFilterThatWasDropped) {
    const TrapKey trap{[&] { world.drop(filter); }};
    many.data()[200] = trap.key();
    const Answers answers = look_up();
    EXPECT_EQ(count_from(answers, 264, SHMBLOOM_UNVERIFIED), 1000 - 264);
}

INSTANTIATE_TEST_SUITE_P(NearAndFar, Middle,
                         testing::Values(Spec{}, Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 40'000}},
                                         Spec{.shape = {SHMBLOOM_LAYOUT_CLASSIC, 7, 20'000'000}}));

// Between any two instructions: what is hashed is tested in the segment that it was hashed for, or not at all.
class Race : public testing::TestWithParam<Spec> {};

TEST_P(Race, WithAFilterThatIsDroppedAndMadeAnewIsNeverAnsweredAbsent) {
    const auto added = texts(16);
    std::vector<std::string> asked;
    while (asked.size() < 65'536)
        asked.insert(asked.end(), added.begin(), added.end());
    const Keys keys{asked};
    Spec warming = GetParam();
    warming.doubts = SHMBLOOM_DOUBT_WARMING;
    World world;
    world.create("links", warming);
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> maybe = 0, absent = 0;
    std::thread reader{[&, handle = open(world, "links")] {
        Answers answers(keys.size());
        while (!done) {
            EXPECT_EQ(shmbloom_contains_many(handle.get(), keys.data(), keys.size(), answers.data()), 0);
            absent += static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), SHMBLOOM_ABSENT));
            maybe += static_cast<std::uint64_t>(std::count(answers.begin(), answers.end(), SHMBLOOM_MAYBE));
        }
    }};
    for (int round = 0; round < 1000 && absent == 0 && !HasFailure(); round++) {
        world.drop(*world.find("links"));
        Filter &filter = world.create("links", warming);
        for (const std::string &key : added)
            world.add(filter, key);
        world.set_doubts(filter, 0);
        const std::uint64_t before = maybe;
        EXPECT_TRUE(eventually([&] { return maybe > before; }));
    }
    done = true;
    reader.join();
    EXPECT_EQ(absent, 0u);
}

INSTANTIATE_TEST_SUITE_P(Far, Race,
                         testing::Values(Spec{.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 40'000}},
                                         Spec{.shape = {SHMBLOOM_LAYOUT_CLASSIC, 7, 20'000'000}}));

} // namespace
} // namespace shmbloom::test
