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
    std::string bytes;  // RESP
    bool close = false; // after the bytes are sent
};

// What is done with commands. Called on the loop's thread.
class Handler {
  public:
    virtual ~Handler() = default;

    using Arguments = std::vector<std::string_view>;

    // Runs one command of at least one argument. The arguments live until `done` was called, those of one that runs ahead
    // until this returns. `done` must be called exactly once, at once or later, on the loop's thread, and when called
    // later never calls execute() from within. Calling it after the session or the server is gone is fine. Must not
    // throw.
    virtual void execute(SessionId session, const Peer &peer, const Arguments &arguments,
                         std::function<void(Response)> done) = 0;

    // Whether this command may be executed while others of its session for which this is true wait to be replied to, so
    // that they wait together. Any other command waits until all before it are, and those after it wait for it. Replies
    // keep the order of the commands either way.
    virtual bool runs_ahead(const Arguments &arguments) const = 0;

    // The session is gone: closed by either side, or refused. Called once, after which `execute` is not called for it.
    // Not called while a command waits to be replied to (its peer's going is seen when it is), unless by abandon(). A peer that
    // closed its end is first given what it sent before: commands are executed though nobody reads the replies.
    // Sessions that never executed a command are told of, too.
    virtual void closed(SessionId session) = 0;
};

struct Limits {
    // Over all sessions; one request at most a quarter; the last eighth is kept for requests of a few KiB.
    std::size_t input_memory_bytes = std::size_t{256} << 20;
    std::size_t unread_output_bytes = std::size_t{1} << 20; // above this a session is not read until it drained
    std::size_t arguments = std::size_t{1} << 20;           // of one request
    std::size_t connections = SIZE_MAX; // more are refused with BUSY; leave descriptors for files below RLIMIT_NOFILE
};

class Server {
  public:
    // Replaces a socket that stands at socket_path (anything else: EEXIST), listens with mode 0660. Throws
    // std::system_error (path too long: ENAMETOOLONG with a message that names the 107 characters). `io` and `handler`
    // live longer.
    Server(boost::asio::io_context &io, const std::string &socket_path, Handler &handler, Limits limits);
    ~Server(); // closes all sessions, without calling the handler; leaves the socket's name

    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    // Makes the socket anew when its name is gone (a cleaner, a hand); connections that stand go on. True when it did.
    // Throws as the constructor; then the next call tries again.
    bool renew_lost_name();

    // No new connections and no new commands, also of those received already; `done` is called (once, posted) when
    // every command that was executing has been replied to, its reply and those before it are sent or its session
    // closed. A peer that does not read holds this up: end it with abandon() after a time. Called once.
    void drain(std::function<void()> done);

    // Closes everything at once; replies that were not sent are not sent. A drain's `done` is called, posted.
    void abandon();

    std::size_t session_count() const;

  private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

} // namespace shmbloom::net
