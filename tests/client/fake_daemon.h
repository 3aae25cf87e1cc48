// A daemon that is a thread: accepts connections one by one and plays a scene with each.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
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
    ~Session() { close(); }
    void close();
    void interrupt(); // from another thread: the client seems to be gone
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    std::optional<Command> next(); // nullopt: the client is gone
    void send(const std::string &bytes);
    void hello(const std::uint8_t *control_uuid); // reads HELLO and answers it
    void answer(int value);                       // an SB.ADDH's bulk of one byte

  private:
    std::optional<std::string> line();
    bool fill();

    std::mutex mutex_; // of fd_, between close and interrupt
    int fd_;
    std::string input_;
};

class FakeDaemon {
  public:
    using Scene = std::function<void(Session &, int number)>; // number of the connection, from 0

    FakeDaemon(const World &world, Scene scene);
    ~FakeDaemon(); // interrupts the scenes that are still playing
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

// As a real one does: SB.ADDH and SB.REPORT set bits in the world's filters and tell what was there before. Every
// command is kept.
class KeepingDaemon {
  public:
    explicit KeepingDaemon(const World &world);

    std::vector<Command> commands() const;
    void before_each(std::function<void(const Command &)> act) { before_each_ = std::move(act); }

  private:
    void serve(Session &session);
    std::string reply(const Command &command);

    const World &world_;
    mutable std::mutex mutex_;
    std::vector<Command> commands_;
    std::function<void(const Command &)> before_each_ = [](const Command &) {};
    FakeDaemon daemon_;
};

} // namespace shmbloom::test
