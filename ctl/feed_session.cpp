#include "feed_session.h"

#include "json.h"

namespace shmbloom::ctl {

namespace {

// END may wait for snapshots of the whole filter.
constexpr std::chrono::hours kEndTimeout{24};
constexpr std::chrono::seconds kTellTimeout{60};
constexpr std::chrono::seconds kAbortTimeout{5};

} // namespace

FeedSession::FeedSession(Client &client, std::string command, std::string name, std::uint64_t hash_domain)
    : client_{client}, command_{std::move(command)}, name_{std::move(name)},
      hash_domain_{hex_text(hash_domain)}, sender_{client, name_, hash_domain_} {}

Result<Reply> FeedSession::call(std::string_view word, const Words &options, std::chrono::milliseconds timeout) {
    std::vector<std::string_view> command{command_, name_, word};
    command.insert(command.end(), options.begin(), options.end());
    return client_.call(command, timeout);
}

Result<Reply> FeedSession::begin(const Words &options, std::chrono::milliseconds timeout) {
    auto reply = call("BEGIN", options, timeout);
    is_open_ = failure_of(reply) == nullptr;
    return reply;
}

Result<Reply> FeedSession::tell(std::string_view word, const std::vector<std::uint64_t> &hashes) {
    const std::string_view bytes{reinterpret_cast<const char *>(hashes.data()), hashes.size() * sizeof hashes[0]};
    return client_.call({command_, name_, word, hash_domain_, bytes}, kTellTimeout);
}

Result<Reply> FeedSession::end(const Words &options) {
    is_open_ = false; // also when it is refused: the daemon then counts it as aborted
    return call("END", options, kEndTimeout);
}

void FeedSession::abort() {
    sender_.give_up(); // ABORT's reply stands behind those that it waits for
    if (is_open_ && client_.is_open())
        (void)call("ABORT", {}, kAbortTimeout);
    is_open_ = false;
}

} // namespace shmbloom::ctl
