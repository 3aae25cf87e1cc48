// A daemon without its process: a real instance and its dispatcher, over folders of this process in /dev/shm. What the
// helper threads hand back is taken up only when the test says so: the input decides in which order things happen.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "service/dispatcher.h"

namespace shmbloom {

class DaemonInHand {
  public:
    DaemonInHand();
    ~DaemonInHand(); // removes the folders; the filters are dropped before
    DaemonInHand(const DaemonInHand &) = delete;
    DaemonInHand &operator=(const DaemonInHand &) = delete;

    Instance &instance();
    Dispatcher &dispatcher();
    Registry read_registry() const; // what a start would find

    // Waits for the next thing that a helper thread hands back, and does it. Something must be under way.
    void take_one();

    // Ends, as by a kill, and starts: adopts what it left. Nothing may be under way.
    void restart();

    // What is larger than a fuzzer should make is refused by the daemon's own look at the memory, in which no room is
    // left for as long as `no` stands.
    void leave_no_room(bool no);

  private:
    struct Running;
    void start();
    void post(std::function<void()> job);

    std::string folder_;
    Options options_;
    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> jobs_;
    std::unique_ptr<Running> running_; // last: its threads use all of the above
};

} // namespace shmbloom
