// Real processes for tests: started, spoken to, killed, waited for. Each is ended by its destructor.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace shmbloom::test {

class Process {
  public:
    using Environment = std::map<std::string, std::string>; // added to this process's

    // Starts `arguments[0]` with pipes for its standard input, output and error. Throws std::system_error.
    explicit Process(const std::vector<std::string> &arguments, const Environment &environment = {});
    ~Process(); // kill -9 unless it has ended
    Process(Process &&other) noexcept;
    Process(const Process &) = delete;
    Process &operator=(const Process &) = delete;

    pid_t pid() const { return pid_; }

    void write(const std::string &text);
    void close_input();
    // A line of the output, without its end; nullopt at the end of file. Throws after `timeout_s`.
    std::optional<std::string> read_line(int timeout_s = 120);
    // Waits until the error output holds `text`; false when the process ended without.
    bool wait_for_log(const std::string &text, int timeout_s = 60);
    const std::string &log(); // the error output so far

    void signal(int number);
    struct Exit {
        int code = -1;   // -1: killed
        int signal = 0;
    };
    Exit wait(int timeout_s = 120); // reads what is left of output and log first
    bool is_running();
    void wait_until_stopped(int timeout_s = 60); // by SIGSTOP. Throws
    std::string rest_of_output(); // valid after wait

  private:
    bool pump(int timeout_ms); // reads what is there; false when both pipes are at their end

    pid_t pid_ = -1;
    int input_ = -1, output_ = -1, error_ = -1;
    std::string output_text_, error_text_;
    std::optional<Exit> exit_;
};

// Runs to the end and returns output and exit code.
struct Finished {
    int code;
    std::string output;
    std::string log;
};
Finished run(const std::vector<std::string> &arguments, const std::string &input = "", const Process::Environment &environment = {});

} // namespace shmbloom::test
