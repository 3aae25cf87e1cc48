// One thread for what may wait: syncs, allocation, huge pages. Jobs run in order.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace shmbloom {

class HelperThread {
  public:
    using Job = std::function<void()>;

    HelperThread();
    ~HelperThread(); // finishes every job first

    HelperThread(const HelperThread &) = delete;
    HelperThread &operator=(const HelperThread &) = delete;

    void run(Job job); // thread-safe; the job must not throw

  private:
    void work();

    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Job> jobs_;
    bool stopping_ = false;
    std::thread thread_; // last: it uses all of the above
};

} // namespace shmbloom
