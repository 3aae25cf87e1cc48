// Where the lines of load, rebuild and verify come from, and whether their end can be believed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "child.h"
#include "options.h"
#include "result.h"
#include "unique_fd.h"

namespace shmbloom::ctl {

class Source {
  public:
    // Opens FILE or stdin; a command is not run yet.
    static Result<Source> open(const SourceOptions &options);

    // Runs the command, if it is one.
    Outcome start();

    int fd() const;

    // False for pipes, also if they are given as FILE (`load links <(psql ...)`): a source that died looks like one
    // that ended. Such a source counts only with a number of lines to expect.
    bool is_end_certain() const { return command_ != nullptr || size_bytes_.has_value(); }

    // A regular file, as FILE or as stdin: whatever wrote it began some time ago.
    bool is_from_before() const { return is_regular_; }

    std::optional<std::uint64_t> size_bytes() const { return size_bytes_; } // of a file

    // After end of file: the command's exit code, or that the file was read whole.
    Outcome check_end(std::uint64_t bytes_read, int interrupt_fd);

    void stop(); // ends the command

  private:
    const std::vector<std::string> *command_ = nullptr; // the options'
    std::optional<Child> child_;
    UniqueFd file_;
    std::string path_;
    bool is_regular_ = false;
    std::optional<std::uint64_t> size_bytes_;
};

} // namespace shmbloom::ctl
