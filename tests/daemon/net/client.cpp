#include "client.h"

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

namespace shmbloom::net {

std::string encode(const std::vector<std::string> &request) {
    std::string text = "*" + std::to_string(request.size()) + "\r\n";
    for (const std::string &argument : request)
        text += "$" + std::to_string(argument.size()) + "\r\n" + argument + "\r\n";
    return text;
}

Client::Client() : fd_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    const timeval deadline = {kDeadline.count(), 0};
    EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline), 0);
    EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline), 0);
}

void Client::connect(const std::string &path) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    ASSERT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr *>(&address), sizeof address), 0)
        << std::strerror(errno);
}

bool Client::send_whole(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t r = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (r < 0) {
            EXPECT_TRUE(errno == EPIPE || errno == ECONNRESET) << std::strerror(errno);
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(r));
    }
    return true;
}

void Client::send(std::string_view bytes) {
    ASSERT_TRUE(send_whole(bytes));
}

std::size_t Client::send_what_fits(std::string_view bytes) {
    const ssize_t r = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return r < 0 ? 0 : static_cast<std::size_t>(r);
}

void Client::close_writing() {
    ASSERT_EQ(::shutdown(fd_.get(), SHUT_WR), 0);
}

void Client::close() {
    fd_ = UniqueFd{};
}

std::string Client::receive(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t r = ::recv(fd_.get(), bytes.data(), size, MSG_WAITALL);
    EXPECT_GE(r, 0) << std::strerror(errno);
    bytes.resize(r < 0 ? 0 : static_cast<std::size_t>(r));
    return bytes;
}

std::string Client::receive_line() {
    std::string line;
    do {
        const std::string byte = receive(1);
        if (byte.empty())
            break;
        line += byte;
    } while (!line.ends_with("\r\n"));
    return line;
}

std::string Client::receive_rest() {
    std::string all;
    std::string bytes(std::size_t{64} << 10, '\0');
    for (;;) {
        const ssize_t r = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
        EXPECT_TRUE(r >= 0 || errno == ECONNRESET) << std::strerror(errno); // reset: closed with something of ours unread
        if (r <= 0)
            return all;
        all.append(bytes, 0, static_cast<std::size_t>(r));
    }
}

std::string Client::ask(const std::vector<std::string> &request) {
    send(encode(request));
    return receive_line();
}

} // namespace shmbloom::net
