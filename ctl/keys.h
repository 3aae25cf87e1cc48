// What a filter makes of a key that is given as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "filter.h"
#include "shmbloom/key.h"

namespace shmbloom::ctl {

class Keys {
  public:
    explicit Keys(const shmbloom__hashing &hashing) : hashing_{hashing} {}

    // 0, -E2BIG or -ERANGE (not a u64); the hash is set on 0.
    int hash(std::string_view key, std::uint64_t *ret) const;

    // Bytes that are hashed as they are: then hash_plain() is hash() of each key that is not too long.
    bool is_plain() const { return !is_u64() && hashing_.normalization == 0; }
    std::uint64_t hash_plain(std::string_view key) const {
        return shmbloom_hash_bytes(key.data(), key.size(), 0, hashing_.seed);
    }

    // The key that is hashed: `key` without outer blanks when the filter trims, else all of it.
    std::string_view trimmed(std::string_view key) const;

    // Carriage returns or outer blanks that a filter without `trim` would take as a part of the key, so that nobody who
    // asks for the key without them would ever find it.
    bool has_stray_blanks(std::string_view key) const;

    // For people: the key after normalisation, C-escaped; a u64 as the number it is.
    std::string as_hashed(std::string_view key) const;

    // Of the answer of hash(): why `key` is not valid in this filter.
    std::string why_invalid(std::string_view key, int r) const;

    bool is_u64() const { return hashing_.key_type == SHMBLOOM_KEY_TYPE_U64; }
    const shmbloom__hashing &hashing() const { return hashing_; }

  private:
    bool trims() const { return (hashing_.normalization & SHMBLOOM_NORMALIZE_TRIM) != 0; }

    shmbloom__hashing hashing_;
};

} // namespace shmbloom::ctl
