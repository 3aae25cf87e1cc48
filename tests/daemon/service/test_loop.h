// The loop, as far as what posts onto it can tell: jobs from any thread, run by the test when it wants to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stdexcept>

namespace shmbloom {

class TestLoop {
  public:
    using Job = std::function<void()>;

    std::function<void(Job)> post() {
        return [this](Job job) {
            {
                const std::lock_guard lock{mutex_};
                jobs_.push_back(std::move(job));
            }
            posted_.notify_one();
        };
    }

    // Waits until a job is there; does not run it.
    void wait() {
        std::unique_lock lock{mutex_};
        if (!posted_.wait_for(lock, std::chrono::seconds{60}, [this] { return !jobs_.empty(); }))
            throw std::runtime_error{"nothing was posted to the loop"};
    }

    void run_one() {
        wait();
        Job job;
        {
            const std::lock_guard lock{mutex_};
            job = std::move(jobs_.front());
            jobs_.pop_front();
        }
        job();
    }

    // False: nothing came for so long.
    bool run_one_within(std::chrono::milliseconds patience) {
        {
            std::unique_lock lock{mutex_};
            if (!posted_.wait_for(lock, patience, [this] { return !jobs_.empty(); }))
                return false;
        }
        run_one();
        return true;
    }

    template <typename F>
    void run_until(F is_so) {
        while (!is_so())
            run_one();
    }

    bool is_idle() {
        const std::lock_guard lock{mutex_};
        return jobs_.empty();
    }

  private:
    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<Job> jobs_;
};

} // namespace shmbloom
