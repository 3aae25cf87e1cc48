// live, wait, verify and forget-readers against a real daemon.
#include <fstream>
#include <pty.h>
#include <sys/wait.h>

#include "operator.h"

namespace shmbloom::test {
namespace {

TEST_F(Operator, LiveShowsWhatThereIsAndWantsTheExpectedKeys) {
    create("tokens", {});
    EXPECT_EQ(load("tokens", "seq 500; exit 1").code, 8);
    const Finished refused = operate({"live", "tokens", "--expect-at-least", "1000"});
    EXPECT_EQ(refused.code, 6);
    EXPECT_TRUE(says(refused.output, "tokens is warming, with about ")) << refused.output;
    EXPECT_TRUE(says(refused.log, "RANGE: ")) << refused.log;
    EXPECT_EQ(doubts("tokens"), "warming");
    const auto live = object({"live", "tokens", "--expect-at-least", "450"}, 0);
    EXPECT_EQ(live.at("doubts_before"), nlohmann::json::array({"warming"}));
    EXPECT_EQ(live.at("live"), true);
    EXPECT_EQ(operate({"live", "none", "--expect-at-least", "1"}).code, 5);
}

TEST_F(Operator, LiveEndsLossyOnlyByForce) {
    create_in_memory("links");
    instance.kill();
    instance.remove_segments();
    instance.start();
    EXPECT_EQ(doubts("links"), "lossy");
    EXPECT_EQ(operate({"live", "links", "--expect-at-least", "1"}).code, 6);
    EXPECT_EQ(operate({"live", "links", "--force-incomplete"}).code, 0) << "no terminal, nobody to ask";
    EXPECT_EQ(doubts("links"), "");
}

TEST_F(Operator, LiveByForceAsksForTheNameOnATerminal) {
    create("tokens", {});
    for (const auto &[typed, code] : {std::pair{"tokn\n", 6}, {"tokens\n", 0}}) {
        int terminal = -1;
        std::vector<char *> argv;
        auto words = line({"live", "tokens", "--force-incomplete"});
        for (std::string &word : words)
            argv.push_back(word.data());
        argv.push_back(nullptr);
        const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
        if (pid == 0) {
            ::execv(argv[0], argv.data());
            ::_exit(127);
        }
        std::string shown;
        char buffer[1024];
        bool told = false;
        for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) { // EIO once the other end is closed
            shown.append(buffer, static_cast<std::size_t>(n));
            if (!told && says(shown, "go on: "))
                told = ::write(terminal, typed, std::char_traits<char>::length(typed)) > 0;
        }
        ::close(terminal);
        int status = 0;
        ::waitpid(pid, &status, 0);
        EXPECT_EQ(WEXITSTATUS(status), code) << shown;
    }
    EXPECT_EQ(doubts("tokens"), "");
}

TEST_F(Operator, WaitEndsWhenTheFilterBecomesLive) {
    Process wait{line({"wait", "tokens", "--timeout", "2m"}), with_shmbloomd()};
    create("tokens", {}); // it did not exist when the wait began
    EXPECT_EQ(load("tokens", "seq 100").code, 0);
    EXPECT_EQ(wait.wait().code, 0) << wait.log();
    EXPECT_EQ(wait.rest_of_output(), "tokens is live\n");
}

TEST_F(Operator, WaitEndsWith7WhenItDoesNot) {
    create("tokens", {});
    const auto waited = object({"wait", "tokens", "--timeout", "1"}, 7);
    EXPECT_EQ(waited.at("doubts"), nlohmann::json::array({"warming"}));
    EXPECT_GE(waited.at("waited_ms"), 1000);
    EXPECT_EQ(waited.at("word"), "TIMEOUT");
    EXPECT_EQ(operate({"wait", "none", "--timeout", "0"}).code, 7);
    TestInstance none;
    EXPECT_EQ(none.ctl({"wait", "links", "--timeout", "0"}).code, 7) << "a daemon may still come";
}

TEST_F(Operator, VerifyCountsWhatIsMissingAndRepairAddsIt) {
    create("links");
    ASSERT_EQ(operate({"add", "links", "-"}, "1\n2\n3\n4\n5\n").code, 0);
    EXPECT_EQ(operate({"verify", "links", "--exec", "--", "seq", "5"}).code, 0);
    const Finished missing = operate({"verify", "links", "--exec", "--", "seq", "1000", "1029"});
    EXPECT_EQ(missing.code, 1);
    EXPECT_TRUE(missing.output.starts_with("absent \"1000\"\n")) << missing.output;
    EXPECT_TRUE(says(missing.output, "absent \"1019\"\n... and 10 more\nchecked 30, absent 30, unverified 0\n"))
        << missing.output;
    const auto repaired = object({"verify", "links", "--repair", "--exec", "--", "seq", "1000", "1029"}, 0);
    EXPECT_EQ(repaired.at("checked"), 30);
    EXPECT_EQ(repaired.at("repaired"), 30);
    EXPECT_EQ(repaired.at("first_absent").size(), 20u);
    EXPECT_EQ(operate({"verify", "links", "--exec", "--", "seq", "1000", "1029"}).code, 0);
}

TEST_F(Operator, VerifyBelievesNoSourceThatFailed) {
    create("links");
    ASSERT_EQ(operate({"add", "links", "-"}, "1\n2\n3\n").code, 0);
    EXPECT_EQ(operate({"verify", "links", "--exec", "--", "sh", "-c", "seq 3; exit 1"}).code, 8);
    EXPECT_EQ(operate({"verify", "links", "/nowhere"}).code, 8);
    EXPECT_EQ(object({"verify", "links", "--exec", "--", "true"}, 6).at("word"), "NOKEYS");
    const Finished pipe = operate({"verify", "links", "-"}, "1\n2\n");
    EXPECT_EQ(pipe.code, 0);
    EXPECT_TRUE(says(pipe.log, "the end of a pipe")) << pipe.log;
    EXPECT_EQ(operate({"verify", "links", "-", "--expect-at-least", "3"}, "1\n2\n").code, 6);
    EXPECT_EQ(operate({"verify", "links", "-"}, "1\r\n").code, 6) << "a stray carriage return";
}

TEST_F(Operator, VerifyOfAFilterInDoubtEndsWith2) {
    create("tokens", {});
    const Finished verify = operate({"verify", "tokens", "--exec", "--", "seq", "7"});
    EXPECT_EQ(verify.code, 2);
    EXPECT_TRUE(says(verify.output, "checked 7, absent 0, unverified 7")) << verify.output;
}

TEST_F(Operator, ForgetReadersTakesAddsAgain) {
    for (const bool dead : {false, true}) {
        SCOPED_TRACE(dead ? "daemon dead" : "daemon running");
        const std::string name = dead ? "tokens" : "links";
        create(name);
        instance.kill();
        std::filesystem::remove(instance.runtime_dir() + "/control");
        instance.remove_segments();
        instance.start();
        EXPECT_EQ(operate({"add", name, "a"}).code, 6);
        EXPECT_TRUE(says(operate({"status", name}).output, "forget-readers " + name));
        if (dead)
            instance.kill();
        EXPECT_EQ(object({"forget-readers", name}, 0).at("done_by"), dead ? "once" : "daemon");
        if (dead)
            instance.start();
        EXPECT_EQ(operate({"add", name, "a"}).code, 0);
        EXPECT_EQ(operate({"forget-readers", "none"}).code, 5);
        instance.must_ctl({"forget-readers", "--all"});
    }
}

TEST_F(Operator, EveryVerbPrintsOneObjectWithJson) {
    create("links");
    create("tokens", {});
    std::ofstream{instance.folder() / "ids"} << "1\n2\n";
    const std::vector<std::vector<std::string>> lines{{"create", "x", "--capacity", "1k", "--fpr", "1%"},
                                                      {"load", "tokens", instance.folder() / "ids"},
                                                      {"contains", "tokens", "1"},
                                                      {"add", "links", "1"},
                                                      {"live", "x", "--force-incomplete"},
                                                      {"pause", "links"},
                                                      {"resume", "links"},
                                                      {"status"},
                                                      {"status", "links"},
                                                      {"wait", "links"},
                                                      {"verify", "tokens", instance.folder() / "ids"},
                                                      {"explain", "links", "1"},
                                                      {"forget-readers", "--all"},
                                                      {"self-test"},
                                                      {"plan", "--capacity", "1M", "--fpr", "1%"},
                                                      {"drop", "x", "--yes"},
                                                      {"help"},
                                                      {"help", "load"}};
    for (const auto &arguments : lines) {
        SCOPED_TRACE(arguments[0]);
        const auto json = object(arguments, 0);
        ASSERT_TRUE(json.is_object());
        EXPECT_EQ(json.at("schema"), 1);
        EXPECT_TRUE(json.at("error").is_null()) << json;
    }
    for (const auto &arguments : {std::vector<std::string>{"drop", "none", "--yes"},
                                  {"explain", "none", "1"},
                                  {"load", "none", "-"},
                                  {"verify", "none", "-"},
                                  {"add", "none", "1"}}) {
        SCOPED_TRACE(arguments[0]);
        const auto json = object(arguments, 5);
        EXPECT_EQ(json.at("word"), "NOTFOUND");
        EXPECT_TRUE(json.at("error").is_string());
    }
}

} // namespace
} // namespace shmbloom::test
