// A file or shared memory object mapped for a look or for setting a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "result.h"

namespace shmbloom::ctl {

class Mapped {
  public:
    enum class Access { read, write };
    // The first `bytes` of what stands at `path`, which must be a regular file that has so many.
    static Result<Mapped> open(const std::string &path, std::size_t bytes, Access access);

    Mapped(Mapped &&other) noexcept;
    Mapped &operator=(Mapped &&) = delete;
    ~Mapped();

    void *data() const { return data_; }
    std::uint64_t dev() const { return dev_; }
    std::uint64_t inode() const { return inode_; }

  private:
    Mapped() = default;
    void *data_ = nullptr;
    std::size_t size_ = 0;
    std::uint64_t dev_ = 0, inode_ = 0;
};

} // namespace shmbloom::ctl
