// A file that the daemon is to read: copied to where it may, into the state folder's import/, for as long as this
// lives.
#pragma once

#include <string>

#include "options.h"
#include "result.h"

namespace shmbloom::ctl {

class BroughtFile {
  public:
    // As root or the daemon's user, who alone may write there. `verb`: what is being done, for the refusal.
    static Result<BroughtFile> bring(const Where &where, const std::string &verb, const std::string &file);

    BroughtFile(BroughtFile &&other) noexcept;
    BroughtFile &operator=(BroughtFile &&) = delete;
    ~BroughtFile(); // removes it: the daemon did, unless it never saw it

    const std::string &name() const { return name_; } // as the wire has it

  private:
    BroughtFile(std::string path, std::string name) : path_{std::move(path)}, name_{std::move(name)} {}

    std::string path_, name_; // "": moved from
};

} // namespace shmbloom::ctl
