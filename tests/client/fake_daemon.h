// A daemon that is a thread: accepts connections one by one and plays a scene with each.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "world.h"

namespace shmbloom::test {

using Command = std::vector<std::string>;

class Session {
  public:
    explicit Session(int fd) : fd_{fd} {}
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    std::optional<Command> next(); // nullopt: the client is gone
    void send(const std::string &bytes);
    void hello(const std::uint8_t *control_uuid); // reads HELLO and answers it
    void answer(int value);                       // an SB.ADDH's bulk of one byte

  private:
    std::optional<std::string> line();
    bool fill();

    int fd_;
    std::string input_;
};

class FakeDaemon {
  public:
    using Scene = std::function<void(Session &, int number)>; // number of the connection, from 0

    FakeDaemon(const World &world, Scene scene);
    ~FakeDaemon();
    FakeDaemon(const FakeDaemon &) = delete;
    FakeDaemon &operator=(const FakeDaemon &) = delete;

    int connections() const { return connections_; }

  private:
    void run();

    int listener_;
    std::atomic<bool> stopping_{false};
    std::atomic<int> connections_{0};
    Scene scene_;
    std::thread thread_;
};

// Binds <folder>/socket and listens; nobody accepts.
int listen_at(const std::string &folder, int backlog);

// Answers HELLO, then every SB.ADDH with the answers given, the last one for ever.
FakeDaemon::Scene good_daemon(const World &world, std::vector<int> answers);

} // namespace shmbloom::test
