#include "loop_server.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>

#include "net/reply.h"

namespace shmbloom::net {

void SteeredHandler::execute(SessionId session, const Peer &peer, const std::vector<std::string_view> &arguments,
                             std::function<void(Response)> done) {
    {
        const std::lock_guard lock{mutex_};
        order_.push_back(session);
        misused_ = misused_ || releasing_ || arguments.empty() || closed_.contains(session);
    }
    changed_.notify_all();
    const std::string_view verb = arguments[0];
    if (verb == "LATER")
        late_.push_back({[arguments] { return std::string{arguments[1]}; }, std::move(done)});
    else if (verb == "AHEAD")
        late_.push_back({[text = std::string{arguments[1]}] { return text; }, std::move(done)});
    else if (verb == "ECHO")
        done({reply::simple(arguments[1])});
    else if (verb == "BIG")
        done({std::string(std::stoul(std::string{arguments[1]}), 'x')});
    else if (verb == "WHO")
        done({reply::simple(std::to_string(peer.uid) + " " + std::to_string(peer.gid) + " " +
                            std::to_string(peer.pid))});
    else if (verb == "QUIT")
        done({reply::simple("OK"), true});
    else
        done({reply::error("ERR", "unknown command")});
}

void SteeredHandler::closed(SessionId session) {
    {
        const std::lock_guard lock{mutex_};
        misused_ = misused_ || !closed_.insert(session).second;
    }
    changed_.notify_all();
}

void SteeredHandler::release_one(bool newest) {
    ASSERT_FALSE(late_.empty());
    const auto chosen = newest ? std::prev(late_.end()) : late_.begin();
    const Late late = std::move(*chosen);
    late_.erase(chosen);
    releasing_ = true;
    late.done({reply::simple(late.text())});
    releasing_ = false;
}

bool SteeredHandler::wait_executed(std::size_t count) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, kDeadline, [&] { return order_.size() >= count; });
}

bool SteeredHandler::wait_closed(std::size_t count) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, kDeadline, [&] { return closed_.size() >= count; });
}

std::size_t SteeredHandler::executed() {
    const std::lock_guard lock{mutex_};
    return order_.size();
}

std::vector<SessionId> SteeredHandler::order() {
    const std::lock_guard lock{mutex_};
    return order_;
}

std::size_t SteeredHandler::closed_count() {
    const std::lock_guard lock{mutex_};
    return closed_.size();
}

bool SteeredHandler::misused() {
    const std::lock_guard lock{mutex_};
    return misused_;
}

LoopServer::LoopServer(Limits limits) {
    std::string folder = "/tmp/shmbloom-net-XXXXXX";
    EXPECT_TRUE(::mkdtemp(folder.data()));
    folder_ = folder;
    path_ = folder_ + "/socket";
    server_.emplace(*io_, path_, handler_, limits);
    thread_ = std::thread{[this] {
        const auto work = asio::make_work_guard(*io_);
        io_->run();
    }};
}

LoopServer::~LoopServer() {
    stop();
    EXPECT_FALSE(handler_.misused());
    std::filesystem::remove_all(folder_);
}

void LoopServer::release(std::size_t count, bool newest_first) {
    const auto release_all = [&] {
        for (std::size_t i = 0; i < count; i++)
            handler_.release_one(newest_first);
    };
    if (server_)
        on_loop([&](Server &) { release_all(); });
    else
        release_all();
}

std::future<void> LoopServer::drain() {
    on_loop([&](Server &server) { server.drain([this] { drained_.set_value(); }); });
    return drained_.get_future();
}

void LoopServer::stop() {
    if (!server_)
        return;
    on_loop([&](Server &) { server_.reset(); });
    io_->stop();
    thread_.join();
    io_.reset();
}

} // namespace shmbloom::net
