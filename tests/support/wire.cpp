#include "wire.h"

#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace shmbloom::test {

Wire::Wire(const std::string &runtime_dir) : fd_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = runtime_dir + "/socket";
    if (path.size() >= sizeof address.sun_path)
        throw std::runtime_error{"the path of the socket is too long: " + path};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    if (::connect(fd_, reinterpret_cast<const sockaddr *>(&address), sizeof address) != 0) {
        ::close(fd_);
        throw std::runtime_error{"nobody listens at " + path};
    }
}

Wire::~Wire() {
    if (fd_ >= 0)
        ::close(fd_);
}

Wire::Wire(Wire &&other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, buffer_{std::move(other.buffer_)}, at_{std::exchange(other.at_, 0)} {}

std::map<std::string, std::string> Wire::Reply::fields() const {
    std::map<std::string, std::string> fields;
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2)
        if (!elements[i + 1].null)
            fields[elements[i].text] = elements[i + 1].text;
    return fields;
}

void Wire::send(const std::vector<std::string_view> &command) {
    std::string text = "*" + std::to_string(command.size()) + "\r\n";
    for (const std::string_view word : command)
        text.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t n = ::send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (n <= 0)
            throw std::runtime_error{"the daemon closed the connection"};
        sent += static_cast<std::size_t>(n);
    }
}

char Wire::read_char() {
    if (at_ == buffer_.size()) {
        pollfd in{fd_, POLLIN, 0};
        char block[65536];
        const ssize_t n = ::poll(&in, 1, 60'000) == 1 ? ::recv(fd_, block, sizeof block, 0) : -1;
        if (n <= 0)
            throw std::runtime_error{n == 0 ? "the daemon closed the connection" : "no reply from the daemon"};
        buffer_.assign(block, static_cast<std::size_t>(n));
        at_ = 0;
    }
    return buffer_[at_++];
}

std::string Wire::read_line() {
    std::string line;
    while (!line.ends_with("\r\n"))
        line.push_back(read_char());
    line.resize(line.size() - 2);
    return line;
}

Wire::Reply Wire::receive() {
    const std::string line = read_line();
    Reply reply{.type = line.at(0), .null = false, .text = line.substr(1), .elements = {}};
    if (reply.type != '$' && reply.type != '*')
        return reply;
    const long length = std::stol(std::exchange(reply.text, ""));
    reply.null = length < 0;
    for (long i = 0; i < length; i++) {
        if (reply.type == '$')
            reply.text.push_back(read_char());
        else
            reply.elements.push_back(receive());
    }
    if (reply.type == '$' && !reply.null)
        (void)read_line();
    return reply;
}

Wire::Reply Wire::call(const std::vector<std::string_view> &command) {
    send(command);
    return receive();
}

Wire::Reply Wire::add(const std::string &name, const std::string &hash_domain, const std::vector<std::uint64_t> &hashes) {
    return call({"SB.ADDH", name, hash_domain,
                 {reinterpret_cast<const char *>(hashes.data()), hashes.size() * sizeof(std::uint64_t)}});
}

} // namespace shmbloom::test
