#include "fake_daemon.h"

#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace shmbloom::test {

void Session::close() {
    const std::lock_guard lock{mutex_};
    if (fd_ >= 0)
        ::close(fd_);
    fd_ = -1;
}

void Session::interrupt() {
    const std::lock_guard lock{mutex_};
    if (fd_ >= 0)
        ::shutdown(fd_, SHUT_RDWR);
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
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<std::thread> scenes;
    while (!stopping_) {
        const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0)
            break;
        const int number = connections_++;
        Session &session = *sessions.emplace_back(std::make_unique<Session>(fd));
        scenes.emplace_back([this, &session, number] {
            scene_(session, number);
            session.close();
        });
    }
    for (const auto &session : sessions)
        session->interrupt();
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

KeepingDaemon::KeepingDaemon(const World &world)
    : world_{world}, daemon_{world, [this](Session &session, int) { serve(session); }} {}

std::vector<Command> KeepingDaemon::commands() const {
    const std::lock_guard lock{mutex_};
    return commands_;
}

void KeepingDaemon::serve(Session &session) {
    session.hello(world_.control()->control_uuid);
    while (const auto command = session.next()) {
        before_each_(*command);
        const std::string text = reply(*command);
        {
            const std::lock_guard lock{mutex_};
            commands_.push_back(*command);
        }
        session.send(text);
    }
}

std::string KeepingDaemon::reply(const Command &command) {
    const Filter *filter = world_.find(command.at(1));
    if (filter == nullptr)
        return "-NOTFOUND\r\n";
    if (std::stoull(command.at(2), nullptr, 16) != world_.slot(*filter)->hash_domain)
        return "-STALE\r\n";
    const auto add = [&](std::uint64_t hash) {
        return shmbloom_set_bits(filter->segment->words(), &filter->spec.shape, hash) == 0 ? '\1' : '\0';
    };
    if (command.at(0) == "SB.REPORT")
        return ":" + std::to_string(add(std::stoull(command.at(3), nullptr, 16))) + "\r\n";
    std::string answers;
    for (std::size_t i = 0; i < command.at(3).size(); i += 8) {
        std::uint64_t hash = 0;
        std::memcpy(&hash, command[3].data() + i, 8);
        answers += add(hash);
    }
    return "$" + std::to_string(answers.size()) + "\r\n" + answers + "\r\n";
}

} // namespace shmbloom::test
