// An exclusive lock that the kernel gives back when its process ends, however it ends. 0600, so that no reader of the
// folder can hold it against the daemon.
#pragma once

#include <string>

#include "sys/files.h"

namespace shmbloom {

class LockFile {
  public:
    // Takes the lock at once and writes the own pid and `owner` into it. Throws Refusal, saying who holds it, or
    // std::system_error.
    LockFile(const std::string &path, const std::string &owner);

    const std::string &path() const { return path_; }
    FileId id() const { return id_; }
    // The path still leads to the file that is locked.
    bool is_in_place() const;

  private:
    std::string path_;
    UniqueFd fd_;
    FileId id_;
};

} // namespace shmbloom
