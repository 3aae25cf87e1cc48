#include "daemon_call.h"

#include <thread>

#include "once.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kAgain{50};

Told hung(const Place &place, const char *what) {
    return {Told::By::nobody, true,
            Failure{Exit::unreachable, "the daemon in '" + place.runtime_dir + "' " + what, word::kHung}};
}

constexpr const char *kNoAnswer = "is there and does not answer";

// nullopt: it is dead, nobody listens.
std::optional<Told> ask_daemon(const Place &place, const std::vector<std::string> &command, const Timeouts &timeouts) {
    if (place.runtime_dir.empty())
        return std::nullopt;
    auto client = Client::connect_to(place.runtime_dir, timeouts.hello);
    if (const Failure *failure = failure_of(client)) {
        if (failure->code == Exit::timeout)
            return hung(place, kNoAnswer);
        if (failure->code == Exit::no_permission)
            return Told{Told::By::nobody, false, *failure};
        return std::nullopt;
    }
    const std::vector<std::string_view> words{command.begin(), command.end()};
    auto reply = std::get<Client>(client).call(words, timeouts.reply);
    const Failure *failure = failure_of(reply);
    if (failure == nullptr)
        return Told{Told::By::daemon, false, {}};
    if (std::get<Client>(client).is_open()) // it was told, and refused
        return Told{Told::By::daemon, false, *failure};
    if (failure->code == Exit::timeout)
        return hung(place, kNoAnswer);
    return std::nullopt; // it died meanwhile
}

} // namespace

Told tell(const Place &place, const std::vector<std::string> &command, const std::vector<std::string> &once,
          Timeouts timeouts) {
    const auto deadline = Clock::now() + timeouts.start;
    for (;;) {
        if (auto told = ask_daemon(place, command, timeouts))
            return *told;
        if (place.runtime_dir.empty())
            return {Told::By::nobody, false, place.no_control};
        Once done = run_once(place, once);
        if (!done.held)
            return {done.failure ? Told::By::nobody : Told::By::once, false, done.failure};
        if (Clock::now() >= deadline)
            return hung(place, "holds its locks and does not listen; perhaps it is still starting");
        std::this_thread::sleep_for(kAgain);
    }
}

} // namespace shmbloom::ctl
