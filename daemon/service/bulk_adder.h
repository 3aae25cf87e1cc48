// Sets the bits of many hashes on as many threads as the machine has cores. Used by the loop's thread only.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "store/segment.h"
#include "sys/helper_thread.h"

namespace shmbloom {

class BulkAdder {
  public:
    using Post = std::function<void(std::function<void()>)>; // onto the loop, from any thread

    explicit BulkAdder(Post post);

    // `set`, on the loop, when the bits are set: how many were missing.
    using Set = std::function<void(std::uint64_t fresh)>;
    void add(const std::shared_ptr<Segment> &segment, std::vector<std::uint64_t> hashes, Set set);
    // At once, or when fewer jobs wait: who brings more than the threads set must not fill the memory.
    void when_room(std::function<void()> go_on);

  private:
    void ended();

    static constexpr std::size_t kJobsMax = 8;

    Post post_;
    std::size_t jobs_ = 0; // not ended
    std::vector<std::function<void()>> waiting_;
    std::size_t next_thread_ = 0;
    std::vector<std::unique_ptr<HelperThread>> threads_; // last: their jobs use all of the above
};

} // namespace shmbloom
