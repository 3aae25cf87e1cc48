#include "source.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

namespace shmbloom::ctl {

namespace {

Failure file_failure(const std::string &path, const std::string &what) {
    return {Exit::source_failed, shell_quote(path) + ": " + what};
}

} // namespace

Result<Source> Source::open(const SourceOptions &options) {
    Source source;
    if (!options.command.empty()) {
        source.command_ = &options.command;
        return source;
    }
    source.path_ = options.file;
    struct stat status {};
    if (options.file == "-") {
        source.is_regular_ = ::fstat(STDIN_FILENO, &status) == 0 && S_ISREG(status.st_mode);
        return source;
    }
    source.file_ = UniqueFd{::open(options.file.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!source.file_ || ::fstat(source.file_.get(), &status) < 0)
        return file_failure(options.file, std::strerror(errno));
    if (S_ISDIR(status.st_mode))
        return file_failure(options.file, std::strerror(EISDIR));
    source.is_regular_ = S_ISREG(status.st_mode);
    if (source.is_regular_) {
        source.size_bytes_ = static_cast<std::uint64_t>(status.st_size);
        ::posix_fadvise(source.file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return source;
}

Outcome Source::start() {
    if (command_ == nullptr)
        return {};
    auto spawned = Child::spawn(*command_);
    if (const Failure *failure = failure_of(spawned))
        return *failure;
    child_.emplace(std::get<Child>(std::move(spawned)));
    return {};
}

int Source::fd() const {
    return child_ ? child_->output() : file_ ? file_.get() : STDIN_FILENO;
}

Outcome Source::check_end(std::uint64_t bytes_read, int interrupt_fd) {
    if (child_)
        return child_->wait(interrupt_fd);
    // A file that somebody truncates while it is read ends early without an error.
    if (size_bytes_ && bytes_read < *size_bytes_)
        return file_failure(path_, "became shorter while it was read");
    return {};
}

void Source::stop() {
    if (child_)
        child_->stop();
}

} // namespace shmbloom::ctl
