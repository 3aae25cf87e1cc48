// One load on its connection: BEGIN, hashes in batches with several of them in flight, END or ABORT.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client.h"
#include "result.h"

namespace shmbloom::ctl {

class LoadSession {
  public:
    LoadSession(Client &client, std::string name, std::uint64_t hash_domain);

    Outcome begin(std::optional<std::uint64_t> overlap_s);
    Outcome add(std::uint64_t hash);
    Outcome flush(); // sends what is left and waits until all is acknowledged

    // Declares the source complete; the daemon checks `expect` once more.
    Result<Reply> end(std::optional<std::uint64_t> expect);

    // The filter keeps its doubts. Cannot fail: a connection that closes is an ABORT as well.
    void abort();

    std::uint64_t acknowledged() const { return answered_[0] + answered_[1] + answered_[2]; }
    std::uint64_t answered(int answer) const { return answered_.at(static_cast<std::size_t>(answer)); }

  private:
    Outcome send_batch();
    Outcome receive_batch();

    Client &client_;
    std::string name_;
    std::string hash_domain_; // as the wire has it
    std::vector<std::uint64_t> batch_;
    std::size_t in_flight_ = 0;
    bool is_open_ = false; // between BEGIN and END
    std::array<std::uint64_t, 3> answered_{};
};

} // namespace shmbloom::ctl
