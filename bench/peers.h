// What others offer for the same job in the same process, each as its documentation says to use it. Which of them there
// are is decided when this is built: see README.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench_key.h"

namespace shmbloom::bench {

class Peer {
  public:
    virtual ~Peer() = default;
    virtual std::string name() const = 0;
    virtual void add(const Key &key) = 0;
    // How many of the keys are there, asked one by one.
    virtual std::size_t count(const std::vector<Key> &keys) const = 0;
    // The same asked together, if it can.
    virtual bool has_bulk() const { return false; }
    virtual std::size_t count_bulk(const std::vector<Key> &keys) const { return count(keys); }
    virtual double bytes() const = 0;
};

// Empty, for n keys at rate p. A set is only made for few keys: it takes some 40 bytes for each.
std::vector<std::unique_ptr<Peer>> make_peers(std::uint64_t n, double p);

} // namespace shmbloom::bench
