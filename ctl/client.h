// A connection to the daemon, on top of the library's: commands out, replies in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "filter.h"
#include "options.h"
#include "result.h"

namespace shmbloom::ctl {

struct Reply {
    shmbloom__reply_type type = SHMBLOOM__NIL;
    std::int64_t integer = 0;
    std::string text;
    std::vector<Reply> elements;

    // The value behind `name` in a flat array of name, value; "" when it is not there or unknown.
    std::string field(std::string_view name) const;
};

// Exit code for an error's first word. RANGE is a mistake of typing for some verbs, a guard's refusal for others.
Exit exit_of_error(std::string_view text, Exit range_means);

// An error reply as a failure: its word, and the text behind it.
Failure failure_of_error(std::string_view text, Exit range_means);

class Client {
  public:
    // Finds the daemon's folder as the library does, connects, says HELLO.
    static Result<Client> connect(const Where &where);
    // To the socket in this folder, whether there is a control or not. Fails with Exit::timeout when the daemon is
    // there and does not answer, Exit::no_permission, or Exit::unreachable when nobody listens.
    static Result<Client> connect_to(const std::string &runtime_dir, std::chrono::milliseconds timeout);

    Client(Client &&other) noexcept;
    Client &operator=(Client &&) = delete;
    ~Client();

    // One command, one reply. An error reply is a Failure. After any other failure the connection is closed: the daemon
    // then aborts the load that this connection had begun.
    Result<Reply> call(const std::vector<std::string_view> &arguments, std::chrono::milliseconds timeout,
                       Exit range_means = Exit::refused);

    // The halves of call(), for commands in flight.
    Outcome send(const std::vector<std::string_view> &arguments, std::chrono::milliseconds timeout);
    Result<Reply> receive(std::chrono::milliseconds timeout, Exit range_means = Exit::refused);

    bool is_open() const { return connection_.fd >= 0; }

  private:
    Client() { connection_.fd = -1; }
    int greet(const std::string &runtime_dir, std::chrono::milliseconds timeout); // 0 or -errno
    Result<Reply> receive_one(std::int64_t deadline_ns, int depth);

    shmbloom__connection connection_{};
};

} // namespace shmbloom::ctl
