// What Asio does not do for Unix sockets: close-on-exec from the first moment, modes, and who is on the other end.
#pragma once

#include <optional>
#include <string>

#include "net/asio.h"
#include "net/server.h"

namespace shmbloom::net {

using Acceptor = asio::local::stream_protocol::acceptor;

// Makes `acceptor` listen at `path` with mode 0660, in place of a socket that stood there. Throws std::system_error:
// path too long (ENAMETOOLONG), something else stands there (EEXIST), or what the system says.
void listen_at(Acceptor &acceptor, const std::string &path);

// A non-blocking connection, which the caller adopts; -1 and errno when there is none.
int accept_from(Acceptor &acceptor);

// nullopt: the system does not say.
std::optional<Peer> peer_of(int connection);

// Sends as much of `line` as fits without waiting, for a connection that is closed at once.
void send_last_line(int connection, const std::string &line);

} // namespace shmbloom::net
