#include "fake_daemon.h"

#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace shmbloom::test {

Session::~Session() {
    ::close(fd_);
}

bool Session::fill() {
    char piece[4096];
    const ssize_t n = ::recv(fd_, piece, sizeof piece, 0);
    if (n <= 0)
        return false;
    input_.append(piece, static_cast<std::size_t>(n));
    return true;
}

std::optional<std::string> Session::line() {
    std::size_t end = 0;
    while ((end = input_.find("\r\n")) == std::string::npos)
        if (!fill())
            return std::nullopt;
    std::string text = input_.substr(0, end);
    input_.erase(0, end + 2);
    return text;
}

std::optional<Command> Session::next() {
    const auto head = line();
    if (!head)
        return std::nullopt;
    EXPECT_EQ(head->at(0), '*');
    Command command(std::stoul(head->substr(1)));
    for (std::string &argument : command) {
        const auto length = line();
        if (!length)
            return std::nullopt;
        EXPECT_EQ(length->at(0), '$');
        const std::size_t size = std::stoul(length->substr(1));
        while (input_.size() < size + 2)
            if (!fill())
                return std::nullopt;
        argument = input_.substr(0, size);
        input_.erase(0, size + 2);
    }
    return command;
}

void Session::send(const std::string &bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        sent += static_cast<std::size_t>(n);
    }
}

void Session::hello(const std::uint8_t *control_uuid) {
    const auto command = next();
    if (!command)
        return;
    EXPECT_EQ(*command, Command{"HELLO"});
    std::string uuid;
    for (int i = 0; i < 16; i++) {
        char digits[4];
        std::snprintf(digits, sizeof digits, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", control_uuid[i]);
        uuid += digits;
    }
    send("*6\r\n$7\r\nversion\r\n$5\r\n9.9.9\r\n$12\r\ncontrol_uuid\r\n$36\r\n" + uuid +
         "\r\n$8\r\nfeatures\r\n*2\r\n:1\r\n$-1\r\n");
}

void Session::answer(int value) {
    send(std::string{"$1\r\n"} + static_cast<char>(value) + "\r\n");
}

int listen_at(const std::string &folder, int backlog) {
    const std::string path = folder + "/socket";
    ::unlink(path.c_str());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr *>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(fd, backlog), 0);
    return fd;
}

FakeDaemon::FakeDaemon(const World &world, Scene scene)
    : listener_{listen_at(world.folder(), 16)}, scene_{std::move(scene)}, thread_{[this] { run(); }} {}

FakeDaemon::~FakeDaemon() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
}

void FakeDaemon::run() {
    std::vector<std::thread> scenes;
    while (!stopping_) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0)
            break;
        const int number = connections_++;
        scenes.emplace_back([this, fd, number] {
            Session session{fd};
            scene_(session, number);
        });
    }
    for (std::thread &scene : scenes)
        scene.join();
}

FakeDaemon::Scene good_daemon(const World &world, std::vector<int> answers) {
    auto next = std::make_shared<std::atomic<std::size_t>>(0);
    return [&world, answers, next](Session &session, int) {
        session.hello(world.control()->control_uuid);
        while (const auto command = session.next()) {
            EXPECT_EQ(command->at(0), "SB.ADDH");
            session.answer(answers[std::min((*next)++, answers.size() - 1)]);
        }
    };
}

} // namespace shmbloom::test
