// The Unix socket: sessions that turn bytes into commands and send replies in order. Knows no command but RESP's shape.
// Everything runs on the one thread that runs the io_context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace shmbloom::net {

// Who is on the other end (SO_PEERCRED at accept). `groups` are the supplementary groups (SO_PEERGROUPS), `gid` beside.
struct Peer {
    uid_t uid;
    gid_t gid;
    pid_t pid;
    std::vector<gid_t> groups;
};

using SessionId = std::uint64_t; // never reused by one server

struct Response {
    std::string bytes; // RESP
    bool close = false; // after the bytes are sent
};

// What is done with commands. Called on the loop's thread.
class Handler {
  public:
    virtual ~Handler() = default;

    // Runs one command of at least one argument. The arguments live until `done` was called. `done` must be called exactly
    // once, at once or later, on the loop's thread; the session's next command waits for it. Calling it after the session
    // closed is fine. Must not throw.
    virtual void execute(SessionId session, const Peer &peer, const std::vector<std::string_view> &arguments,
                         std::function<void(Response)> done) = 0;

    // The session is gone: closed by either side, or refused. Called once, after which `execute` is not called for it.
    virtual void closed(SessionId session) = 0;
};

struct Limits {
    std::size_t input_memory_bytes = std::size_t{256} << 20; // over all sessions; one request at most a quarter
    std::size_t unread_output_bytes = std::size_t{1} << 20;  // above this a session is not read until it drained
    std::size_t arguments = std::size_t{1} << 20;            // of one request
};

class Server {
  public:
    // Replaces whatever stands at socket_path, listens with mode 0660. Throws std::system_error (path too long: ENAMETOOLONG
    // with a message that names the 107 characters).
    Server(boost::asio::io_context &io, const std::string &socket_path, Handler &handler, Limits limits);
    ~Server(); // closes all sessions, without calling the handler; leaves the socket's name

    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    // No new connections and no new commands; `done` is called when every command that was executing has been replied to
    // and its reply sent or its session closed.
    void drain(std::function<void()> done);

    // Closes everything at once; replies that were not sent are not sent.
    void abandon();

    std::size_t session_count() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

} // namespace shmbloom::net
