#include "sys/crash_point.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace shmbloom {
namespace {

struct Target {
    std::string step;
    std::atomic<long> countdown{1};

    Target() {
        const char *text = ::getenv("SHMBLOOM_CRASH_AT");
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
    static Target target;
    if (target.step.empty() || target.step != step)
        return;
    if (target.countdown.fetch_sub(1) == 1)
        ::kill(::getpid(), SIGKILL);
}

} // namespace shmbloom
