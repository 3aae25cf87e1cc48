// What all sessions together hold of requests not yet answered, against one limit.
#pragma once

#include <cstddef>

namespace shmbloom::net {

class InputMemory {
  public:
    explicit InputMemory(std::size_t limit_bytes) : limit_bytes_{limit_bytes} {}

    std::size_t used_bytes() const { return used_bytes_; }

    // The last eighth is for small requests: a few peers that send large ones and never finish them must not stop
    // everybody else's.
    bool fits(std::size_t more_bytes, bool small) const {
        const std::size_t limit_bytes = small ? limit_bytes_ : limit_bytes_ - limit_bytes_ / 8;
        return used_bytes_ <= limit_bytes && more_bytes <= limit_bytes - used_bytes_;
    }

  private:
    friend class InputCharge;
    std::size_t limit_bytes_;
    std::size_t used_bytes_ = 0;
};

// One session's part; given back when it dies.
class InputCharge {
  public:
    explicit InputCharge(InputMemory &memory) : memory_{memory} {}
    ~InputCharge() { memory_.used_bytes_ -= bytes_; }
    InputCharge(const InputCharge &) = delete;
    InputCharge &operator=(const InputCharge &) = delete;

    // False: not changed, there is no room. Less than before always works.
    bool set(std::size_t bytes, bool small) {
        if (bytes > bytes_ && !memory_.fits(bytes - bytes_, small))
            return false;
        memory_.used_bytes_ = memory_.used_bytes_ - bytes_ + bytes;
        bytes_ = bytes;
        return true;
    }

  private:
    InputMemory &memory_;
    std::size_t bytes_ = 0;
};

} // namespace shmbloom::net
