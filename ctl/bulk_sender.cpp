#include "bulk_sender.h"

#include <utility>

namespace shmbloom::ctl {

namespace {

// 4 MiB unacknowledged: enough that neither side waits for the other. Replies are a few bytes each, so nobody ever
// waits for the other's reading.
constexpr std::size_t kInFlightMax = 8;
constexpr std::size_t kWaitingMax = 4; // blocks between the two threads

constexpr std::chrono::seconds kTimeout{60};
constexpr std::chrono::seconds kGiveUpTimeout{5};

} // namespace

BulkSender::BulkSender(Client &client, std::string name, std::string hash_domain)
    : client_{client}, name_{std::move(name)}, hash_domain_{std::move(hash_domain)}, block_(kBlockHashes) {}

BulkSender::~BulkSender() {
    join(true);
}

// ---- The caller's side.

bool BulkSender::hand_over() {
    if (!thread_.joinable())
        thread_ = std::thread{[this] { run(); }}; // not before it is needed: a command may still be forked
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return failure_ || full_.size() < kWaitingMax; });
    if (failure_) {
        size_ = 0;
        return false;
    }
    full_.push_back({std::move(block_), std::exchange(size_, 0)});
    if (empty_.empty()) {
        block_ = std::vector<std::uint64_t>(kBlockHashes);
    } else {
        block_ = std::move(empty_.back());
        empty_.pop_back();
    }
    changed_.notify_all();
    return true;
}

void BulkSender::join(bool give_up) {
    {
        const std::lock_guard lock{mutex_};
        at_end_ = true;
        gives_up_ = gives_up_ || give_up;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
}

Outcome BulkSender::finish() {
    if (size_ > 0)
        hand_over(); // what goes wrong stands in failure_
    join(false);
    return failure_;
}

void BulkSender::give_up() {
    join(true);
    while (in_flight_ > 0 && client_.is_open()) {
        --in_flight_;
        (void)client_.receive(kGiveUpTimeout);
    }
}

// ---- The thread's side.

void BulkSender::run() {
    Block block;
    Outcome failure;
    while (!failure && take(block))
        failure = send(block);
    if (!failure)
        failure = drain();
    const std::lock_guard lock{mutex_};
    failure_ = std::move(failure);
    changed_.notify_all();
}

// The next block; the one before is free again. False: there is none any more.
bool BulkSender::take(Block &block) {
    std::unique_lock lock{mutex_};
    if (!block.hashes.empty())
        empty_.push_back(std::move(block.hashes));
    changed_.wait(lock, [this] { return !full_.empty() || at_end_; });
    if (full_.empty() || gives_up_)
        return false;
    block = std::move(full_.front());
    full_.pop_front();
    changed_.notify_all();
    return true;
}

Outcome BulkSender::send(const Block &block) {
    if (in_flight_ == kInFlightMax)
        if (auto failure = receive())
            return failure;
    const std::string_view hashes{reinterpret_cast<const char *>(block.hashes.data()),
                                  block.size * sizeof block.hashes[0]};
    if (auto failure = client_.send({"SB.BULK", name_, hash_domain_, hashes}, kTimeout))
        return failure;
    ++in_flight_;
    return {};
}

Outcome BulkSender::receive() {
    --in_flight_;
    auto reply = client_.receive(kTimeout);
    if (const Failure *failure = failure_of(reply))
        return *failure;
    const std::vector<Reply> &counts = std::get<Reply>(reply).elements;
    if (counts.size() != answered_.size())
        return Failure{Exit::unreachable, "the daemon does not say how many keys it took"};
    for (std::size_t i = 0; i < counts.size(); ++i)
        answered_[i] += static_cast<std::uint64_t>(counts[i].integer);
    return {};
}

Outcome BulkSender::drain() {
    while (in_flight_ > 0 && !gives_up_)
        if (auto failure = receive())
            return failure;
    return {};
}

} // namespace shmbloom::ctl
