// Keys by their hashes, as loads and rebuilds send them over the wire.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "instance.h"
#include "keys.h"
#include "shmbloom/key.h"

namespace shmbloom::test {

using Hashes = std::vector<std::uint64_t>;

inline std::string base62_key(std::uint64_t index) {
    char key[TEST_KEY_MAX_BYTES];
    return {key, test_key(key, "base62", index)};
}

// Hashes as workers of that instance make them, of keys without normalisation.
class HashedKeys {
  public:
    explicit HashedKeys(const TestInstance &instance) {
        std::ifstream file{instance.state_dir() + "/seed"};
        std::string magic, seed;
        if (!(file >> magic >> seed) || seed.size() != 16)
            throw std::runtime_error{"no seed in " + instance.state_dir()};
        seed_ = std::stoull(seed, nullptr, 16);
    }

    std::uint64_t of(std::string_view key) const { return shmbloom_hash_bytes(key.data(), key.size(), 0, seed_); }
    // Of base62 keys, one after the other.
    Hashes range(std::uint64_t from, std::uint64_t count) const {
        Hashes hashes(count);
        char key[TEST_KEY_MAX_BYTES];
        for (std::uint64_t i = 0; i < count; i++)
            hashes[i] = of({key, test_key(key, "base62", from + i)});
        return hashes;
    }

  private:
    std::uint64_t seed_ = 0;
};

// So many of `asked` keys that were never added may be answered "maybe" at the rate p: four standard deviations more
// than expected, which chance alone passes once in 30,000.
inline std::uint64_t maybes_allowed(std::uint64_t asked, double p) {
    const double expected = static_cast<double>(asked) * p;
    return static_cast<std::uint64_t>(expected + 4 * std::sqrt(expected) + 1);
}

// One connection, for one filter: its adds, loads and rebuilds.
class FilterWire {
  public:
    FilterWire(TestInstance &instance, std::string name)
        : wire_{instance.wire()}, name_{std::move(name)}, domain_{instance.info(name_).at("hash_domain")},
          keys_{instance} {}

    static constexpr std::size_t kBatch = 50'000;

    Wire &wire() { return wire_; }
    const HashedKeys &keys() const { return keys_; }
    Wire::Reply call(const std::string &command, const std::vector<std::string> &words) {
        std::vector<std::string_view> all{command, name_};
        all.insert(all.end(), words.begin(), words.end());
        return wire_.call(all);
    }
    Wire::Reply rebuild(const std::vector<std::string> &words) { return call("SB.REBUILD", words); }
    Wire::Reply load(const std::vector<std::string> &words) { return call("SB.LOAD", words); }
    Wire::Reply bulk(const Hashes &hashes, const std::string &domain = "") {
        return wire_.call({"SB.BULK", name_, domain.empty() ? domain_ : domain, bytes(hashes)});
    }
    Wire::Reply must(const Hashes &hashes) { return wire_.call({"SB.REBUILD", name_, "MUST", domain_, bytes(hashes)}); }
    Wire::Reply add(const Hashes &hashes) { return wire_.add(name_, domain_, hashes); }

    // All of them, in batches; throws what the daemon says against it.
    void bulk_range(std::uint64_t from, std::uint64_t count) {
        in_batches(from, count, [this](const Hashes &hashes) { return bulk(hashes); });
    }
    void add_range(std::uint64_t from, std::uint64_t count) {
        in_batches(from, count, [this](const Hashes &hashes) { return add(hashes); });
    }
    // Of base62 keys with these indexes, in batches; the last reply, or the first error.
    Wire::Reply bulk_keys(std::span<const std::uint64_t> indexes) {
        Wire::Reply reply;
        for (std::size_t at = 0; at < indexes.size() && !reply.is_error(); at += kBatch) {
            Hashes hashes;
            for (const std::uint64_t index : indexes.subspan(at, std::min(kBatch, indexes.size() - at)))
                hashes.push_back(keys_.of(base62_key(index)));
            reply = bulk(hashes);
        }
        return reply;
    }
    // Those that the daemon answers "maybe" for.
    std::vector<std::uint64_t> maybes(std::uint64_t from, std::uint64_t count) {
        std::vector<std::uint64_t> found;
        for (std::uint64_t at = from; at < from + count; at += kBatch) {
            const std::uint64_t n = std::min<std::uint64_t>(kBatch, from + count - at);
            std::vector<std::string> asked;
            for (std::uint64_t i = 0; i < n; i++)
                asked.push_back(base62_key(at + i));
            const Wire::Reply reply = call("BF.MEXISTS", asked);
            for (std::uint64_t i = 0; i < reply.elements.size(); i++)
                if (reply.elements[i].text == "1")
                    found.push_back(at + i);
        }
        return found;
    }

  private:
    static std::string_view bytes(const Hashes &hashes) {
        return {reinterpret_cast<const char *>(hashes.data()), hashes.size() * sizeof(std::uint64_t)};
    }
    template <typename Send>
    void in_batches(std::uint64_t from, std::uint64_t count, Send send) {
        for (std::uint64_t at = from; at < from + count; at += kBatch)
            if (const auto reply = send(keys_.range(at, std::min<std::uint64_t>(kBatch, from + count - at)));
                reply.is_error())
                throw std::runtime_error{reply.text};
    }

    Wire wire_;
    const std::string name_, domain_;
    const HashedKeys keys_;
};

} // namespace shmbloom::test
