// SIGINT, SIGTERM and SIGHUP as something that poll() sees, so that a load can stop its source and say so.
#pragma once

#include "unique_fd.h"

namespace shmbloom::ctl {

// One at a time. The second signal of a kind kills as usual: for whoever does not want to wait.
class Interrupts {
  public:
    Interrupts();
    ~Interrupts();
    Interrupts(const Interrupts &) = delete;
    Interrupts &operator=(const Interrupts &) = delete;

    int fd() const { return read_end_.get(); } // readable once a signal came; -1 if there was no descriptor for it

  private:
    UniqueFd read_end_, write_end_;
};

} // namespace shmbloom::ctl
