// A daemon without its process and threads: a real instance and its dispatcher, over folders of this process in /dev/shm.
// What its helpers do, and what they hand back, happens only when the test says so: the input decides in which order.
#pragma once

#include <deque>
#include <functional>
#include <memory>
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

    // One thing that is under way goes on: what a helper has handed back is taken up, or a helper does the next thing it
    // was given. There are that many to choose from; `which` counts them.
    std::size_t under_way() const;
    void take_one(std::size_t which = 0);
    void settle(); // until nothing is under way

    void let_pass(long seconds); // and then one of its heartbeats

    // Ends when nothing is under way, as by a kill, and starts: adopts what it left.
    void restart();

    // What is larger than a fuzzer should make is refused by the daemon's look at the memory, in which no room is left
    // for as long as `no` stands.
    void leave_no_room(bool no);

  private:
    struct Running;
    void start();

    std::string folder_;
    Options options_;
    std::deque<std::function<void()>> posted_;
    std::unique_ptr<Running> running_; // last: its helpers use all of the above
};

} // namespace shmbloom
