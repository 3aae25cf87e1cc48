#include "service/once.h"

#include <algorithm>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <iostream>
#include <unistd.h>

#include "service/check.h"
#include "service/core.h"
#include "sys/log.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

namespace asio = boost::asio;

// What was done with one command, for the terminal. Returns the exit status, as docs/protocol.md lists them.
int show(std::string_view reply) {
    if (!reply.starts_with('-')) {
        for (bool value = false; !reply.empty(); reply.remove_prefix(std::min(reply.size(), reply.find('\n') + 1))) {
            const std::string_view line = reply.substr(0, reply.find('\r'));
            if (line.starts_with('*') || (line.starts_with('$') && line != "$-1"))
                continue;
            std::cout << (line.starts_with('+') ? line.substr(1)
                          : line == "$-1"       ? "unknown"
                                                : line)
                      << (value || line.starts_with('+') ? '\n' : ' ');
            value = !value;
        }
        return 0;
    }
    static constexpr std::pair<std::string_view, int> codes[] = {{"NOTFOUND", 5}, {"EXISTS", 6}, {"BUSY", 6},
                                                                 {"STALE", 6},    {"NOPERM", 9}, {"NOMEM", 10},
                                                                 {"NOSPC", 10},   {"IO", 10},      {"FULL", 6}};
    const std::string_view word = reply.substr(1, reply.find(' ') - 1);
    log::critical(reply.substr(word.size() + 2, reply.find('\r') - word.size() - 2));
    const auto *const found = std::ranges::find(codes, word, [](const auto &entry) { return entry.first; });
    return found == std::end(codes) ? 3 : found->second;
}

std::string wire_name(const std::string &verb) {
    static constexpr std::array<std::string_view, 6> verbs{"create", "drop",   "live",
                                                           "pause",  "resume", "forget-readers"};
    if (std::ranges::find(verbs, verb) == verbs.end())
        throw Refusal{"--once does create, drop, live, pause, resume, forget-readers or check, not '" + verb + "'"};
    return verb == "forget-readers" ? "SB.FORGETREADERS" : "SB." + verb;
}

} // namespace

int do_once(const Options &options) {
    if (options.once[0] == "check")
        return check_state(options);
    std::vector<std::string> words = options.once;
    words[0] = wire_name(words[0]);
    Core core{options};
    std::string reply;
    core.dispatcher.execute(0, {.uid = ::geteuid(), .gid = ::getegid(), .pid = ::getpid(), .groups = {}},
                            {words.begin(), words.end()}, [&](net::Response response) {
                                reply = std::move(response.bytes);
                                core.instance.stop([&](const std::string &error) {
                                    if (!error.empty())
                                        log::error("the clean stop could not be noted: " + error);
                                    core.io.stop();
                                });
                            });
    const auto keep_running = asio::make_work_guard(core.io);
    core.io.run();
    return show(reply);
}

} // namespace shmbloom
