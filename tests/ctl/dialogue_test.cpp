// A new user's first hour, typed into a shell on a terminal of its own and compared with a transcript, letter for
// letter. To see what changed on purpose: SHMBLOOM_WRITE_TRANSCRIPT=1 writes dialogue.txt anew.
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <poll.h>
#include <pty.h>
#include <regex>
#include <stdexcept>
#include <sys/wait.h>

#include "operator.h"

namespace shmbloom::test {
namespace {

// A shell with the tool in its PATH, on a terminal of 80 columns. It shows "$ " when it waits.
class Shell {
  public:
    explicit Shell(const std::map<std::string, std::string> &environment) {
        winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
        pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
        if (pid_ < 0)
            throw std::runtime_error{"no terminal"};
        if (pid_ == 0) {
            for (const auto &[name, value] : environment)
                ::setenv(name.c_str(), value.c_str(), 1);
            ::execl("/bin/dash", "dash", "-i", nullptr);
            ::_exit(127);
        }
        read_to_prompt();
    }
    ~Shell() {
        ::kill(pid_, SIGKILL);
        ::close(terminal_);
        ::waitpid(pid_, nullptr, 0);
    }
    Shell(const Shell &) = delete;
    Shell &operator=(const Shell &) = delete;

    void type(const std::string &line) {
        const std::string text = line + "\n";
        if (::write(terminal_, text.data(), text.size()) < 0)
            throw std::runtime_error{"the shell is gone"};
        read_to_prompt();
    }
    const std::string &shown() const { return shown_; }

  private:
    void read_to_prompt() {
        const std::size_t from = shown_.size();
        do {
            pollfd ready{terminal_, POLLIN, 0};
            char buffer[4096];
            if (::poll(&ready, 1, 60000) <= 0)
                throw std::runtime_error{"no prompt after: " + shown_};
            const ssize_t n = ::read(terminal_, buffer, sizeof buffer);
            if (n <= 0)
                throw std::runtime_error{"the shell ended after: " + shown_};
            shown_.append(buffer, static_cast<std::size_t>(n));
        } while (shown_.size() < from + 2 || !shown_.ends_with("$ ") ||
                 (shown_.size() > 2 && shown_[shown_.size() - 3] != '\n'));
    }

    int terminal_ = -1;
    pid_t pid_ = -1;
    std::string shown_;
};

// What differs from run to run, by fixed marks. Ages and counts of the machine are no longer than these.
std::string with_marks(std::string text, const std::string &folder) {
    const std::pair<const char *, const char *> marks[] = {
        {R"(\r\n)", "\n"},
        {R"([^\n]*\r\x1b\[K)", ""}, // a bar that was shown and wiped
        {R"(pid \d+)", "pid PID"},
        {R"(heartbeat \d+(\.\d+)? (s|min))", "heartbeat AGE"},
        {R"(stopped \d+(\.\d+)? s ago)", "stopped AGE ago"},
        {R"(for \d+ (s|min))", "for AGE"},
        {R"(hash         [0-9a-f]{16} in hash domain [0-9a-f]{16})", "hash         HASH in hash domain DOMAIN"},
        {R"((block        )\d+( of \d+))", "$1BLOCK$2"},
        {R"((word         )\d+(: is )[0-9a-f]{16}(, asked for )[0-9a-f]{16})", "$1WORD$2VALUE$3MASK"},
        // Estimates are the daemon's, made once a second.
        {R"(\d+ of 20\.0 k keys \([0-9.]+ %\), rate (< )?[0-9.e-]+ % now)", "KEYS of 20.0 k keys, rate FPR now"},
        {R"(\((< )?[0-9.e-]+ % of all others now\))", "(FPR of all others now)"},
        {R"(added [0-9-]{10} [0-9:]{8} UTC)", "added TIME"},
        {R"(mapped by \d+ process(es)?(; \d+ others? could not be looked at \(root can\))?)", "mapped by PROCESSES"},
        {R"(but [^;]* has \d+ MiB \(\d+ bytes\))", "but ROOM has SIZE"},
    };
    for (const auto &[pattern, mark] : marks)
        text = std::regex_replace(text, std::regex{pattern}, mark);
    for (std::size_t at; (at = text.find(folder)) != std::string::npos;)
        text.replace(at, folder.size(), "FOLDER");
    return text;
}

TEST_F(Operator, ADialogueIsAsItsTranscriptSays) {
    // The folder's name always has the same length, since lines are wrapped.
    char folder[] = "/tmp/dialogue.XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    const std::string run_dir = std::string{folder} + "/run", state_dir = std::string{folder} + "/state";
    std::filesystem::create_directory_symlink(instance.runtime_dir(), run_dir);
    std::ofstream{std::string{folder} + "/ids"} << "abc\ndef\nghi\n";
    {
        Shell shell{{{"PATH", std::string{SHMBLOOMCTL_DIR} + ":/usr/bin:/bin"},
                     {"SHMBLOOM_RUNTIME_DIR", run_dir},
                     {"HOME", folder},
                     {"PS1", "$ "},
                     {"NO_COLOR", "1"},
                     {"LC_ALL", "C"}}};
        shell.type("cd " + std::string{folder});
        shell.type("shmbloomctl staus");
        shell.type("shmbloomctl create links --capacity 20k");
        shell.type("shmbloomctl create links --capacity 20k --fpr 0.1%");
        shell.type("shmbloomctl create links --capacity 20k --fpr 0.1%");
        shell.type("shmbloomctl contains links abc");
        shell.type("shmbloomctl load links cat ids");
        shell.type("shmbloomctl load links");
        shell.type("cat ids | shmbloomctl load links -");
        shell.type("shmbloomctl status; echo $?");
        shell.type("shmbloomctl load links --exec -- cat id");
        shell.type("shmbloomctl load links --exec -- cat ids");
        shell.type("shmbloomctl contains links abc xyz; echo $?");
        shell.type("shmbloomctl contains link abc; echo $?");
        shell.type("shmbloomctl create tokens --capacity 1T --fpr 0.1%; echo $?");
        shell.type("shmbloomctl explain links abc; echo $?");
        shell.type("shmbloomctl explain links xyz; echo $?");
        shell.type("shmbloomctl pause links --reason 'just to see'; echo $?");
        shell.type("shmbloomctl status links; echo $?");
        shell.type("shmbloomctl resume links; echo $?");
        instance.kill();
        ASSERT_TRUE(eventually([&] { return instance.ctl({"status"}).code == 4; })); // no heartbeat for 3 s
        shell.type("shmbloomctl status; echo $?");
        shell.type("shmbloomctl add links jkl; echo $?");
        shell.type("shmbloomctl contains links abc; echo $?");
        shell.type("shmbloomctl create more --capacity 1k --fpr 1%; echo $?");
        const std::string shown = with_marks(shell.shown(), folder);
        if (std::getenv("SHMBLOOM_WRITE_TRANSCRIPT") != nullptr)
            std::ofstream{TRANSCRIPT_PATH} << shown;
        std::ifstream file{TRANSCRIPT_PATH};
        EXPECT_EQ(shown, (std::string{std::istreambuf_iterator<char>{file}, {}}));
    }
    std::filesystem::remove_all(folder);
}

} // namespace
} // namespace shmbloom::test
