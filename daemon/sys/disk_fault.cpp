#include "sys/disk_fault.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <sstream>
#include <string>
#include <unistd.h>

namespace shmbloom {
namespace {

struct Fault {
    std::string operation, part;
    int error = 0;
    long first = 1, count = LONG_MAX;
    std::atomic<long> seen{0};

    Fault() {
        const char *text = ::getenv("SHMBLOOM_FAIL");
        if (text == nullptr)
            return;
        std::istringstream words{text};
        std::string name, number;
        std::getline(words, operation, ':');
        std::getline(words, part, ':');
        std::getline(words, name, ':');
        if (std::getline(words, number, ':'))
            first = std::strtol(number.c_str(), nullptr, 10);
        if (std::getline(words, number, ':'))
            count = std::strtol(number.c_str(), nullptr, 10);
        error = name == "ENOSPC" ? ENOSPC : name == "EROFS" ? EROFS : EIO;
    }
};

std::string path_of(int fd, const char *name) {
    char path[PATH_MAX];
    const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
    return std::string{path, static_cast<std::size_t>(n < 0 ? 0 : n)} + (name == nullptr ? "" : "/") +
           (name == nullptr ? "" : name);
}

} // namespace

bool disk_fault(const char *operation, int fd, const char *name) {
    static Fault fault;
    if (fault.operation.empty() || fault.operation != operation ||
        path_of(fd, name).find(fault.part) == std::string::npos)
        return false;
    const long nth = ++fault.seen;
    if (nth < fault.first || nth - fault.first >= fault.count)
        return false;
    errno = fault.error;
    return true;
}

} // namespace shmbloom
