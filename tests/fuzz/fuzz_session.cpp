// A session answers every byte sequence with exactly the replies that its requests deserve, in order, however the bytes
// arrive, whenever the replies are read and whenever commands are done.
// Input: a byte that seeds all this, then what the peer sends.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "choices.h"
#include "net/reply.h"
#include "net/session.h"
#include "sys/unique_fd.h"

namespace {

using namespace shmbloom;

// Small, so that a fuzzer reaches them. Requests have at most a quarter.
const net::Limits kLimits{.input_memory_bytes = 256U << 10, .unread_output_bytes = 100, .arguments = 20};

std::string reply_to(const std::vector<std::string_view> &arguments) {
    std::string text = net::reply::array(arguments.size());
    for (const std::string_view argument : arguments)
        text += net::reply::bulk(argument);
    return text;
}

bool ends_session(const std::vector<std::string_view> &arguments) {
    return arguments[0] == "QUIT";
}

class Handler : public net::Handler {
  public:
    explicit Handler(Choices &choices) : choices_{choices} {}

    void execute(net::SessionId, const net::Peer &, const Arguments &arguments,
                 std::function<void(net::Response)> done) override {
        const bool ahead = runs_ahead(arguments);
        require(!releasing_, "none within a late `done`");
        require(late_.empty() || (ahead && are_ahead_), "one command at a time, but for those that run ahead");
        executed++;
        net::Response response{reply_to(arguments), ends_session(arguments)};
        if (!choices_.one_in(2))
            return done(std::move(response));
        are_ahead_ = ahead;
        late_.push_back([arguments, ahead, response = std::move(response), done = std::move(done)] {
            if (!ahead) // its arguments are still there
                require(reply_to(arguments) == response.bytes, "the arguments stay as they are");
            done(response);
        });
    }

    bool runs_ahead(const Arguments &arguments) const override { return arguments[0].size() % 2 == 1; }

    void closed(net::SessionId) override {}

    // Some of the late commands are done now, in any order.
    void release() {
        releasing_ = true;
        while (!late_.empty() && !(are_ahead_ && choices_.one_in(4))) {
            const auto chosen = late_.begin() + static_cast<std::ptrdiff_t>(choices_.up_to(late_.size() - 1));
            const auto late = std::move(*chosen);
            late_.erase(chosen);
            late();
        }
        releasing_ = false;
    }
    void release_all() {
        while (!late_.empty())
            release();
    }

    std::size_t executed = 0;

  private:
    Choices &choices_;
    std::vector<std::function<void()>> late_;
    bool are_ahead_ = false;
    bool releasing_ = false;
};

struct Expected {
    std::string replies;
    std::size_t executed = 0;
};

// What a peer that sends `input` and closes its end deserves. The parser has a fuzz target of its own.
Expected expect(std::string_view input) {
    net::RespParser parser{{.request_bytes = kLimits.input_memory_bytes / 4, .arguments = kLimits.arguments}};
    Expected expected;
    for (;;) {
        const auto outcome = parser.parse(input);
        if (outcome == net::RespParser::Outcome::error)
            expected.replies += net::reply::error("ERR", parser.error_text());
        if (outcome != net::RespParser::Outcome::request)
            return expected;
        if (!parser.arguments().empty()) {
            expected.replies += reply_to(parser.arguments());
            expected.executed++;
            if (ends_session(parser.arguments()))
                return expected;
        }
        input.remove_prefix(parser.request_bytes());
        parser.next();
    }
}

// The peer and the session on the two ends of a socket pair.
class Talk {
  public:
    Talk(net::asio::io_context &io, Choices &choices) : io_{io}, choices_{choices}, handler_{choices} {
        std::array<int, 2> ends{};
        require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0, "socketpair");
        peer_ = UniqueFd{ends[0]};
        net::StreamSocket socket{io};
        net::error_code failed;
        net::adopt(socket, ends[1], failed);
        socket.non_blocking(true, failed);
        require(!failed, "the socket is watched");
        context_ = std::make_shared<net::SessionContext>(io, handler_, kLimits);
        context_->gone = [this](net::SessionId) {
            require(!gone_, "gone once");
            gone_ = true;
        };
        session_ = std::make_shared<net::Session>(context_, std::move(socket), 1, net::Peer{});
        session_->start();
    }

    ~Talk() {
        session_->shut();
        handler_.release_all();
        turn();
        session_.reset();
        require(context_->input_memory.used_bytes() == 0, "input memory is given back");
    }

    void send(std::string_view input) {
        while (!input.empty()) {
            const std::size_t size = std::min(input.size(), 1 + choices_.up_to(choices_.one_in(3) ? 3 : 2000));
            const ssize_t sent = ::send(peer_.get(), input.data(), size, MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN)
                return; // the session ended
            if (sent > 0)
                input.remove_prefix(static_cast<std::size_t>(sent));
            if (choices_.one_in(2))
                turn();
            if (choices_.one_in(3))
                handler_.release();
            if (sent < 0 || choices_.one_in(4))
                read();
        }
    }

    std::string read_to_the_end() {
        ::shutdown(peer_.get(), SHUT_WR);
        for (int idle = 0; !ended_ && idle < 3;) {
            const std::size_t before = replies_.size() + handler_.executed;
            turn();
            handler_.release_all();
            turn();
            read();
            idle = replies_.size() + handler_.executed == before ? idle + 1 : 0;
        }
        require(ended_, "the session comes to its end");
        return replies_;
    }

    std::size_t go_away() {
        peer_ = UniqueFd{};
        for (int idle = 0; !gone_ && idle < 3;) {
            const std::size_t before = handler_.executed;
            turn();
            handler_.release_all();
            turn();
            idle = handler_.executed == before ? idle + 1 : 0;
        }
        require(gone_, "the session goes when its peer is gone");
        return handler_.executed;
    }

  private:
    void turn() {
        io_.restart();
        io_.poll();
    }

    void read() {
        std::array<char, 4096> bytes;
        for (;;) {
            const ssize_t size = ::recv(peer_.get(), bytes.data(), bytes.size(), 0);
            if (size < 0 && errno == EAGAIN)
                return;
            if (size <= 0) {
                ended_ = true;
                return;
            }
            replies_.append(bytes.data(), static_cast<std::size_t>(size));
        }
    }

    net::asio::io_context &io_;
    Choices &choices_;
    Handler handler_;
    std::shared_ptr<net::SessionContext> context_;
    std::shared_ptr<net::Session> session_;
    UniqueFd peer_;
    std::string replies_;
    bool ended_ = false;
    bool gone_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static net::asio::io_context io{1};
    if (size == 0)
        return 0;
    Input bytes{data, size};
    Choices choices{bytes.byte()};
    const std::string_view input = bytes.rest();
    const Expected expected = expect(input);
    Talk talk{io, choices};
    talk.send(input);
    if (choices.one_in(4)) {
        require(talk.go_away() == expected.executed, "every command sent is executed, though nobody reads the replies");
        return 0;
    }
    require(talk.read_to_the_end() == expected.replies, "the replies are those that the requests deserve");
    require(talk.go_away() == expected.executed, "each command is executed once");
    return 0;
}
