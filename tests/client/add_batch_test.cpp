// Adds of many keys: in every form, part by part; what is not 255 is acknowledged.
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "forms.h"
#include "internal.h"

namespace shmbloom::test {
namespace {

using Answers = std::vector<std::uint8_t>;

std::vector<std::string> texts(std::size_t count) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; i++)
        keys.push_back("key-" + std::to_string(i));
    return keys;
}

class AddBatch : public testing::TestWithParam<Spec> {};

TEST_P(AddBatch, OfBytesIsThereAfterwards) {
    World world;
    world.create("links", GetParam());
    KeepingDaemon daemon{world};
    const Handle handle = open(world, "links");
    const auto keys = texts(300);
    Answers answers(keys.size());
    EXPECT_EQ(shmbloom_add_many(handle.get(), Keys{keys}.data(), keys.size(), answers.data()), 0);
    EXPECT_GE(std::count(answers.begin(), answers.end(), SHMBLOOM_ABSENT), 290);
    for (const std::string &key : keys)
        EXPECT_EQ(contains(handle, key), SHMBLOOM_MAYBE);
    const Packed packed{keys};
    EXPECT_EQ(shmbloom_add_packed(handle.get(), packed.bytes(), packed.offsets(), packed.size(), answers.data()), 0);
    EXPECT_EQ(answers, Answers(keys.size(), SHMBLOOM_MAYBE));
    EXPECT_EQ(daemon.commands().size(), 2u);
}

TEST_P(AddBatch, OfNumbersIsThereAfterwards) {
    World world;
    Spec spec = GetParam();
    spec.key_type = SHMBLOOM_KEY_TYPE_U64;
    world.create("numbers", spec);
    KeepingDaemon daemon{world};
    const Handle handle = open(world, "numbers");
    std::vector<std::uint64_t> keys;
    for (std::uint64_t i = 0; i < 300; i++)
        keys.push_back(i << 40);
    Answers answers(keys.size());
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), keys.data(), keys.size(), answers.data()), 0);
    EXPECT_EQ(shmbloom_contains_many_u64(handle.get(), keys.data(), keys.size(), answers.data()), 0);
    EXPECT_EQ(answers, Answers(keys.size(), SHMBLOOM_MAYBE));
}

INSTANTIATE_TEST_SUITE_P(EveryShape, AddBatch, testing::ValuesIn(every_shape()));

// Answers that begin as zeros: what a forgotten error would read.
class Zeros {
  public:
    explicit Zeros(std::size_t n) : n_{n}, bytes_{static_cast<std::uint8_t *>(std::calloc(n, 1))} {}
    ~Zeros() { std::free(bytes_); }
    Zeros(const Zeros &) = delete;
    Zeros &operator=(const Zeros &) = delete;
    std::uint8_t *data() { return bytes_; }
    Answers all() const { return {bytes_, bytes_ + n_}; }
    Answers part(std::size_t begin, std::size_t end) const { return {bytes_ + begin, bytes_ + end}; }

  private:
    std::size_t n_;
    std::uint8_t *bytes_;
};

class AddErrors : public testing::Test {
  protected:
    World world;
    Filter &filter = world.create("links");
    static constexpr std::size_t n = 100;
    std::vector<std::string> keys = texts(n);
    std::vector<std::uint64_t> u64s = std::vector<std::uint64_t>(n, 7);
    const Answers none = Answers(n, SHMBLOOM_NOT_ADDED);
};

