#include "net/session.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <span>
#include <utility>

#include "net/reply.h"

namespace shmbloom::net {

namespace {

// A session's share of the loop before the others get theirs.
constexpr std::size_t kTurnCommands = 64;
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;

// Commands of one session that wait together; what each of them holds besides its request's bytes, about.
constexpr std::size_t kAheadBytes = std::size_t{128} << 10;
constexpr std::size_t kWaitingBytes = 512;

// The first buffer; larger requests grow it as their bytes arrive.
constexpr std::size_t kFirstBytes = std::size_t{16} << 10;

// A refused peer may be in the middle of sending megabytes. Closed at once, it would see EPIPE before the reason.
constexpr auto kLingerTime = std::chrono::seconds{2};

std::size_t greatest_request_bytes(const Limits &limits) {
    return limits.input_memory_bytes / 4;
}

} // namespace

Session::Session(std::shared_ptr<SessionContext> context, StreamSocket socket, SessionId id, Peer peer)
    : context_{std::move(context)}, id_{id}, peer_{std::move(peer)}, socket_{std::move(socket)},
      parser_{{greatest_request_bytes(context_->limits), context_->limits.arguments}}, charge_{context_->input_memory} {
}

// --- commands

void Session::turn() {
    std::size_t commands = kTurnCommands;
    std::size_t bytes = kTurnBytes;
    in_turn_ = true;
    while (may_execute()) {
        if (commands == 0 || bytes == 0) {
            turn_later();
            break;
        }
        const auto outcome = held_ ? RespParser::Outcome::request : parser_.parse(input_.bytes());
        if (outcome == RespParser::Outcome::error) {
            refuse(reply::error("ERR", parser_.error_text()));
        } else if (outcome == RespParser::Outcome::request) {
            held_ = !may_start();
            if (held_)
                break; // until one of those before it is done
            commands--;
            bytes -= std::min(bytes, parser_.request_bytes());
            execute();
        } else if (peer_done_) {
            closing_ = true; // what is left is no whole request
        } else {
            std::size_t count = 0;
            if (!read(&count))
                break;
            bytes -= std::min(bytes, count);
        }
    }
    in_turn_ = false;
    const bool held_up = output_.unread_bytes() > context_->limits.unread_output_bytes;
    flush();
    if (held_up && may_execute()) // the kernel took it all, so nobody else will call
        turn_later();
}

void Session::turn_later() {
    if (std::exchange(turn_posted_, true))
        return;
    asio::post(context_->io, [self = shared_from_this()] {
        self->turn_posted_ = false;
        self->turn();
    });
}

bool Session::may_execute() const {
    return !closed_ && !closing_ && !executing_ && output_.unread_bytes() <= context_->limits.unread_output_bytes;
}

// Of the request just parsed while it waits to be replied to, if it runs ahead.
std::size_t Session::ahead_bytes() const {
    return std::min(parser_.request_bytes(), kAheadBytes) + kWaitingBytes;
}

// Whether the request just parsed need not wait for those before it.
bool Session::may_start() {
    if (waiting_.empty() || parser_.arguments().empty())
        return true;
    return context_->handler.runs_ahead(parser_.arguments()) && ahead_bytes_ + ahead_bytes() <= kAheadBytes &&
           charge(input_.capacity() + ahead_bytes());
}

void Session::execute() {
    const auto &arguments = parser_.arguments();
    if (arguments.empty()) {
        retire_request();
        return;
    }
    const bool runs_ahead = context_->handler.runs_ahead(arguments);
    const std::size_t bytes = runs_ahead ? ahead_bytes() : 0;
    if (!charge(input_.capacity() + bytes)) { // for a great many arguments
        refuse_for_memory();
        return;
    }
    executing_ = !runs_ahead;
    ahead_bytes_ += bytes;
    waiting_.push_back({bytes});
    context_->handler.execute(id_, peer_, arguments,
                              [self = shared_from_this(), number = first_waiting_ + waiting_.size() - 1](
                                  Response response) { self->finish(number, std::move(response)); });
    if (!executing_ && !closed_)
        retire_request();
}

// Within execute(), or later; then the next command has to wait for its own turn: the caller may be in the middle of
// calling others' `done`, and does not expect execute() in there.
void Session::finish(std::uint64_t number, Response response) {
    assert(number >= first_waiting_ && number - first_waiting_ < waiting_.size());
    Waiting &waiting = waiting_[number - first_waiting_];
    assert(!waiting.response); // `done` is called once
    waiting.response = std::move(response);
    const bool had_arguments = waiting.bytes == 0;
    if (had_arguments)
        executing_ = false;
    send_in_order();
    if (closed_) {
        if (!executing_)
            drop_input();
        return;
    }
    charge(input_.capacity()); // less than before
    if (in_turn_)
        return;
    if (had_arguments)
        retire_request();
    turn_later();
}

// Replies to the first commands that wait, as far as they are done.
void Session::send_in_order() {
    for (; !waiting_.empty() && waiting_.front().response; waiting_.pop_front(), first_waiting_++) {
        Waiting &first = waiting_.front();
        if (!output_lost_ && !closed_)
            output_.append(std::move(first.response->bytes));
        if (first.response->close)
            closing_ = true;
        ahead_bytes_ -= first.bytes;
    }
}

void Session::retire_request() {
    input_.consume(parser_.request_bytes());
    parser_.next();
}

// --- input

// Receives once. False: there is nothing now, or the session was refused.
bool Session::read(std::size_t *ret_count) {
    if (drained_) {
        wait_readable();
        return false;
    }
    if (!make_room())
        return false;
    const std::span<char> room = input_.room().first(std::min(input_.room().size(), kTurnBytes));
    error_code failed;
    const std::size_t count = socket_->read_some(asio::buffer(room.data(), room.size()), failed);
    if (failed == asio::error::would_block) {
        wait_readable();
        return false;
    }
    if (failed) {
        peer_done_ = true; // end of file or reset; what came before it is executed
        return true;
    }
    input_.filled(count);
    drained_ = count < room.size();
    *ret_count = count;
    return true;
}

// Room for at least one byte, or refuses. The request is incomplete, so it is below the greatest size.
bool Session::make_room() {
    if (input_.room().empty())
        input_.reuse_front();
    if (input_.room().empty() && !grow()) {
        refuse_for_memory();
        return false;
    }
    assert(!input_.room().empty());
    return true;
}

// Towards what the request is known to need, but at most to twice what has arrived, whatever it claims, and by at least
// an eighth, so that copying stays linear.
bool Session::grow() {
    const std::size_t now = input_.capacity();
    const std::size_t wanted = now == 0 ? kFirstBytes : std::clamp(parser_.wanted_bytes(), now + now / 8 + 1, 2 * now);
    const std::size_t capacity = std::min(wanted, greatest_request_bytes(context_->limits));
    return charge(capacity) && input_.grow(capacity);
}

bool Session::charge(std::size_t capacity) {
    const std::size_t bytes = capacity + parser_.memory_bytes() + ahead_bytes_;
    return charge_.set(bytes, bytes <= 2 * kFirstBytes);
}

void Session::refuse_for_memory() {
    refuse(reply::error("NOMEM", "input memory of all connections is used up (limit " +
                                     std::to_string(context_->limits.input_memory_bytes) + " bytes); try again"));
}

void Session::wait_readable() {
    if (input_.bytes().empty())
        drop_input();
    if (std::exchange(read_waiting_, true))
        return;
    socket_->async_wait(StreamSocket::wait_read, [self = shared_from_this()](error_code failed) {
        self->read_waiting_ = false;
        self->drained_ = false;
        if (self->closed_)
            return;
        if (self->linger_timer_)
            return failed ? self->close() : self->discard();
        if (failed)
            self->peer_done_ = true;
        self->turn();
    });
}

void Session::refuse(std::string error) {
    waiting_.push_back({0, Response{std::move(error)}});
    send_in_order();
    closing_ = linger_ = true;
    drop_input();
}

// --- output

void Session::flush() {
    if (closed_ || write_waiting_)
        return;
    while (output_.unread_bytes() > 0) {
        const std::string_view bytes = output_.bytes();
        error_code failed;
        const std::size_t count = socket_->write_some(asio::buffer(bytes.data(), bytes.size()), failed);
        if (failed == asio::error::would_block) {
            wait_writable();
            return;
        }
        if (failed) {
            lose_output();
            break;
        }
        output_.sent(count);
    }
    if (closing_ && waiting_.empty())
        finish_closing();
}

void Session::lose_output() {
    output_lost_ = true;
    output_.clear();
    turn_later(); // it may have been this output that held up the commands
}

void Session::wait_writable() {
    write_waiting_ = true;
    socket_->async_wait(StreamSocket::wait_write, [self = shared_from_this()](error_code failed) {
        self->write_waiting_ = false;
        if (self->closed_)
            return;
        if (failed)
            self->lose_output();
        self->flush();
        self->turn();
    });
}

// --- the end

void Session::drain() {
    linger_ = false;
    closing_ = true;
    if (linger_timer_)
        close();
    else
        flush();
}

void Session::finish_closing() {
    if (linger_ && !peer_done_ && !output_lost_)
        linger();
    else
        close();
}

void Session::linger() {
    if (linger_timer_)
        return;
    error_code failed;
    socket_->shutdown(StreamSocket::shutdown_send, failed); // the peer reads the reason, then the end
    linger_timer_.emplace(context_->io, kLingerTime);
    linger_timer_->async_wait([self = shared_from_this()](error_code) {
        if (!self->closed_)
            self->close();
    });
    wait_readable();
}

void Session::discard() {
    std::array<char, kFirstBytes> bytes;
    for (std::size_t left = kTurnBytes; left > 0; left -= std::min(left, bytes.size())) {
        error_code failed;
        discarded_bytes_ += socket_->read_some(asio::buffer(bytes), failed);
        if (failed == asio::error::would_block)
            break;
        if (failed || discarded_bytes_ > context_->limits.input_memory_bytes) {
            close();
            return;
        }
    }
    wait_readable();
}

void Session::close() {
    shut();
    context_->gone(id_);
}

void Session::shut() {
    closed_ = true;
    linger_timer_.reset();
    socket_.reset();
    output_.clear();
    if (!executing_)
        drop_input();
}

void Session::drop_input() {
    input_.release();
    charge_.set(ahead_bytes_, true);
}

} // namespace shmbloom::net
