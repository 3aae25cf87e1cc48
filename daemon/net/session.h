// One connection: bytes in, commands executed in order, replies in order.
//
// Everything happens in turns on the loop's thread. A turn takes what was received, executes commands until one has to
// wait, nothing is left, too much output is unread or its share is used up (then the next turn is posted behind the other
// sessions' ones), and sends the replies together. Nothing is read while a command executes that needs its arguments:
// they point into the input buffer. Those that run ahead (Handler::runs_ahead) need them no more.
//
//     reading -> executing -> reading ...        peer closed, or Response::close:  closing -> closed
//                                                refused:             closing -> lingering -> closed
//
// The socket is waited for, not read into a buffer that waits: idle sessions hold no buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "net/asio.h"
#include "net/buffers.h"
#include "net/input_memory.h"
#include "net/resp_parser.h"
#include "net/server.h"

namespace shmbloom::net {

// What the sessions of one server share. Outlives each of them.
struct SessionContext {
    SessionContext(asio::io_context &io_, Handler &handler_, Limits limits_)
        : io{io_}, handler{handler_}, limits{limits_}, input_memory{limits_.input_memory_bytes} {}

    asio::io_context &io;
    Handler &handler;
    const Limits limits;
    InputMemory input_memory;
    std::function<void(SessionId)> gone; // the session closed by itself; called once
};

class Session : public std::enable_shared_from_this<Session> {
  public:
    // `socket` is non-blocking.
    Session(std::shared_ptr<SessionContext> context, StreamSocket socket, SessionId id, Peer peer);

    void start() { wait_readable(); }

    // No further command; closes when the one executing is replied to and everything is sent.
    void drain();

    // Closes at once, without calling `gone`. The arguments of a command still executing stay until it is done.
    void shut();

  private:
    void turn();
    void turn_later();
    bool may_execute() const;
    std::size_t ahead_bytes() const;
    bool may_start();
    void execute();
    void finish(std::uint64_t number, Response response);
    void retire_request();
    void send_in_order();

    bool read(std::size_t *ret_count);
    bool make_room();
    bool grow();
    bool charge(std::size_t capacity);
    void refuse_for_memory();
    void wait_readable();
    void refuse(std::string error);

    void flush();
    void lose_output();
    void wait_writable();

    void finish_closing();
    void linger();
    void discard();
    void close();
    void drop_input();

    const std::shared_ptr<SessionContext> context_;
    const SessionId id_;
    const Peer peer_;
    std::optional<StreamSocket> socket_; // none once closed: a late `done` may outlive the io_context
    std::optional<asio::steady_timer> linger_timer_;

    InputBuffer input_;
    RespParser parser_;
    InputCharge charge_;
    OutputBuffer output_;

    // A command that was executed, until it and those before it are replied to.
    struct Waiting {
        std::size_t bytes; // charged for it; 0: it does not run ahead
        std::optional<Response> response{};
    };
    std::deque<Waiting> waiting_;
    std::uint64_t first_waiting_ = 0; // counted from the session's first command
    std::size_t ahead_bytes_ = 0;     // of all that wait

    bool executing_ = false; // one that needs its arguments
    bool held_ = false;      // the parser's request is whole, and waits for those before it
    bool in_turn_ = false;
    bool turn_posted_ = false;
    bool read_waiting_ = false;
    bool write_waiting_ = false;
    bool drained_ = false;     // the last read took all there was
    bool peer_done_ = false;   // nothing more will come
    bool output_lost_ = false; // the peer takes no more replies; what it sent is executed all the same
    bool closing_ = false;     // no further command; closes when everything is sent
    bool linger_ = false;      // and after that discards for a while what the peer is still sending
    bool closed_ = false;
    std::size_t discarded_bytes_ = 0;
};

} // namespace shmbloom::net