TEST_F(AddErrors, OfBadArgumentsSendNothing) {
    world.create("numbers", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    KeepingDaemon daemon{world};
    const Handle links = open(world, "links");
    const Handle numbers = open(world, "numbers");
    const Packed packed{keys};
    std::vector<std::uint64_t> decreasing(packed.offsets(), packed.offsets() + n + 1);
    decreasing[50] = 0;
    std::vector<std::string> longer = keys;
    longer.back() = std::string((1 << 20) + 1, 'x');
    const Packed longer_packed{longer};
    Keys null_key{keys};
    null_key.data()[9] = {nullptr, 1};
    const std::vector<std::pair<int, std::function<int(std::uint8_t *)>>> calls = {
        {-EINVAL, [&](auto *a) { return shmbloom_add_many(nullptr, Keys{keys}.data(), n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_many(links.get(), nullptr, n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_many(links.get(), null_key.data(), n, a); }},
        {-E2BIG, [&](auto *a) { return shmbloom_add_many(links.get(), Keys{longer}.data(), n, a); }},
        {-EPROTOTYPE, [&](auto *a) { return shmbloom_add_many(numbers.get(), Keys{keys}.data(), n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_packed(nullptr, packed.bytes(), packed.offsets(), n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_packed(links.get(), nullptr, packed.offsets(), n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_packed(links.get(), packed.bytes(), nullptr, n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_packed(links.get(), packed.bytes(), decreasing.data(), n, a); }},
        {-E2BIG,
         [&](auto *a) {
             return shmbloom_add_packed(links.get(), longer_packed.bytes(), longer_packed.offsets(), n, a);
         }},
        {-EPROTOTYPE,
         [&](auto *a) { return shmbloom_add_packed(numbers.get(), packed.bytes(), packed.offsets(), n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_many_u64(nullptr, u64s.data(), n, a); }},
        {-EINVAL, [&](auto *a) { return shmbloom_add_many_u64(numbers.get(), nullptr, n, a); }},
        {-EPROTOTYPE, [&](auto *a) { return shmbloom_add_many_u64(links.get(), u64s.data(), n, a); }},
    };
    for (std::size_t i = 0; i < calls.size(); i++) {
        Zeros answers{n};
        EXPECT_EQ(calls[i].second(answers.data()), calls[i].first) << i;
        EXPECT_EQ(answers.all(), none) << i;
    }
    EXPECT_EQ(shmbloom_add_many(links.get(), Keys{keys}.data(), n, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_add_many(links.get(), nullptr, 0, nullptr), 0);
    EXPECT_EQ(shmbloom_add_packed(links.get(), nullptr, nullptr, 0, nullptr), 0);
    EXPECT_EQ(shmbloom_add_many_u64(links.get(), nullptr, 0, nullptr), 0);
    EXPECT_EQ(daemon.commands().size(), 0u);
}

TEST_F(AddErrors, WithoutADaemonOrAFilterAcknowledgeNothing) {
    Zeros answers{n};
    const Handle handle = open(world, "links", 20);
    EXPECT_EQ(shmbloom_add_many(handle.get(), Keys{keys}.data(), n, answers.data()), -ENXIO);
    EXPECT_EQ(answers.all(), none);
    world.drop(filter);
    Zeros more{n};
    EXPECT_EQ(shmbloom_add_many(handle.get(), Keys{keys}.data(), n, more.data()), -ENOENT);
    EXPECT_EQ(more.all(), none);
}

class Parts : public AddErrors {
  protected:
    static constexpr std::size_t part = SHMBLOOM__ADD_BATCH;
    static constexpr std::size_t total = 2 * part + 10;
    std::vector<std::uint64_t> numbers = [] {
        std::vector<std::uint64_t> all(total);
        for (std::size_t i = 0; i < total; i++)
            all[i] = i;
        return all;
    }();
    Filter &big =
        world.create("numbers", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 1 << 14}, .key_type = SHMBLOOM_KEY_TYPE_U64});
};

TEST_F(Parts, OfALargeBatchAreSixtyFiveThousandAndMoreEach) {
    KeepingDaemon daemon{world};
    const Handle handle = open(world, "numbers", 20000);
    Answers answers(total, 99);
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), numbers.data(), total, answers.data()), 0);
    EXPECT_EQ(std::count(answers.begin(), answers.end(), SHMBLOOM_NOT_ADDED), 0);
    const auto commands = daemon.commands();
    ASSERT_EQ(commands.size(), 3u);
    EXPECT_EQ(commands[0][3].size(), part * 8);
    EXPECT_EQ(commands[1][3].size(), part * 8);
    EXPECT_EQ(commands[2][3].size(), 80u);
    EXPECT_EQ(shmbloom_contains_many_u64(handle.get(), numbers.data(), total, answers.data()), 0);
    EXPECT_EQ(answers, Answers(total, SHMBLOOM_MAYBE));
}

TEST_F(Parts, BeforeAnErrorStayAcknowledged) {
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(world.control()->control_uuid);
                          session.next();
                          session.send("$65536\r\n" + std::string(part, '\1') + "\r\n");
                          session.next();
                          session.send("-NOSPC the disk is full\r\n");
                      }};
    const Handle handle = open(world, "numbers", 20000);
    Zeros answers{total};
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), numbers.data(), total, answers.data()), -ENOSPC);
    EXPECT_EQ(answers.part(0, part), Answers(part, SHMBLOOM_MAYBE));
    EXPECT_EQ(answers.part(part, total), Answers(total - part, SHMBLOOM_NOT_ADDED));
}

