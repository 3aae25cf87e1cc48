#include "load_session.h"

#include <cstdio>

namespace shmbloom::ctl {

namespace {

// 128 KiB a command: the cost of a turn is spread over enough keys. What is in flight is answered with 8 x 16 KiB, far
// less than the daemon holds for a client that does not read (1 MiB), so nobody ever waits for the other's reading.
constexpr std::size_t kBatchHashes = 16384;
constexpr std::size_t kInFlightMax = 8;

constexpr std::chrono::seconds kAddTimeout{60};
// END may wait for a snapshot of the whole filter.
constexpr std::chrono::seconds kEndTimeout{3600};
constexpr std::chrono::seconds kBeginTimeout{60};
constexpr std::chrono::seconds kAbortTimeout{5};

std::string as_hex(std::uint64_t value) {
    std::array<char, 24> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%016llx", static_cast<unsigned long long>(value));
    return buffer.data();
}

} // namespace

LoadSession::LoadSession(Client &client, std::string name, std::uint64_t hash_domain)
    : client_{client}, name_{std::move(name)}, hash_domain_{as_hex(hash_domain)} {
    batch_.reserve(kBatchHashes);
}

Outcome LoadSession::begin(std::optional<std::uint64_t> overlap_s) {
    std::vector<std::string_view> command{"SB.LOAD", name_, "BEGIN"};
    const std::string seconds = std::to_string(overlap_s.value_or(0));
    if (overlap_s)
        command.insert(command.end(), {"OVERLAP", seconds});
    auto reply = client_.call(command, kBeginTimeout);
    if (const Failure *failure = failure_of(reply))
        return *failure;
    is_open_ = true;
    return {};
}

Outcome LoadSession::add(std::uint64_t hash) {
    batch_.push_back(hash);
    return batch_.size() < kBatchHashes ? Outcome{} : send_batch();
}

Outcome LoadSession::send_batch() {
    const std::string_view hashes{reinterpret_cast<const char *>(batch_.data()), batch_.size() * sizeof batch_[0]};
    if (in_flight_ == kInFlightMax)
        if (auto failure = receive_batch())
            return failure;
    if (auto failure = client_.send({"SB.ADDH", name_, hash_domain_, hashes}, kAddTimeout))
        return failure;
    ++in_flight_;
    batch_.clear();
    return {};
}

Outcome LoadSession::receive_batch() {
    --in_flight_;
    auto reply = client_.receive(kAddTimeout);
    if (const Failure *failure = failure_of(reply))
        return *failure;
    for (const char answer : std::get<Reply>(reply).text) {
        const auto value = static_cast<unsigned char>(answer);
        ++answered_[value < answered_.size() ? value : std::size_t{SHMBLOOM_UNVERIFIED}];
    }
    return {};
}

Outcome LoadSession::flush() {
    if (!batch_.empty())
        if (auto failure = send_batch())
            return failure;
    while (in_flight_ > 0)
        if (auto failure = receive_batch())
            return failure;
    return {};
}

Result<Reply> LoadSession::end(std::optional<std::uint64_t> expect) {
    std::vector<std::string_view> command{"SB.LOAD", name_, "END"};
    const std::string count = std::to_string(expect.value_or(0));
    if (expect)
        command.insert(command.end(), {"EXPECT", count});
    is_open_ = false; // also when it is refused: the daemon then counts it as aborted
    return client_.call(command, kEndTimeout);
}

void LoadSession::abort() {
    // ABORT's reply stands behind those of the batches in flight, which may be errors: of no interest any more.
    while (in_flight_ > 0 && client_.is_open()) {
        --in_flight_;
        (void)client_.receive(kAbortTimeout);
    }
    if (is_open_ && client_.is_open())
        (void)client_.call({"SB.LOAD", name_, "ABORT"}, kAbortTimeout);
}

} // namespace shmbloom::ctl
