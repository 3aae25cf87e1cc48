#include "once.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text.h"
#include "unique_fd.h"

namespace shmbloom::ctl {

namespace {

constexpr const char *kProgram = "shmbloomd";

bool is_program(const std::string &path) {
    return ::access(path.c_str(), X_OK) == 0;
}

std::string own_folder() {
    std::array<char, PATH_MAX> path{};
    const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
    const std::string_view whole{path.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
    return std::string{whole.substr(0, whole.find_last_of('/'))};
}

std::string find_in_path() {
    const char *value = ::getenv("PATH");
    std::string_view list = value == nullptr ? "" : value;
    while (!list.empty()) {
        const std::size_t colon = list.find(':');
        const std::string path = std::string{list.substr(0, colon)} + "/" + kProgram;
        if (path.front() == '/' && path[1] != '/' && is_program(path))
            return path;
        list.remove_prefix(colon == std::string_view::npos ? list.size() : colon + 1);
    }
    return "";
}

// Of a child between fork and exec. A root that acts for another user's daemon must not leave files of root's.
bool become(const Place &place) {
    if (::geteuid() == place.owner)
        return true;
    const passwd *user = ::getpwuid(place.owner);
    const bool grouped = user != nullptr ? ::initgroups(user->pw_name, place.group) == 0 : ::setgroups(0, nullptr) == 0;
    if (user != nullptr)
        ::setenv("HOME", user->pw_dir, 1);
    return grouped && ::setgid(place.group) == 0 && ::setuid(place.owner) == 0;
}

[[noreturn]] void become_shmbloomd(const Place &place, const std::vector<std::string> &line, int output) {
    std::vector<char *> argv;
    for (const std::string &word : line)
        argv.push_back(const_cast<char *>(word.c_str())); // execv does not write to them
    argv.push_back(nullptr);
    ::unsetenv("JOURNAL_STREAM"); // its log lines then begin as for a terminal
    const int none = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::dup2(none, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(output, STDERR_FILENO) >= 0 &&
        become(place))
        ::execv(argv.front(), argv.data());
    ::_exit(127);
}

std::string read_all(int fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t n; (n = ::read(fd, buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR);)
        text.append(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

// The last line, without "shmbloomd: critical: ".
std::string reason_in(std::string_view text) {
    while (text.ends_with('\n'))
        text.remove_suffix(1);
    text.remove_prefix(text.find_last_of('\n') + 1); // npos + 1 is 0
    const std::string_view begin = "shmbloomd: critical: ";
    return std::string{text.starts_with(begin) ? text.substr(begin.size()) : text};
}

// shmbloomd's exit status has the tool's meaning but for those of a start that failed.
Exit code_of(int status) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    return code >= 2 && code <= 10 ? static_cast<Exit>(code) : Exit::unreachable;
}

Once finish(pid_t pid, int output) {
    const std::string text = read_all(output);
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return {};
    const bool held = text.find("another shmbloomd holds") != std::string::npos;
    return {held, Failure{code_of(status), "shmbloomd --once: " + reason_in(text)}};
}

} // namespace

std::string find_shmbloomd() {
    const std::string here = own_folder();
    for (const std::string &path : {here + "/" + kProgram, here + "/../sbin/" + kProgram})
        if (is_program(path))
            return path;
    return find_in_path();
}

Once run_once(const Place &place, const std::vector<std::string> &words) {
    if (::geteuid() != 0 && ::geteuid() != place.owner)
        return {false, Failure{Exit::no_permission, "the daemon is not running, and only root or user " +
                                                        std::to_string(place.owner) + " can act in its stead"}};
    if (!place.registry)
        return {false, place.no_registry};
    const std::string program = find_shmbloomd();
    if (program.empty())
        return {false, Failure{Exit::unreachable, "no shmbloomd beside this program, in ../sbin or in PATH"}};
    std::vector<std::string> line{program,
                                  "--instance",
                                  place.instance,
                                  "--runtime-dir",
                                  place.runtime_dir,
                                  "--state-dir",
                                  place.registry->state_dir,
                                  "--log-level",
                                  "error",
                                  "--once",
                                  "--"};
    line.insert(line.end(), words.begin(), words.end());
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) < 0)
        return {false, Failure{Exit::no_space, std::string{"cannot run shmbloomd: "} + std::strerror(errno)}};
    const UniqueFd output{ends[0]};
    UniqueFd input{ends[1]};
    const pid_t pid = ::fork();
    if (pid < 0)
        return {false, Failure{Exit::no_space, std::string{"cannot run shmbloomd: "} + std::strerror(errno)}};
    if (pid == 0)
        become_shmbloomd(place, line, input.get());
    input.reset();
    return finish(pid, output.get());
}

} // namespace shmbloom::ctl
