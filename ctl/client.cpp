#include "client.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "numbers.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

constexpr std::chrono::seconds kConnectTimeout{2};
constexpr int kDepthMax = 3; // SB.INFO's array of arrays is the deepest there is
constexpr std::int64_t kElementsMax = 1 << 20;

std::int64_t deadline_after(std::chrono::milliseconds timeout) {
    return shmbloom__monotonic_ns() + std::chrono::nanoseconds{timeout}.count();
}

// The library's texts speak of adds.
const char *connection_text(int r) {
    switch (-r) {
    case ETIMEDOUT:
        return "it does not answer in time";
    case ENOENT:
        return "there is no socket";
    case EAGAIN:
        return "too many connections wait for it";
    case EPIPE:
        return "it closed the connection";
    default:
        return shmbloom_strerror(r);
    }
}

Failure connection_failure(int r, const char *doing) {
    const Exit code = exit_of(r);
    // Whatever else a socket does, it was the way to the daemon that failed.
    const bool is_way = code == Exit::timeout || code == Exit::no_permission || code == Exit::no_space;
    return {is_way ? code : Exit::unreachable, std::string{doing} + ": " + connection_text(r)};
}

Failure cannot_connect(int r, const Listing &place) {
    Failure failure = connection_failure(r, "cannot reach the daemon");
    if (r == -EACCES || r == -EPERM)
        failure.text = "may not use the daemon's socket in '" + place.runtime_dir + "': not in the daemon's group";
    else if (r == -ETIMEDOUT || r == -EAGAIN) // it listens
        failure = {Exit::unreachable, "the daemon in '" + place.runtime_dir + "' is there and does not answer",
                   word::kHung};
    else if (!place.is_daemon_running())
        failure = {Exit::unreachable, "daemon not running, heartbeat stopped " + format_age(place.heartbeat_age_ms) +
                                          " ago (" + place.runtime_dir + ")"};
    else
        failure.text += " (" + place.runtime_dir + ")";
    return failure;
}

} // namespace

std::string Reply::field(std::string_view name) const {
    for (std::size_t i = 0; i + 1 < elements.size(); i += 2)
        if (elements[i].text == name)
            return elements[i + 1].type == SHMBLOOM__INTEGER ? std::to_string(elements[i + 1].integer)
                                                             : elements[i + 1].text;
    return "";
}

Exit exit_of_error(std::string_view text, Exit range_means) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (word == "NOTFOUND")
        return Exit::not_found;
    if (word == "NOPERM")
        return Exit::no_permission;
    if (word == "NOMEM" || word == "NOSPC" || word == "IO")
        return Exit::no_space;
    if (word == "RANGE" || word == "ERR" || word == "TYPE")
        return range_means;
    return Exit::refused; // EXISTS BUSY STALE, and words that only a newer daemon knows
}

Failure failure_of_error(std::string_view text, Exit range_means) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view rest = text.substr(std::min(blank + 1, text.size()));
    return {exit_of_error(text, range_means), std::string{rest.empty() ? text : rest},
            std::string{text.substr(0, blank)}};
}

Client::Client(Client &&other) noexcept : connection_{std::exchange(other.connection_, shmbloom__connection{})} {
    other.connection_.fd = -1;
}

Client::~Client() {
    shmbloom__free_connection(&connection_);
}

Result<Client> Client::connect(const Where &where) {
    auto listed = list_filters(where);
    if (const Failure *failure = failure_of(listed))
        return *failure;
    const Listing place = take(std::move(listed));
    Client client;
    if (const int r = client.greet(place.runtime_dir, kConnectTimeout); r < 0)
        return cannot_connect(r, place);
    return client;
}

Result<Client> Client::connect_to(const std::string &runtime_dir, std::chrono::milliseconds timeout) {
    Client client;
    const int r = client.greet(runtime_dir, timeout);
    if (r == 0)
        return client;
    Failure failure = connection_failure(r, "cannot reach the daemon");
    if (r == -EAGAIN) // nobody takes connections out of its queue
        failure.code = Exit::timeout;
    failure.text += " (" + runtime_dir + ")";
    return failure;
}

int Client::greet(const std::string &runtime_dir, std::chrono::milliseconds timeout) {
    const std::int64_t deadline_ns = deadline_after(timeout);
    const int r = shmbloom__connect(&connection_, runtime_dir.c_str(), deadline_ns);
    return r < 0 ? r : shmbloom__hello(&connection_, deadline_ns);
}

Result<Reply> Client::call(const std::vector<std::string_view> &arguments, std::chrono::milliseconds timeout,
                           Exit range_means) {
    if (auto failure = send(arguments, timeout))
        return *failure;
    return receive(timeout, range_means);
}

Outcome Client::send(const std::vector<std::string_view> &arguments, std::chrono::milliseconds timeout) {
    std::vector<shmbloom__argument> list;
    for (const std::string_view argument : arguments)
        list.push_back({argument.data(), argument.size()});
    if (!is_open())
        return Failure{Exit::unreachable, "the connection to the daemon is closed"};
    const int r = shmbloom__send(&connection_, list.data(), list.size(), deadline_after(timeout));
    if (r < 0)
        return connection_failure(r, "cannot send to the daemon");
    return {};
}

Result<Reply> Client::receive(std::chrono::milliseconds timeout, Exit range_means) {
    if (!is_open())
        return Failure{Exit::unreachable, "the connection to the daemon is closed"};
    auto reply = receive_one(deadline_after(timeout), 0);
    if (const Reply *got = std::get_if<Reply>(&reply); got != nullptr && got->type == SHMBLOOM__ERROR)
        return failure_of_error(got->text, range_means);
    return reply;
}

Result<Reply> Client::receive_one(std::int64_t deadline_ns, int depth) {
    shmbloom__reply head{};
    const int r = shmbloom__receive(&connection_, &head, deadline_ns);
    if (r < 0)
        return connection_failure(r, "no reply from the daemon");
    Reply reply{head.type, head.integer, {}, {}};
    if (head.text != nullptr && head.type != SHMBLOOM__NIL) // a nil's is what stood on the line
        reply.text.assign(head.text, head.size);
    if (head.type != SHMBLOOM__ARRAY)
        return reply;
    if (depth >= kDepthMax || head.integer > kElementsMax) {
        shmbloom__disconnect(&connection_);
        return connection_failure(-EPROTO, "no reply from the daemon");
    }
    for (std::int64_t i = 0; i < head.integer; ++i) {
        auto element = receive_one(deadline_ns, depth + 1);
        if (const Failure *failure = failure_of(element))
            return *failure;
        reply.elements.push_back(take(std::move(element)));
    }
    return reply;
}

} // namespace shmbloom::ctl
