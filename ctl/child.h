// A command whose output is read.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "result.h"
#include "unique_fd.h"

namespace shmbloom::ctl {

class Child {
  public:
    // Runs `command` (looked up in PATH): stdin from /dev/null, stdout into a pipe, stderr ours. It stays in our
    // process group, so that it may ask the terminal for a password, and Ctrl-C reaches it as it reaches us.
    static Result<Child> spawn(const std::vector<std::string> &command);

    Child(Child &&other) noexcept;
    Child &operator=(Child &&) = delete;
    ~Child(); // ends the command if it still runs

    int output() const { return output_.get(); }

    // Waits for its end. nullopt: it exited with 0; else how it ended, or that interrupt_fd became readable.
    Outcome wait(int interrupt_fd);

    // Closes its output, SIGTERM, after two seconds SIGKILL.
    void stop();

  private:
    Child() = default;
    std::string ending(int status) const;

    std::string name_;
    pid_t pid_ = -1; // -1: reaped
    UniqueFd output_;
    UniqueFd pidfd_; // readable when it ended
};

} // namespace shmbloom::ctl
