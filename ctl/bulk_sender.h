// Hashes on their way to the daemon: a thread of its own sends full blocks while the caller fills the next.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "result.h"

namespace shmbloom::ctl {

class BulkSender {
  public:
    // The connection is this object's from the first add() to finish().
    BulkSender(Client &client, std::string name, std::string hash_domain);
    ~BulkSender(); // what was not sent yet is not
    BulkSender(const BulkSender &) = delete;
    BulkSender &operator=(const BulkSender &) = delete;

    // False: something went wrong, finish() says what.
    bool add(std::uint64_t hash) {
        block_[size_] = hash;
        return ++size_ < kBlockHashes || hand_over();
    }

    // Sends what is left, waits until all is acknowledged, and ends the thread. Once.
    Outcome finish();

    // Ends the thread and reads the replies that are still to come, which are of no interest any more.
    void give_up();

    // After finish().
    std::uint64_t acknowledged() const { return answered_[0] + answered_[1] + answered_[2]; }
    std::uint64_t answered(int answer) const { return answered_.at(static_cast<std::size_t>(answer)); }

  private:
    static constexpr std::size_t kBlockHashes = 65536; // of SB.BULK, 512 KiB

    struct Block {
        std::vector<std::uint64_t> hashes;
        std::size_t size = 0;
    };

    bool hand_over();
    void join(bool give_up);
    // Of the thread:
    void run();
    bool take(Block &block);
    Outcome send(const Block &block);
    Outcome receive();
    Outcome drain();

    Client &client_;
    std::string name_, hash_domain_;
    std::vector<std::uint64_t> block_; // being filled
    std::size_t size_ = 0;

    std::mutex mutex_; // of all until the empty line
    std::condition_variable changed_;
    std::deque<Block> full_;
    std::vector<std::vector<std::uint64_t>> empty_;
    bool at_end_ = false;
    Outcome failure_;

    std::atomic<bool> gives_up_ = false;
    std::thread thread_;
    std::size_t in_flight_ = 0; // these two: the thread's while it runs
    std::array<std::uint64_t, 3> answered_{};
};

} // namespace shmbloom::ctl
