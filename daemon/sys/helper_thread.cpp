#include "sys/helper_thread.h"

#include <csignal>

namespace shmbloom {

HelperThread::HelperThread() {
    // Signals belong to the loop: block them while the thread is made, it inherits the mask. posix_fallocate would
    // otherwise end early at each (EINTR).
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread{[this] { work(); }};
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HelperThread::~HelperThread() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void HelperThread::run(Job job) {
    {
        const std::lock_guard lock{mutex_};
        jobs_.push_back(std::move(job));
    }
    wake_.notify_one();
}

void HelperThread::work() {
    std::unique_lock lock{mutex_};
    for (;;) {
        wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
        if (jobs_.empty())
            return;
        const Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

} // namespace shmbloom