TEST_F(Parts, ThatMayHaveBeenAddedBeforeAreUnverifiedAndOnlyThey) {
    FakeDaemon daemon{world, [&](Session &session, int number) {
                          session.hello(world.control()->control_uuid);
                          for (int i = 0; session.next(); i++) {
                              if (number == 0 && i == 1)
                                  return; // dies with the second part in hand
                              const std::size_t size = number == 1 && i == 1 ? 10 : part;
                              session.send("$" + std::to_string(size) + "\r\n" + std::string(size, '\0') + "\r\n");
                          }
                      }};
    const Handle handle = open(world, "numbers", 20000);
    Zeros answers{total};
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), numbers.data(), total, answers.data()), 0);
    EXPECT_EQ(answers.part(0, part), Answers(part, SHMBLOOM_ABSENT));
    EXPECT_EQ(answers.part(part, 2 * part), Answers(part, SHMBLOOM_UNVERIFIED));
    EXPECT_EQ(answers.part(2 * part, total), Answers(10, SHMBLOOM_ABSENT));
}

TEST_F(Parts, AreHashedAgainWhenTheFilterIsMadeAnewInTheMiddle) {
    KeepingDaemon daemon{world};
    int adds = 0;
    daemon.before_each([&](const Command &) {
        if (++adds != 2)
            return;
        world.drop(big);
        world.create("numbers", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 1 << 14},
                                 .key_type = SHMBLOOM_KEY_TYPE_U64,
                                 .seed = 5,
                                 .domain = 6});
    });
    const Handle handle = open(world, "numbers", 20000);
    Answers answers(total);
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), numbers.data(), total, answers.data()), 0);
    EXPECT_EQ(daemon.commands().size(), 4u);
    EXPECT_EQ(std::count(answers.begin(), answers.end(), SHMBLOOM_NOT_ADDED), 0);
    EXPECT_EQ(shmbloom_contains_many_u64(handle.get(), numbers.data() + part, part + 10, answers.data()), 0);
    EXPECT_EQ(std::count(answers.begin(), answers.begin() + part + 10, SHMBLOOM_MAYBE),
              static_cast<std::ptrdiff_t>(part + 10));
}

TEST_F(Parts, AreRefusedOnceTheFilterHasTheOtherKeyType) {
    KeepingDaemon daemon{world};
    int adds = 0;
    daemon.before_each([&](const Command &) {
        if (++adds != 2)
            return;
        world.drop(big);
        world.create("numbers");
    });
    const Handle handle = open(world, "numbers", 20000);
    Zeros answers{total};
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), numbers.data(), total, answers.data()), -EPROTOTYPE);
    EXPECT_EQ(std::count(answers.data(), answers.data() + part, SHMBLOOM_NOT_ADDED), 0);
    EXPECT_EQ(answers.part(part, total), Answers(total - part, SHMBLOOM_NOT_ADDED));
}

TEST_F(Parts, WithoutWaitingAreAllSent) {
    std::atomic<std::size_t> hashes{0};
    FakeDaemon daemon{world, [&](Session &session, int) {
                          session.hello(world.control()->control_uuid);
                          while (const auto command = session.next())
                              hashes += command->at(3).size() / 8;
                      }};
    const Handle handle = open(world, "numbers", -1);
    constexpr std::size_t some = 20000;
    Zeros answers{some};
    EXPECT_EQ(shmbloom_add_many_u64(handle.get(), numbers.data(), some, answers.data()), -EINPROGRESS);
    EXPECT_EQ(answers.all(), Answers(some, SHMBLOOM_NOT_ADDED));
    EXPECT_TRUE(eventually([&] { return hashes == some; })) << hashes;
}

} // namespace
} // namespace shmbloom::test
