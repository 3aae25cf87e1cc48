#include "net/unix_socket.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "sys/os_error.h"

namespace shmbloom::net {

namespace {

constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP;
constexpr int kBacklog = 1024; // the kernel takes the lesser of this and net.core.somaxconn
constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

sockaddr_un address_of(const std::string &path) {
    if (path.size() > kMaxPath)
        throw_errno(ENAMETOOLONG,
                    "a Unix socket's path has at most " + std::to_string(kMaxPath) + " characters, not the " +
                        std::to_string(path.size()) + " of",
                    path);
    if (path.empty() || path.find('\0') != std::string::npos)
        throw_errno(EINVAL, "no path for a socket:", path);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

// Whoever calls holds the lock beside the socket, so nobody listens on what is found here.
void remove_stale(const std::string &path) {
    struct stat found = {};
    if (::lstat(path.c_str(), &found) < 0) {
        if (errno == ENOENT)
            return;
        throw_errno("look at", path);
    }
    if (!S_ISSOCK(found.st_mode))
        throw_errno(EEXIST, "something that is not a socket stands in the socket's place; move it away:", path);
    if (::unlink(path.c_str()) < 0)
        throw_errno("remove the old socket", path);
}

std::optional<std::vector<gid_t>> groups_of(int connection) {
    std::vector<gid_t> groups(32);
    for (;;) {
        socklen_t size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
        const int r = ::getsockopt(connection, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size);
        if (r < 0 && errno != ERANGE)
            return std::nullopt;
        groups.resize(size / sizeof(gid_t)); // too few: this is how many there are
        if (r == 0)
            return groups;
    }
}

} // namespace

void listen_at(Acceptor &acceptor, const std::string &path) {
    const sockaddr_un address = address_of(path);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        throw_errno("make a socket for", path);
    error_code failed;
    adopt(acceptor, fd, failed);
    if (failed)
        throw_errno(failed.value(), "watch the socket", path);
    remove_stale(path);
    // bind() gives the name the socket's own mode less the umask: never wider than kMode, and chmod() widens it to that
    // where the umask is narrow. Nobody can connect before listen().
    if (::fchmod(fd, kMode) < 0)
        throw_errno("set the mode of the socket", path);
    if (::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address) < 0)
        throw_errno("bind a socket to", path);
    if (::chmod(path.c_str(), kMode) < 0)
        throw_errno("set the mode of", path);
    if (::listen(fd, kBacklog) < 0)
        throw_errno("listen on", path);
}

int accept_from(Acceptor &acceptor) {
    return ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

std::optional<Peer> peer_of(int connection) {
    ucred credentials = {};
    socklen_t size = sizeof credentials;
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
        return std::nullopt;
    auto groups = groups_of(connection);
    if (!groups)
        return std::nullopt;
    return Peer{credentials.uid, credentials.gid, credentials.pid, std::move(*groups)};
}

void send_last_line(int connection, const std::string &line) {
    static_cast<void>(::send(connection, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

} // namespace shmbloom::net
