#include "sys/crash_point.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace shmbloom {
namespace {

struct Target {
    int signal;
    std::string step;
    std::atomic<long> countdown{1};

    Target(const char *variable, int number) : signal{number} {
        const char *text = ::getenv(variable);
        if (text == nullptr)
            return;
        step = text;
        if (const auto colon = step.find(':'); colon != std::string::npos) {
            countdown = std::strtol(step.c_str() + colon + 1, nullptr, 10);
            step.resize(colon);
        }
    }
};

} // namespace

void crash_point(const char *step) {
    static Target crash{"SHMBLOOM_CRASH_AT", SIGKILL};
    static Target stop{"SHMBLOOM_STOP_AT", SIGSTOP};
    for (Target *const target : {&crash, &stop})
        if (!target->step.empty() && target->step == step && target->countdown.fetch_sub(1) == 1)
            ::raise(target->signal); // to this thread: it must not go on
}

} // namespace shmbloom
