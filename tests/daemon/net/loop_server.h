// A Server on a loop in a thread of its own, in a folder of its own, with a handler that tests can steer.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client.h"
#include "net/asio.h"
#include "net/server.h"

namespace shmbloom::net {

// ECHO x: +x. LATER x: +x, once released. AHEAD x: the same, and runs ahead. BIG n: n bytes. QUIT: +OK and close. WHO: +uid gid pid.
class SteeredHandler : public Handler {
  public:
    void execute(SessionId session, const Peer &peer, const std::vector<std::string_view> &arguments,
                 std::function<void(Response)> done) override;
    bool runs_ahead(const Arguments &arguments) const override { return arguments[0] == "AHEAD"; }
    void closed(SessionId session) override;

    // On the loop: replies to the oldest LATER or AHEAD, or the newest; LATER from the arguments as they are now.
    void release_one(bool newest = false);

    // On any thread; false after the deadline.
    bool wait_executed(std::size_t count);
    bool wait_closed(std::size_t count);
    std::size_t executed();
    std::vector<SessionId> order(); // whose commands were executed, one after the other
    std::size_t closed_count();
    bool misused(); // executed after closed, closed twice, executed within a late `done`

  private:
    struct Late {
        std::function<std::string()> text;
        std::function<void(Response)> done;
    };

    std::deque<Late> late_; // of the loop's thread
    bool releasing_ = false;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<SessionId> order_;
    std::set<SessionId> closed_;
    bool misused_ = false;
};

class LoopServer {
  public:
    explicit LoopServer(Limits limits = {});
    ~LoopServer();

    const std::string &path() const { return path_; }
    SteeredHandler &handler() { return handler_; }

    // Runs `what` on the loop's thread and returns what it returns.
    template <typename F>
    auto on_loop(F what) {
        std::packaged_task<decltype(what(*server_))()> task{[&] { return what(*server_); }};
        auto result = task.get_future();
        asio::post(*io_, [&] { task(); });
        return result.get();
    }

    void release(std::size_t count, bool newest_first = false);
    std::future<void> drain();
    void stop(); // destroys the server on the loop, then the loop; release() works all the same

  private:
    std::string folder_;
    std::string path_;
    std::optional<asio::io_context> io_{std::in_place};
    SteeredHandler handler_;
    std::optional<Server> server_;
    std::promise<void> drained_;
    std::thread thread_;
};

} // namespace shmbloom::net
