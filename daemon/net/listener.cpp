#include "net/listener.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <utility>

#include "net/reply.h"
#include "sys/log.h"

namespace shmbloom::net {

namespace {

constexpr int kTurnAccepts = 64; // before the sessions get their turn
constexpr auto kPause = std::chrono::milliseconds{100};
constexpr auto kQuiet = std::chrono::seconds{10}; // between two lines about the same flood

UniqueFd open_spare() {
    return UniqueFd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}

} // namespace

Listener::Listener(asio::io_context &io, const std::string &path, Accepted accepted)
    : io_{io}, path_{path}, accepted_{std::move(accepted)}, acceptor_{io}, pause_timer_{io}, spare_{open_spare()} {
    listen_at(acceptor_, path);
    id_ = file_id_at(path);
}

bool Listener::is_in_place() const {
    try {
        return file_id_at(path_) == id_;
    } catch (const std::system_error &) {
        return true;
    }
}

void Listener::stop() {
    stopped_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_timer_.cancel(ignored);
    accepted_ = nullptr; // it may hold who owns this
}

void Listener::wait() {
    acceptor_.async_wait(Acceptor::wait_read, [self = shared_from_this()](error_code) {
        if (!self->stopped_)
            self->accept_some();
    });
}

void Listener::accept_some() {
    for (int i = 0; i < kTurnAccepts; i++)
        if (!accept_one())
            return;
    wait();
}

// False: what comes next is arranged for.
bool Listener::accept_one() {
    const int fd = accept_from(acceptor_);
    return fd >= 0 ? accepted(fd) : refused(errno);
}

bool Listener::accepted(int connection) {
    StreamSocket socket{io_};
    error_code failed;
    adopt(socket, connection, failed);
    if (failed) {
        log("a connection cannot be watched and is closed: " + failed.message());
        return true;
    }
    socket.non_blocking(true, failed); // it is; this tells Asio
    auto peer = peer_of(connection);
    if (peer && !failed)
        accepted_(std::move(socket), std::move(*peer));
    return !stopped_;
}

bool Listener::refused(int error) {
    switch (error) {
    case EAGAIN:
        wait();
        return false;
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
        return true;
    case EMFILE:
    case ENFILE:
        if (turn_newest_away())
            return true;
        break;
    default:
        break;
    }
    pause(error);
    return false;
}

// Left in the backlog it would wait for its timeout without knowing why.
bool Listener::turn_newest_away() {
    if (!spare_)
        spare_ = open_spare();
    if (!spare_)
        return false;
    spare_ = UniqueFd{};
    {
        UniqueFd newest{accept_from(acceptor_)};
        if (newest)
            send_last_line(newest.get(), reply::error("BUSY", "no file descriptor is left for this connection; try "
                                                              "again, or raise the daemon's limit of open files"));
    }
    spare_ = open_spare();
    log("no file descriptors left: new connections are closed with BUSY; raise the limit of open files");
    return static_cast<bool>(spare_);
}

void Listener::pause(int error) {
    log("cannot accept connections now, trying again every 100 ms: " + std::generic_category().message(error));
    pause_timer_.expires_after(kPause);
    pause_timer_.async_wait([self = shared_from_this()](error_code) {
        if (!self->stopped_)
            self->accept_some();
    });
}

void Listener::log(std::string_view line) {
    const auto now = std::chrono::steady_clock::now();
    if (now < quiet_until_)
        return;
    quiet_until_ = now + kQuiet;
    log::warning(line);
}

} // namespace shmbloom::net
