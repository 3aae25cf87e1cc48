// The tool as it is typed: what it prints and its exit codes, against a real daemon.
#include <gtest/gtest.h>

#include <chrono>
#include <pty.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "instance.h"

namespace shmbloom::test {
namespace {

class Tool : public ::testing::Test {
  protected:
    void SetUp() override { instance.start(); }

    void create(const std::string &name, const std::vector<std::string> &more = {"--nothing-exists-yet"}) {
        std::vector<std::string> line{"create", name, "--capacity", "10k", "--fpr", "1e-4"};
        line.insert(line.end(), more.begin(), more.end());
        instance.must_ctl(line);
    }

    TestInstance instance;
};

bool says(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

// Runs `line` on a terminal of its own, types `input` once something was printed, returns code and what was shown.
Finished on_terminal(const std::vector<std::string> &line, const std::string &input) {
    int terminal = -1;
    const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (pid == 0) {
        std::vector<char *> argv;
        for (const std::string &word : line)
            argv.push_back(const_cast<char *>(word.c_str()));
        argv.push_back(nullptr);
        ::execv(argv[0], argv.data());
        ::_exit(127);
    }
    std::string shown;
    char buffer[4096];
    bool typed = false;
    for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) { // EIO once the other end is closed
        shown.append(buffer, static_cast<std::size_t>(n));
        if (!typed && !input.empty() && says(shown, "go on: "))
            typed = ::write(terminal, input.data(), input.size()) > 0;
    }
    ::close(terminal);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, shown, ""};
}

TEST_F(Tool, CreateSaysWhatWasMadeAndWhatToTypeNext) {
    const std::string made = instance.must_ctl({"create", "links", "--capacity", "2M", "--fpr", "0.1%"});
    EXPECT_TRUE(says(made, "created links: blocked, 3.78 MiB")) << made;
    EXPECT_TRUE(says(made, "warming")) << made;
    EXPECT_TRUE(says(made, "shmbloomctl --runtime-dir " + instance.runtime_dir() + " load links --exec -- CMD"))
        << made;
    const std::string live =
        instance.must_ctl({"create", "new", "--capacity", "1k", "--fpr", "1%", "--nothing-exists-yet"});
    EXPECT_TRUE(says(live, "live: it answers absent")) << live;
}

TEST_F(Tool, CreateIsRefusedWithTheCodeOfItsReason) {
    create("links");
    EXPECT_EQ(instance.ctl({"create", "links", "--capacity", "1k", "--fpr", "1%"}).code, 6);
    EXPECT_EQ(instance.ctl({"create", "other", "--capacity", "1k", "--fpr", "0.9"}).code, 3);
    EXPECT_EQ(instance.ctl({"create", "other", "--capacity", "1T", "--fpr", "0.1%"}).code, 10);
    EXPECT_EQ(
        instance.ctl({"create", "n", "--capacity", "1", "--fpr", "1%", "--key-type", "u64", "--normalize", "lower"})
            .code,
        3);
}

TEST_F(Tool, StatusOfOneFilterIsItsExitCode) {
    create("links");
    create("tokens", {});
    EXPECT_EQ(instance.ctl({"status", "links"}).code, 0);
    EXPECT_EQ(instance.ctl({"status", "tokens"}).code, 1);
    EXPECT_EQ(instance.ctl({"status", "none"}).code, 5);
    const Finished all = instance.ctl({"status"});
    EXPECT_EQ(all.code, 1);
    EXPECT_LT(all.output.find("tokens"), all.output.find("links")) << "worst first: " << all.output;
    EXPECT_TRUE(says(all.output, "durable: acknowledged adds outlive a power loss")) << all.output;
    instance.must_ctl({"drop", "tokens", "--yes"});
    EXPECT_EQ(instance.ctl({"status"}).code, 0);
}

TEST_F(Tool, StatusKnowsTheFiltersOfAKilledDaemon) {
    create("links");
    instance.kill();
    EXPECT_EQ(instance.ctl({"status", "links"}).code, 0) << "a filter lives without the daemon";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    Finished status = instance.ctl({"status"});
    while (status.code != 4 && std::chrono::steady_clock::now() < deadline) // its last heartbeat is up to 3 s old
        status = instance.ctl({"status"});
    EXPECT_EQ(status.code, 4);
    EXPECT_TRUE(says(status.output, "daemon not running, heartbeat stopped")) << status.output;
    EXPECT_TRUE(says(status.output, "links     LIVE")) << status.output;
    EXPECT_EQ(instance.ctl({"create", "x", "--capacity", "1", "--fpr", "1%"}).code, 4);
}

TEST_F(Tool, StatusJsonAgreesWithWhatWasAskedFor) {
    create("links", {"--nothing-exists-yet", "--normalize", "trim,lower", "--layout", "classic"});
    instance.must_ctl({"add", "links", "a", "b", "a"});
    const auto links = nlohmann::json::parse(instance.ctl({"status", "links", "--json"}).output);
    EXPECT_EQ(links["schema"], 1);
    EXPECT_EQ(links["live"], true);
    EXPECT_EQ(links["layout"], "classic");
    EXPECT_EQ(links["capacity"], 10'000);
    EXPECT_EQ(links["fpr"], 1e-4);
    EXPECT_EQ(links["normalize"], "trim,lower");
    EXPECT_EQ(links["durability"], "durable");
    EXPECT_EQ(links["hash_domain"].get<std::string>().size(), 16u);
    EXPECT_TRUE(links["live_since"].is_number());
    const auto all = nlohmann::json::parse(instance.ctl({"status", "--json"}).output);
    EXPECT_EQ(all["daemon"]["running"], true);
    EXPECT_EQ(all["filters"][0]["name"], "links");
}

TEST_F(Tool, StatusWithoutAnyDaemonEndsWith4) {
    TestInstance none;
    EXPECT_EQ(none.ctl({"status"}).code, 4);
    const Finished json = none.ctl({"status", "--json"});
    EXPECT_EQ(json.code, 4);
    EXPECT_EQ(nlohmann::json::parse(json.output)["daemon"]["running"], false);
    EXPECT_EQ(none.ctl({"contains", "links", "a"}).code, 4);
}

TEST_F(Tool, ContainsEndsWithTheWorstAnswer) {
    create("links");
    create("tokens", {});
    instance.must_ctl({"add", "links", "there"});
    const Finished both = instance.ctl({"contains", "links", "there", "missing"});
    EXPECT_EQ(both.output, "there\tmaybe\nmissing\tabsent\n");
    EXPECT_EQ(both.code, 1);
    EXPECT_EQ(instance.ctl({"contains", "links", "there"}).code, 0);
    EXPECT_EQ(instance.ctl({"contains", "tokens", "there"}).code, 2);
    EXPECT_EQ(instance.ctl({"contains", "none", "there"}).code, 5);
    EXPECT_EQ(instance.ctl({"contains", "links", "-"}, "there\n\nmissing").output, "there\tmaybe\nmissing\tabsent\n");
}

TEST_F(Tool, ContainsWorksWithoutTheDaemonAddSaysWhyNot) {
    create("links");
    instance.must_ctl({"add", "links", "there"});
    instance.kill();
    EXPECT_EQ(instance.ctl({"contains", "links", "there"}).output, "there\tmaybe\n");
    const Finished add = instance.ctl({"add", "links", "late"});
    EXPECT_EQ(add.code, 4);
    EXPECT_TRUE(says(add.output, "late\tnot added: ")) << add.output;
}

TEST_F(Tool, AddTellsNewKeysFromOthers) {
    create("links");
    const Finished add = instance.ctl({"add", "links", "a", "b"});
    EXPECT_EQ(add.output, "a\tabsent\nb\tabsent\n");
    EXPECT_EQ(add.code, 0);
    EXPECT_EQ(instance.ctl({"add", "links", "-"}, "a\nc\n").output, "a\tmaybe\nc\tabsent\n");
    create("tokens", {});
    const Finished warming = instance.ctl({"add", "tokens", "a"});
    EXPECT_EQ(warming.output, "a\tunverified\n");
    EXPECT_EQ(warming.code, 0) << "acknowledged all the same";
}

TEST_F(Tool, AddGoesOnBehindAKeyThatIsNotValid) {
    create("numbers", {"--nothing-exists-yet", "--key-type", "u64"});
    const Finished add = instance.ctl({"add", "numbers", "7", "x", "8"});
    EXPECT_EQ(add.code, 3);
    EXPECT_TRUE(add.output.starts_with("7\tabsent\nx\tnot added: \"x\" is not a u64")) << add.output;
    EXPECT_TRUE(add.output.ends_with("8\tabsent\n")) << add.output;
    EXPECT_EQ(instance.ctl({"contains", "numbers", "007", "8"}).output, "007\tmaybe\n8\tmaybe\n");
    const Finished contains = instance.ctl({"contains", "numbers", "7", "-1"});
    EXPECT_EQ(contains.code, 3) << "-1 is an option here, and no number behind --";
    EXPECT_EQ(instance.ctl({"contains", "numbers", "7", "--", "-1"}).output, "");
}

TEST_F(Tool, DropNeedsYesWithoutATerminal) {
    create("links");
    EXPECT_EQ(instance.ctl({"drop", "links"}, "links\n").code, 3);
    EXPECT_EQ(instance.ctl({"status", "links"}).code, 0);
    EXPECT_EQ(instance.ctl({"drop", "links", "--yes"}).code, 0);
    EXPECT_EQ(instance.ctl({"drop", "links", "--yes"}).code, 5);
}

TEST_F(Tool, DropAsksForTheNameOnATerminal) {
    create("links");
    const std::vector<std::string> line{SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "drop", "links"};
    const Finished wrong = on_terminal(line, "linsk\n");
    EXPECT_EQ(wrong.code, 6) << wrong.output;
    EXPECT_EQ(instance.ctl({"status", "links"}).code, 0);
    EXPECT_EQ(on_terminal(line, "links\n").code, 0);
    EXPECT_EQ(instance.ctl({"status", "links"}).code, 5);
}

TEST_F(Tool, OutputThatCannotBeWrittenIsNoSuccess) {
    create("links");
    const std::string script =
        std::string{SHMBLOOMCTL_PATH} + " --runtime-dir " + instance.runtime_dir() + " add links a > /dev/full";
    EXPECT_EQ(run({"/bin/sh", "-c", script}).code, 10);
}

} // namespace
} // namespace shmbloom::test
