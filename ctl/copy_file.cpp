#include "copy_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "unique_fd.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

std::string folder_of(const std::string &path) {
    const std::size_t slash = path.find_last_of('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// 0 or errno.
int write_all(int fd, const char *bytes, std::size_t size) {
    while (size > 0) {
        const ssize_t n = ::write(fd, bytes, size);
        if (n < 0 && errno != EINTR)
            return errno;
        bytes += n < 0 ? 0 : n;
        size -= n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    return 0;
}

Outcome copy_content(const UniqueFd &from, const std::string &from_path, const UniqueFd &to,
                     const std::string &to_path) {
    std::vector<char> buffer(kBufferBytes);
    for (;;) {
        const ssize_t n = ::read(from.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return failure_of_errno(errno, "cannot read", from_path);
        if (n == 0)
            return {};
        if (const int error = write_all(to.get(), buffer.data(), static_cast<std::size_t>(n)); error != 0)
            return failure_of_errno(error, "cannot write", to_path);
    }
}

Outcome make_durable(const UniqueFd &file, const std::string &path) {
    const UniqueFd folder{::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (::fsync(file.get()) != 0 || folder.get() < 0 || ::fsync(folder.get()) != 0)
        return failure_of_errno(errno, "cannot sync", path);
    return {};
}

} // namespace

Failure failure_of_errno(int error, const std::string &what, const std::string &path) {
    const bool denied = error == EACCES || error == EPERM;
    const bool missing = error == ENOENT || error == ENOTDIR;
    return {denied    ? Exit::no_permission
            : missing ? Exit::source_failed
                      : Exit::no_space,
            what + " '" + path + "': " + std::strerror(error)};
}

Outcome copy_file(const std::string &from, const std::string &to, std::optional<FileOwner> owner) {
    const UniqueFd source{::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat status {};
    if (source.get() < 0 || ::fstat(source.get(), &status) != 0)
        return failure_of_errno(errno, "cannot open", from);
    if (!S_ISREG(status.st_mode))
        return Failure{Exit::source_failed, "'" + from + "' is not a regular file"};
    const UniqueFd target{::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (target.get() < 0 && errno == EEXIST)
        return Failure{Exit::refused, "'" + to + "' exists, and nothing is overwritten", "EXISTS"};
    if (target.get() < 0)
        return failure_of_errno(errno, "cannot make", to);
    auto failure = copy_content(source, from, target, to);
    if (!failure && owner && ::fchown(target.get(), owner->user, owner->group) != 0)
        failure = failure_of_errno(errno, "cannot give away", to);
    if (!failure)
        failure = make_durable(target, to);
    if (failure)
        ::unlink(to.c_str());
    return failure;
}

} // namespace shmbloom::ctl
