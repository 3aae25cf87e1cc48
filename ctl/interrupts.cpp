#include "interrupts.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>

namespace shmbloom::ctl {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

int g_write_fd = -1; // set before the handlers are, and back after they are gone

extern "C" void note_signal(int) {
    const int saved = errno;
    const char byte = 0;
    [[maybe_unused]] const ssize_t n = ::write(g_write_fd, &byte, 1);
    errno = saved;
}

} // namespace

Interrupts::Interrupts() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    read_end_ = UniqueFd{ends[0]};
    write_end_ = UniqueFd{ends[1]};
    g_write_fd = write_end_.get();
    struct sigaction action = {};
    action.sa_handler = note_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    for (const int signal : kSignals) {
        struct sigaction old = {};
        ::sigaction(signal, nullptr, &old);
        if (old.sa_handler != SIG_IGN) // nohup and background jobs ignore them on purpose
            ::sigaction(signal, &action, nullptr);
    }
}

Interrupts::~Interrupts() {
    for (const int signal : kSignals) {
        struct sigaction now = {};
        ::sigaction(signal, nullptr, &now);
        if (now.sa_handler == note_signal)
            ::signal(signal, SIG_DFL);
    }
    g_write_fd = -1;
}

} // namespace shmbloom::ctl
