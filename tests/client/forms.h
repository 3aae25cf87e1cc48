// Keys in the forms that batches take.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "shmbloom/shmbloom.h"

namespace shmbloom::test {

// Points into the strings, which must outlive it.
class Keys {
  public:
    explicit Keys(const std::vector<std::string> &keys) {
        for (const std::string &key : keys)
            keys_.push_back({key.data(), key.size()});
    }
    shmbloom_key *data() { return keys_.data(); }
    const shmbloom_key *data() const { return keys_.data(); }
    std::size_t size() const { return keys_.size(); }

  private:
    std::vector<shmbloom_key> keys_;
};

// A copy, as Arrow keeps it.
class Packed {
  public:
    explicit Packed(const std::vector<std::string> &keys) : offsets_{0} {
        for (const std::string &key : keys) {
            bytes_ += key;
            offsets_.push_back(bytes_.size());
        }
    }
    const void *bytes() const { return bytes_.data(); }
    const std::uint64_t *offsets() const { return offsets_.data(); }
    std::size_t size() const { return offsets_.size() - 1; }

  private:
    std::string bytes_;
    std::vector<std::uint64_t> offsets_;
};

} // namespace shmbloom::test
