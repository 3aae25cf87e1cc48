// A blocking client that says what it means. Every wait ends after kDeadline at the latest, as a failure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "sys/unique_fd.h"

namespace shmbloom::net {

constexpr auto kDeadline = std::chrono::seconds{60};

std::string encode(const std::vector<std::string> &request);

class Client {
  public:
    explicit Client(const std::string &path) : Client{} { connect(path); }
    Client(); // not connected yet

    void connect(const std::string &path);

    void send(std::string_view bytes);                  // all of them; a peer that closed fails the test
    bool send_whole(std::string_view bytes);            // false: the peer closed
    std::size_t send_what_fits(std::string_view bytes); // without waiting
    void close_writing();
    void close();

    std::string receive(std::size_t size);
    std::string receive_line();
    std::string receive_rest(); // until the peer closes

    std::string ask(const std::vector<std::string> &request); // and one line of reply

  private:
    UniqueFd fd_;
};

} // namespace shmbloom::net
