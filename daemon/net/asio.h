// The one place that includes Boost.Asio.
#pragma once

// Boost 1.74 uses std::exchange without including it; g++ 12 in C++20 then stops inside Boost.
#include <utility>

#include <unistd.h>

// Handlers only. clang 14 and Boost 1.74 disagree about where coroutines live.
#define BOOST_ASIO_DISABLE_CO_AWAIT
#define BOOST_ASIO_DISABLE_STD_COROUTINE
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace shmbloom::net {

namespace asio = boost::asio;
using boost::system::error_code;
using StreamSocket = asio::local::stream_protocol::socket;

// The socket owns `fd` from here on, or `fd` is closed and `failed` set. (Asio leaves it to the caller on failure.)
template <typename Socket>
void adopt(Socket &socket, int fd, error_code &failed) {
    socket.assign(asio::local::stream_protocol{}, fd, failed);
    if (failed)
        ::close(fd);
}

} // namespace shmbloom::net
