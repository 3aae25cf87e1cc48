#include "process.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <utility>
#include <unistd.h>

#include "eventually.h"

namespace shmbloom::test {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char *what) {
    throw std::system_error{errno, std::generic_category(), what};
}

int milliseconds_until(Clock::time_point deadline) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0)
        throw std::runtime_error{"a process did not do in time what was waited for"};
    return static_cast<int>(left);
}

void read_some(int &fd, std::string &text) {
    char block[65536];
    const ssize_t n = ::read(fd, block, sizeof block);
    if (n > 0) {
        text.append(block, static_cast<std::size_t>(n));
        return;
    }
    ::close(fd);
    fd = -1;
}

} // namespace

Process::Process(const std::vector<std::string> &arguments, const Environment &environment) {
    ::signal(SIGPIPE, SIG_IGN);
    int in[2], out[2], err[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0)
        fail("pipe2");
    // Room for all that it says while nobody reads: a daemon waits for whoever takes its log.
    (void)::fcntl(err[1], F_SETPIPE_SZ, 1 << 20);
    std::vector<char *> argv;
    for (const std::string &argument : arguments)
        argv.push_back(const_cast<char *>(argument.c_str()));
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0)
        fail("fork");
    if (pid_ == 0) {
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(err[1], STDERR_FILENO);
        for (const auto &[name, value] : environment)
            ::setenv(name.c_str(), value.c_str(), 1);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    ::close(err[1]);
    input_ = in[1];
    output_ = out[0];
    error_ = err[0];
}

Process::Process(Process &&other) noexcept
    : pid_{std::exchange(other.pid_, -1)}, input_{std::exchange(other.input_, -1)},
      output_{std::exchange(other.output_, -1)}, error_{std::exchange(other.error_, -1)},
      output_text_{std::move(other.output_text_)}, error_text_{std::move(other.error_text_)}, exit_{other.exit_} {}

Process::~Process() {
    if (pid_ > 0 && !exit_) {
        ::kill(pid_, SIGKILL);
        ::kill(pid_, SIGCONT);
        ::waitpid(pid_, nullptr, 0);
    }
    for (int fd : {input_, output_, error_})
        if (fd >= 0)
            ::close(fd);
}

void Process::write(const std::string &text) {
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t n = ::write(input_, text.data() + at, text.size() - at);
        if (n < 0)
            fail("write to a process");
        at += static_cast<std::size_t>(n);
    }
}

void Process::close_input() {
    if (input_ >= 0)
        ::close(std::exchange(input_, -1));
}

bool Process::pump(int timeout_ms) {
    if (output_ < 0 && error_ < 0)
        return false;
    pollfd fds[2] = {{output_, POLLIN, 0}, {error_, POLLIN, 0}};
    if (::poll(fds, 2, timeout_ms) < 0 && errno != EINTR)
        fail("poll");
    if (output_ >= 0 && fds[0].revents != 0)
        read_some(output_, output_text_);
    if (error_ >= 0 && fds[1].revents != 0)
        read_some(error_, error_text_);
    return true;
}

std::optional<std::string> Process::read_line(int timeout_s) {
    const auto deadline = Clock::now() + std::chrono::seconds{timeout_s};
    for (;;) {
        if (const auto end = output_text_.find('\n'); end != std::string::npos) {
            std::string line = output_text_.substr(0, end);
            output_text_.erase(0, end + 1);
            return line;
        }
        if (output_ < 0 || !pump(milliseconds_until(deadline)))
            return std::nullopt;
    }
}

bool Process::wait_for_log(const std::string &text, int timeout_s) {
    const auto deadline = Clock::now() + std::chrono::seconds{timeout_s};
    while (error_text_.find(text) == std::string::npos)
        if (error_ < 0 || !pump(milliseconds_until(deadline)))
            return error_text_.find(text) != std::string::npos;
    return true;
}

const std::string &Process::log() {
    while (error_ >= 0) {
        pollfd fd{error_, POLLIN, 0};
        if (::poll(&fd, 1, 0) <= 0)
            break;
        read_some(error_, error_text_);
    }
    return error_text_;
}

void Process::signal(int number) {
    if (!exit_)
        ::kill(pid_, number);
}

Process::Exit Process::wait(int timeout_s) {
    const auto deadline = Clock::now() + std::chrono::seconds{timeout_s};
    close_input();
    while (pump(milliseconds_until(deadline)))
        continue;
    if (!exit_) {
        int status = 0;
        if (::waitpid(pid_, &status, 0) != pid_)
            fail("waitpid");
        exit_ = WIFEXITED(status) ? Exit{WEXITSTATUS(status), 0} : Exit{-1, WTERMSIG(status)};
    }
    return *exit_;
}

bool Process::is_running() {
    if (exit_)
        return false;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_)
        return true;
    exit_ = WIFEXITED(status) ? Exit{WEXITSTATUS(status), 0} : Exit{-1, WTERMSIG(status)};
    return false;
}

void Process::wait_until_stopped(int timeout_s) {
    const auto is_stopped = [this] {
        std::ifstream file{"/proc/" + std::to_string(pid_) + "/stat"};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        const auto name_end = text.rfind(')');
        return name_end != std::string::npos && text.compare(name_end + 1, 3, " T ") == 0;
    };
    if (!eventually(is_stopped, std::chrono::seconds{timeout_s}))
        throw std::runtime_error{"a process did not stop: " + log()};
}

std::string Process::rest_of_output() {
    return std::exchange(output_text_, {});
}

Finished run(const std::vector<std::string> &arguments, const std::string &input, const Process::Environment &environment) {
    Process process{arguments, environment};
    process.write(input);
    const auto exit = process.wait();
    return {exit.code, process.rest_of_output(), process.log()};
}

} // namespace shmbloom::test
