#include "child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <utility>

#include "text.h"

extern "C" char **environ;

namespace shmbloom::ctl {

namespace {

constexpr int kPipeBytes = 1 << 20; // fewer turns between source and tool; only a wish
constexpr int kStopTimeoutMs = 2000;

// glibc 2.36 declares pidfd_open without extern "C".
int open_pidfd(pid_t pid) {
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); // close-on-exec by itself
}

// What posix_spawn wants to be told, freed in any case.
struct SpawnSettings {
    SpawnSettings() {
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
    }
    ~SpawnSettings() {
        posix_spawn_file_actions_destroy(&actions);
        posix_spawnattr_destroy(&attributes);
    }
    SpawnSettings(const SpawnSettings &) = delete;
    SpawnSettings &operator=(const SpawnSettings &) = delete;

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
};

// A source must die of a closed pipe, whatever our parent ignored.
int default_sigpipe(posix_spawnattr_t *attributes) {
    sigset_t pipe_only;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    const int r = posix_spawnattr_setsigdefault(attributes, &pipe_only);
    return r != 0 ? r : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

int spawn_with_pipe(const std::vector<std::string> &command, int stdout_fd, pid_t *pid) {
    std::vector<char *> argv;
    for (const std::string &word : command)
        argv.push_back(const_cast<char *>(word.c_str())); // posix_spawn does not write to them
    argv.push_back(nullptr);
    SpawnSettings settings;
    int r = posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (r == 0)
        r = posix_spawn_file_actions_adddup2(&settings.actions, stdout_fd, STDOUT_FILENO);
    if (r == 0)
        r = default_sigpipe(&settings.attributes);
    if (r == 0)
        r = posix_spawnp(pid, argv.front(), &settings.actions, &settings.attributes, argv.data(), environ);
    return r;
}

} // namespace

Result<Child> Child::spawn(const std::vector<std::string> &command) {
    const auto failed = [&](int error) {
        return Failure{Exit::source_failed, "cannot run " + shell_quote(command.front()) + ": " + std::strerror(error)};
    };
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0)
        return failed(errno);
    Child child;
    child.name_ = shell_quote(command.front());
    child.output_ = UniqueFd{ends[0]};
    const UniqueFd write_end{ends[1]};
    ::fcntl(ends[0], F_SETPIPE_SZ, kPipeBytes);
    if (const int r = spawn_with_pipe(command, write_end.get(), &child.pid_); r != 0) {
        child.pid_ = -1;
        return failed(r);
    }
    child.pidfd_ = UniqueFd{open_pidfd(child.pid_)};
    if (!child.pidfd_)
        return failed(errno);
    return child;
}

Child::Child(Child &&other) noexcept
    : name_{std::move(other.name_)}, pid_{std::exchange(other.pid_, -1)}, output_{std::move(other.output_)},
      pidfd_{std::move(other.pidfd_)} {}

Child::~Child() {
    stop();
}

Outcome Child::wait(int interrupt_fd) {
    std::array<pollfd, 2> ready{{{pidfd_.get(), POLLIN, 0}, {interrupt_fd, POLLIN, 0}}};
    while (::poll(ready.data(), ready.size(), -1) < 0 && errno == EINTR)
        continue;
    if (ready[0].revents == 0)
        return Failure{Exit::source_failed, "interrupted"};
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR)
        continue;
    pid_ = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {};
    return Failure{Exit::source_failed, ending(status)};
}

std::string Child::ending(int status) const {
    if (WIFSIGNALED(status))
        return name_ + " was killed by signal " + std::to_string(WTERMSIG(status)) + " (" +
               strsignal(WTERMSIG(status)) + ")";
    return name_ + " ended with exit code " + std::to_string(WEXITSTATUS(status));
}

void Child::stop() {
    output_.reset();
    if (pid_ < 0)
        return;
    ::kill(pid_, SIGTERM);
    pollfd ended{pidfd_.get(), POLLIN, 0};
    if (!pidfd_ || ::poll(&ended, 1, kStopTimeoutMs) <= 0)
        ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
        continue;
    pid_ = -1;
}

} // namespace shmbloom::ctl
