// shmbloom_hash: what it gives, and that it never gives a hash with a domain that it is not valid for.
#include <cerrno>
#include <gtest/gtest.h>

#include "fake_daemon.h"

namespace shmbloom::test {
namespace {

class Hash : public testing::Test {
  protected:
    World world;
    Filter &links = world.create("links", {.normalization = SHMBLOOM_NORMALIZE_LOWER});
    Filter &numbers = world.create("numbers", {.key_type = SHMBLOOM_KEY_TYPE_U64});
    Handle links_handle = open(world, "links");
    Handle numbers_handle = open(world, "numbers");
    std::uint64_t hash = 1, domain = 2;
};

TEST_F(Hash, IsTheOneThatAddsSend) {
    EXPECT_EQ(shmbloom_hash(links_handle.get(), "KEY", 3, &hash, &domain), 0);
    EXPECT_EQ(hash, shmbloom_hash_bytes("key", 3, 0, links.spec.seed));
    EXPECT_EQ(domain, info(links_handle).hash_domain);
    EXPECT_EQ(shmbloom_hash_u64(numbers_handle.get(), 42, &hash, &domain), 0);
    EXPECT_EQ(hash, shmbloom_hash_number(42, numbers.spec.seed));
    EXPECT_EQ(domain, info(numbers_handle).hash_domain);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), nullptr, 0, &hash, &domain), 0);
}

TEST_F(Hash, IsThereWhileTheFilterIsInDoubt) {
    world.set_doubts(links, SHMBLOOM_DOUBT_WARMING);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), "key", 3, &hash, &domain), 0);
}

TEST_F(Hash, OfBadArgumentsSetsNothing) {
    const std::string too_long((1 << 20) + 1, 'x');
    EXPECT_EQ(shmbloom_hash(nullptr, "k", 1, &hash, &domain), -EINVAL);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), nullptr, 1, &hash, &domain), -EINVAL);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), "k", 1, nullptr, &domain), -EINVAL);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), "k", 1, &hash, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), too_long.data(), too_long.size(), &hash, &domain), -E2BIG);
    EXPECT_EQ(shmbloom_hash(numbers_handle.get(), "k", 1, &hash, &domain), -EPROTOTYPE);
    EXPECT_EQ(shmbloom_hash_u64(nullptr, 1, &hash, &domain), -EINVAL);
    EXPECT_EQ(shmbloom_hash_u64(numbers_handle.get(), 1, nullptr, &domain), -EINVAL);
    EXPECT_EQ(shmbloom_hash_u64(numbers_handle.get(), 1, &hash, nullptr), -EINVAL);
    EXPECT_EQ(shmbloom_hash_u64(links_handle.get(), 1, &hash, &domain), -EPROTOTYPE);
    world.drop(links);
    EXPECT_EQ(shmbloom_hash(links_handle.get(), "k", 1, &hash, &domain), -ENOENT);
    EXPECT_EQ(hash, 1u);
    EXPECT_EQ(domain, 2u);
}

TEST_F(Hash, OfAFilterMadeAnewIsNoneOfTheFormers) {
    ASSERT_EQ(shmbloom_hash(links_handle.get(), "key", 3, &hash, &domain), 0);
    world.drop(links);
    Filter &again = world.create("links", {.seed = 5, .domain = 6});
    world.add(again, "key");
    std::uint8_t answer = 0;
    EXPECT_EQ(shmbloom_contains_hashes(links_handle.get(), domain, &hash, 1, &answer), -ESTALE);
    EXPECT_EQ(answer, SHMBLOOM_UNVERIFIED);
    ASSERT_EQ(shmbloom_hash(links_handle.get(), "key", 3, &hash, &domain), 0);
    EXPECT_EQ(shmbloom_contains_hashes(links_handle.get(), domain, &hash, 1, &answer), 0);
    EXPECT_EQ(answer, SHMBLOOM_MAYBE);
}

// What a handle that is open uses for hashes is read from the slot each time; the segment vouches for it.
TEST_F(Hash, OfASlotThatIsNotTheSegmentsIsRefused) {
    KeepingDaemon daemon{world};
    shmbloom_slot &slot = *world.slot(links);
    const auto refused = [&] {
        return shmbloom_hash(links_handle.get(), "key", 3, &hash, &domain) == -EBADMSG &&
               shmbloom_add(links_handle.get(), "key", 3) == -EBADMSG;
    };
    slot.seed ^= 1;
    EXPECT_TRUE(refused());
    slot.seed ^= 1;
    slot.hash_domain ^= 1;
    EXPECT_TRUE(refused());
    slot.hash_domain ^= 1;
    slot.normalization ^= SHMBLOOM_NORMALIZE_LOWER;
    EXPECT_TRUE(refused());
    slot.normalization ^= SHMBLOOM_NORMALIZE_LOWER;
    slot.normalization |= 4;
    EXPECT_TRUE(refused());
    slot.normalization ^= 4;
    slot.key_type = SHMBLOOM_KEY_TYPE_U64;
    EXPECT_TRUE(refused());
    slot.key_type = 7;
    EXPECT_TRUE(refused());
    slot.key_type = SHMBLOOM_KEY_TYPE_BYTES;
    EXPECT_EQ(shmbloom_hash(links_handle.get(), "key", 3, &hash, &domain), 0);
    EXPECT_EQ(daemon.commands().size(), 0u);
}

} // namespace
} // namespace shmbloom::test
