#include "peers.h"

#include <stdexcept>
#include <unordered_set>

#if SHMBLOOM_BENCH_BOOST_BLOOM
#include <boost/bloom/block.hpp>
#include <boost/bloom/fast_multiblock32.hpp>
#include <boost/bloom/fast_multiblock64.hpp>
#include <boost/bloom/filter.hpp>
#endif
#if SHMBLOOM_BENCH_LIBBLOOM
#include <bloom.h>
#endif

#include "shmbloom/key.h"

namespace shmbloom::bench {

namespace {

constexpr std::uint64_t kSetUpTo = 2'000'000;

// The same hash for all that let one choose.
struct Hash {
    using is_avalanching = void;
    std::size_t operator()(const Key &key) const {
        return shmbloom_hash_bytes(&key, sizeof key, 0, 0x0123456789ABCDEF);
    }
};

class SetPeer : public Peer {
  public:
    explicit SetPeer(std::uint64_t n) { set_.reserve(n); }
    std::string name() const override { return "std::unordered_set"; }
    void add(const Key &key) override { set_.insert(key); }
    std::size_t count(const std::vector<Key> &keys) const override {
        std::size_t found = 0;
        for (const Key &key : keys)
            found += set_.count(key);
        return found;
    }
    // A node: pointer, key; hash kept with it; malloc's own word. And the buckets.
    double bytes() const override {
        return static_cast<double>(set_.size()) * 40 + static_cast<double>(set_.bucket_count()) * 8;
    }

  private:
    std::unordered_set<Key, Hash> set_;
};

#if SHMBLOOM_BENCH_BOOST_BLOOM
template <typename Filter>
class BoostPeer : public Peer {
  public:
    BoostPeer(std::string name, std::uint64_t n, double p) : name_{std::move(name)}, filter_(n, p) {}
    std::string name() const override { return name_; }
    void add(const Key &key) override { filter_.insert(key); }
    std::size_t count(const std::vector<Key> &keys) const override {
        std::size_t found = 0;
        for (const Key &key : keys)
            found += filter_.may_contain(key);
        return found;
    }
    bool has_bulk() const override { return true; }
    std::size_t count_bulk(const std::vector<Key> &keys) const override {
        std::size_t found = 0;
        filter_.may_contain(keys.begin(), keys.end(), [&](const Key &, bool is_there) { found += is_there; });
        return found;
    }
    double bytes() const override { return static_cast<double>(filter_.capacity()) / 8; }

  private:
    std::string name_;
    Filter filter_;
};

template <std::size_t k>
using BoostClassic = boost::bloom::filter<Key, k, boost::bloom::block<unsigned char, 1>, 0, Hash>;
template <typename Block>
using BoostBlocked = boost::bloom::filter<Key, 1, Block, 0, Hash>;

// For each rate what Boost's own tables show as the fastest at the fewest bits.
void add_boost(std::vector<std::unique_ptr<Peer>> &peers, std::uint64_t n, double p) {
    using namespace boost::bloom;
    if (p >= 5e-3) {
        peers.push_back(
            std::make_unique<BoostPeer<BoostBlocked<fast_multiblock32<8>>>>("Boost fast_multiblock32<8>", n, p));
        peers.push_back(
            std::make_unique<BoostPeer<BoostBlocked<fast_multiblock64<7>>>>("Boost fast_multiblock64<7>", n, p));
        peers.push_back(std::make_unique<BoostPeer<BoostClassic<7>>>("Boost classic, k = 7", n, p));
    } else {
        peers.push_back(
            std::make_unique<BoostPeer<BoostBlocked<fast_multiblock64<8>>>>("Boost fast_multiblock64<8>", n, p));
        if (p >= 5e-4)
            peers.push_back(std::make_unique<BoostPeer<BoostClassic<10>>>("Boost classic, k = 10", n, p));
        else
            peers.push_back(std::make_unique<BoostPeer<BoostClassic<13>>>("Boost classic, k = 13", n, p));
    }
}
#endif

#if SHMBLOOM_BENCH_LIBBLOOM
class LibbloomPeer : public Peer {
  public:
    LibbloomPeer(std::uint64_t n, double p) {
        if (bloom_init(&bloom_, static_cast<int>(n), p) != 0)
            throw std::runtime_error("libbloom refuses");
    }
    ~LibbloomPeer() override { bloom_free(&bloom_); }
    std::string name() const override { return "libbloom"; }
    void add(const Key &key) override { bloom_add(&bloom_, &key, sizeof key); }
    std::size_t count(const std::vector<Key> &keys) const override {
        std::size_t found = 0;
        for (const Key &key : keys)
            found += bloom_check(&bloom_, &key, sizeof key) == 1;
        return found;
    }
    double bytes() const override { return static_cast<double>(bloom_.bytes); }

  private:
    mutable struct bloom bloom_ {};
};
#endif

} // namespace

std::vector<std::unique_ptr<Peer>> make_peers(std::uint64_t n, double p) {
    std::vector<std::unique_ptr<Peer>> peers;
#if SHMBLOOM_BENCH_BOOST_BLOOM
    add_boost(peers, n, p);
#endif
#if SHMBLOOM_BENCH_LIBBLOOM
    if (n <= 150'000'000) // its size is an int of bits
        peers.push_back(std::make_unique<LibbloomPeer>(n, p));
#endif
    if (n <= kSetUpTo)
        peers.push_back(std::make_unique<SetPeer>(n));
    (void)p;
    return peers;
}

} // namespace shmbloom::bench
