// What lookup_bench looks up in, by every form of the API, and the keys.
#pragma once

#include <memory>
#include <random>
#include <stdexcept>
#include <vector>

#include "bench_key.h"
#include "shmbloom/shmbloom.h"
#include "standalone_filter.h"
#include "stop.h"
#include "ungated.h"

namespace shmbloom::bench {

constexpr std::size_t kBatchMax = 1024;

struct Closer {
    void operator()(shmbloom_filter *f) const { shmbloom_close(f); }
};

// One filter, filled, and the library's handle on it.
class Subject {
  public:
    Subject(std::uint64_t n, double p, geometry::LayoutChoice layout) : filter_{n, p, layout} {
        for (std::uint64_t i = 0; i < n; i++) {
            throw_if_stopped();
            filter_.add(hash(make_key(i)));
        }
        handle_ = open();
        ungated_ = open();
        if (!shmbloom_bench_leave_out_gates(ungated_.get()))
            ungated_.reset();
    }

    std::uint64_t hash(const Key &key) const { return filter_.hash(&key, sizeof key); }
    const StandaloneFilter &filter() const { return filter_; }

    double counted_fpr(std::uint64_t n, std::uint64_t asked) const {
        std::uint64_t maybe = 0;
        for (std::uint64_t i = 0; i < asked; i++)
            maybe += filter_.contains(hash(make_key(n + i)));
        return static_cast<double>(maybe) / static_cast<double>(asked);
    }

    // How many of the keys are "maybe"; all others must be "absent".
    std::size_t count_maybe(const std::vector<Key> &keys) const { return count_maybe(handle_, keys); }

    // The same without looking at the gates.
    bool has_ungated() const { return ungated_ != nullptr; }
    std::size_t count_maybe_ungated(const std::vector<Key> &keys) const { return count_maybe(ungated_, keys); }

    // The same with each lookup waiting for the one before: its latency.
    std::size_t count_maybe_in_turn(const std::vector<Key> &keys) const {
        std::size_t found = 0, at = 0;
        for (std::size_t i = 0; i < keys.size(); i++, at++) {
            const int answer = shmbloom_contains(handle_.get(), &keys[at], sizeof(Key));
            found += static_cast<std::size_t>(answer);
            at += static_cast<std::size_t>(answer) & opaque_zero();
        }
        return found;
    }

    // The same of keys of any size.
    std::size_t count_pointers(const std::vector<shmbloom_key> &keys) const {
        std::size_t found = 0;
        for (const shmbloom_key &key : keys)
            found += static_cast<std::size_t>(shmbloom_contains(handle_.get(), key.data, key.size));
        return found;
    }

    // The same by calls of `batch` keys each, in each form.
    std::size_t count_many(const std::vector<shmbloom_key> &keys, std::size_t batch) const {
        return count_batches(keys.size(), batch, [&](std::size_t at, std::uint8_t *answers) {
            return shmbloom_contains_many(handle_.get(), keys.data() + at, batch, answers);
        });
    }
    std::size_t count_packed(const std::vector<Key> &keys, const std::vector<std::uint64_t> &offsets,
                             std::size_t batch) const {
        return count_batches(keys.size(), batch, [&](std::size_t at, std::uint8_t *answers) {
            return shmbloom_contains_packed(handle_.get(), keys.data(), offsets.data() + at, batch, answers);
        });
    }
    std::size_t count_hashes(const std::vector<std::uint64_t> &hashes, std::size_t batch) const {
        return count_batches(hashes.size(), batch, [&](std::size_t at, std::uint8_t *answers) {
            return shmbloom_contains_hashes(handle_.get(), filter_.hash_domain(), hashes.data() + at, batch, answers);
        });
    }

    static std::size_t opaque_zero() {
        std::size_t zero = 0;
        __asm__("" : "+r"(zero));
        return zero;
    }

  private:
    using Handle = std::unique_ptr<shmbloom_filter, Closer>;

    Handle open() const {
        shmbloom_options options{};
        options.struct_size = sizeof options;
        options.runtime_dir = filter_.runtime_dir().c_str();
        char error[512] = "";
        options.error_text = error;
        options.error_text_size = sizeof error;
        shmbloom_filter *handle = nullptr;
        if (shmbloom_open(&handle, StandaloneFilter::kName, &options) < 0)
            throw std::runtime_error(error);
        return Handle{handle};
    }

    static std::size_t count_maybe(const Handle &handle, const std::vector<Key> &keys) {
        std::size_t answers[3] = {};
        for (const Key &key : keys)
            answers[shmbloom_contains(handle.get(), &key, sizeof key)]++;
        if (answers[SHMBLOOM_UNVERIFIED] != 0)
            throw std::runtime_error("a lookup was answered 'unverified'");
        return answers[SHMBLOOM_MAYBE];
    }

    // n is a multiple of batch.
    template <typename Call>
    std::size_t count_batches(std::size_t n, std::size_t batch, Call call) const {
        std::uint8_t answers[kBatchMax];
        std::size_t sum = 0;
        for (std::size_t at = 0; at < n; at += batch) {
            if (call(at, answers) != 0)
                throw std::runtime_error("a batch was refused");
            for (std::size_t i = 0; i < batch; i++)
                sum += answers[i]; // an "unverified" is 2, and seen in the sum
        }
        return sum;
    }

    StandaloneFilter filter_;
    Handle handle_, ungated_;
};

// Keys of a round, in each form that they are asked in.
struct Keys {
    std::vector<Key> keys;
    std::vector<shmbloom_key> pointers;
    std::vector<std::uint64_t> hashes;

    void clear() {
        keys.clear();
        pointers.clear();
        hashes.clear();
    }
    void finish(const Subject &subject) {
        for (const Key &key : keys) {
            pointers.push_back({&key, sizeof key});
            hashes.push_back(subject.hash(key));
        }
    }
};

// Keys of another size, none of which is there.
struct SizedKeys {
    std::vector<std::uint64_t> words;
    std::vector<shmbloom_key> keys;

    void draw(std::size_t count, std::size_t bytes, std::mt19937_64 &random) {
        const std::size_t stride = (bytes + 7) / 8;
        keys.clear();
        words.resize(count * stride);
        for (std::uint64_t &word : words)
            word = random();
        for (std::size_t i = 0; i < count; i++)
            keys.push_back({&words[i * stride], bytes});
    }
};

} // namespace shmbloom::bench
