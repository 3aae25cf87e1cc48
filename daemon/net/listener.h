// The listening socket: accepts for ever, whatever the system is short of.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/unix_socket.h"
#include "sys/files.h"
#include "sys/unique_fd.h"

namespace shmbloom::net {

class Listener : public std::enable_shared_from_this<Listener> {
  public:
    using Accepted = std::function<void(StreamSocket, Peer)>;

    // Listens at once, accepts from start() on. Throws as listen_at().
    Listener(asio::io_context &io, const std::string &path, Accepted accepted);

    void start() { wait(); }

    // The path still leads to this socket, or cannot be looked at just now.
    bool is_in_place() const;

    // Closes the socket, whose name stays; `accepted` is not called any more.
    void stop();

  private:
    void wait();
    void accept_some();
    bool accept_one();
    bool accepted(int connection);
    bool refused(int error);
    bool turn_newest_away();
    void pause(int error);
    void log(std::string_view line);

    asio::io_context &io_;
    const std::string path_;
    Accepted accepted_;
    Acceptor acceptor_;
    std::optional<FileId> id_; // of the name, as made
    asio::steady_timer pause_timer_;
    UniqueFd spare_; // given up for a moment to tell a peer that there is no descriptor for it
    bool stopped_ = false;
    std::chrono::steady_clock::time_point quiet_until_{};
};

} // namespace shmbloom::net
