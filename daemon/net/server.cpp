#include "net/server.h"

#include <cassert>
#include <unordered_map>
#include <utility>

#include "net/listener.h"
#include "net/reply.h"
#include "net/session.h"

namespace shmbloom::net {

struct Server::Impl {
    Impl(asio::io_context &io, const std::string &socket_path, Handler &handler, Limits limits)
        : context{std::make_shared<SessionContext>(io, handler, limits)}, path{socket_path}, listener{listen()} {
        context->gone = [this](SessionId id) { gone(id); };
    }

    ~Impl() {
        listener->stop();
        for (const auto &[id, session] : sessions)
            session->shut();
    }

    std::shared_ptr<Listener> listen() {
        return std::make_shared<Listener>(context->io, path, [this](StreamSocket socket, Peer peer) {
            connected(std::move(socket), std::move(peer));
        });
    }

    bool renew_lost_name() {
        if (drained || listener->is_in_place())
            return false;
        const auto fresh = listen();
        listener->stop();
        listener = fresh;
        listener->start();
        return true;
    }

    void connected(StreamSocket socket, Peer peer) {
        if (sessions.size() >= context->limits.connections) {
            send_last_line(socket.native_handle(),
                           reply::error("BUSY", "too many connections (limit " +
                                                    std::to_string(context->limits.connections) + "); try again"));
            return;
        }
        const SessionId id = next_id++;
        auto session = std::make_shared<Session>(context, std::move(socket), id, std::move(peer));
        sessions.emplace(id, session);
        session->start();
    }

    void gone(SessionId id) {
        sessions.erase(id);
        context->handler.closed(id);
        finish_drain();
    }

    void drain(std::function<void()> done) {
        assert(!drained && done);
        drained = std::move(done);
        listener->stop();
        const Sessions open = sessions; // those with nothing to send leave `sessions` at once
        for (const auto &[id, session] : open)
            session->drain();
        finish_drain();
    }

    void finish_drain() {
        if (drained && sessions.empty())
            asio::post(context->io, std::exchange(drained, nullptr));
    }

    void abandon() {
        listener->stop();
        for (const auto &[id, session] : std::exchange(sessions, {})) {
            session->shut();
            context->handler.closed(id);
        }
        finish_drain();
    }

    using Sessions = std::unordered_map<SessionId, std::shared_ptr<Session>>;

    std::shared_ptr<SessionContext> context; // also held by sessions whose command is done after the server is gone
    const std::string path;
    std::shared_ptr<Listener> listener;
    Sessions sessions;
    SessionId next_id = 1;
    std::function<void()> drained;
};

Server::Server(asio::io_context &io, const std::string &socket_path, Handler &handler, Limits limits)
    : impl_{std::make_shared<Impl>(io, socket_path, handler, limits)} {
    impl_->listener->start();
}

Server::~Server() = default;

bool Server::renew_lost_name() {
    return impl_->renew_lost_name();
}

void Server::drain(std::function<void()> done) {
    impl_->drain(std::move(done));
}

void Server::abandon() {
    impl_->abandon();
}

std::size_t Server::session_count() const {
    return impl_->sessions.size();
}

} // namespace shmbloom::net
