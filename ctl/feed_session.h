// One load or rebuild on its connection: BEGIN, hashes in bulk, END or ABORT.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bulk_sender.h"
#include "client.h"
#include "result.h"

namespace shmbloom::ctl {

class FeedSession {
  public:
    using Words = std::vector<std::string>;

    // `command`: SB.LOAD or SB.REBUILD.
    FeedSession(Client &client, std::string command, std::string name, std::uint64_t hash_domain);

    Result<Reply> begin(const Words &options, std::chrono::milliseconds timeout);

    // To be used between begin() and end().
    BulkSender &sender() { return sender_; }
    const BulkSender &sender() const { return sender_; }

    // A word between, with hashes, at most 65,536.
    Result<Reply> tell(std::string_view word, const std::vector<std::uint64_t> &hashes);

    // Declares the source complete; the daemon checks once more. A refusal is the end of it, too.
    Result<Reply> end(const Words &options);

    // The filter stays as it was. Cannot fail: a connection that closes is an ABORT as well.
    void abort();

  private:
    Result<Reply> call(std::string_view word, const Words &options, std::chrono::milliseconds timeout);

    Client &client_;
    std::string command_, name_, hash_domain_; // as the wire has it
    BulkSender sender_;
    bool is_open_ = false; // between BEGIN and END
};

} // namespace shmbloom::ctl
