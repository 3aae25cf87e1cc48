// Makes changes of the registry durable, one write at a time, on a helper thread. A write carries all changes that were
// made before it began; those made meanwhile go into the next. After a failure either version may be on the disk, so
// the changes wait until a later write succeeds. Used by the loop's thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "disk/state_folder.h"
#include "sys/helper_thread.h"

namespace shmbloom {

class RegistryWriter {
  public:
    struct Change {
        std::function<void()> durable; // once, when a write that carries the change has succeeded, however late
        std::function<void(const std::string &error)> failed; // at most once, before: the first write failed
    };
    using Post = std::function<void(std::function<void()>)>; // onto the loop, from any thread

    // `snapshot` is called on the loop for each write.
    RegistryWriter(const StateFolder &folder, Post post, std::function<Registry()> snapshot);

    void commit(Change change);
    void retry(); // begins a write when the last one failed; called at each heartbeat
    bool is_failing() const { return !error_.empty(); }
    const std::string &error() const { return error_; }

  private:
    void begin();
    void end(const std::string &error);

    const StateFolder &folder_;
    Post post_;
    std::function<Registry()> snapshot_;
    std::vector<Change> waiting_; // for the next write
    std::vector<Change> carried_; // by the write under way
    bool writing_ = false;
    std::string error_; // of the last write; empty: it succeeded
    HelperThread disk_; // last: its jobs use all of the above
};

} // namespace shmbloom
