// `load` as it is typed: which sources make a filter live, and that no other does.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sys/stat.h>

#include "instance.h"

namespace shmbloom::test {
namespace {

class ToolLoad : public ::testing::Test {
  protected:
    void SetUp() override {
        instance.start();
        create("links", {});
    }

    void create(const std::string &name, const std::vector<std::string> &more) {
        std::vector<std::string> line{"create", name, "--capacity", "2M", "--fpr", "1e-3"};
        line.insert(line.end(), more.begin(), more.end());
        instance.must_ctl(line);
    }

    std::string file(const std::string &text) {
        const std::string path = instance.folder() / "ids";
        std::ofstream{path, std::ios::binary} << text;
        return path;
    }

    Finished exec(const std::string &script, std::vector<std::string> more = {}) {
        std::vector<std::string> line{"load", "links"};
        line.insert(line.end(), more.begin(), more.end());
        line.insert(line.end(), {"--exec", "--", "sh", "-c", script});
        return instance.ctl(line);
    }

    bool is_live(const std::string &name = "links") { return instance.ctl({"status", name}).code == 0; }

    TestInstance instance;
};

bool says(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

TEST_F(ToolLoad, ACommandThatEndsWellMakesTheFilterLive) {
    const Finished load = exec("seq 1000000");
    EXPECT_EQ(load.code, 0) << load.log;
    EXPECT_TRUE(says(load.output, R"(first keys as hashed: "1", "2", "3")")) << load.output;
    EXPECT_TRUE(says(load.output, "lines 1000000, empty 0, ")) << load.output;
    EXPECT_TRUE(says(load.output, "shortest 1, longest 7")) << load.output;
    EXPECT_TRUE(is_live());
    Worker worker = instance.worker();
    worker.open("links");
    EXPECT_EQ(worker.count("number", 1, 1'000'000).maybe, 1'000'000u);
    EXPECT_GE(worker.count("number", 2'000'000, 100'000).absent, 99'700u);
}

TEST_F(ToolLoad, ACommandThatFailsOrIsKilledDoesNot) {
    for (const char *script : {"echo a; exit 3", "echo a; kill -9 $$"}) {
        const Finished load = exec(script);
        EXPECT_EQ(load.code, 8);
        EXPECT_TRUE(says(load.log, "'links' stays as it was")) << load.log;
        EXPECT_FALSE(is_live());
    }
    EXPECT_EQ(instance.ctl({"load", "links", "--exec", "--", "/nonexistent"}).code, 8);
    EXPECT_FALSE(is_live());
}

TEST_F(ToolLoad, ZeroKeysNeverDo) {
    EXPECT_EQ(exec("true").code, 6);
    EXPECT_EQ(exec("echo; echo").code, 6);
    EXPECT_EQ(instance.ctl({"load", "links", file("")}).code, 6);
    EXPECT_EQ(instance.ctl({"load", "links", "/dev/null"}).code, 6);
    EXPECT_FALSE(is_live());
}

TEST_F(ToolLoad, TheEndOfAPipeProvesNothingWithoutANumber) {
    const Finished load = instance.ctl({"load", "links", "-"}, "a\nb\n");
    EXPECT_EQ(load.code, 6);
    EXPECT_TRUE(says(load.log, "load links - --expect-at-least")) << load.log;
    EXPECT_FALSE(is_live());
    EXPECT_EQ(instance.ctl({"load", "links", "-", "--expect-at-least", "3"}, "a\nb\n").code, 6);
    EXPECT_FALSE(is_live());
    EXPECT_EQ(instance.ctl({"load", "links", "-", "--expect-at-least", "2"}, "a\nb\n").code, 0);
    EXPECT_TRUE(is_live());
    EXPECT_EQ(instance.ctl({"contains", "links", "a", "b"}).code, 0);
}

TEST_F(ToolLoad, APipeThatLooksLikeAFileIsStillAPipe) {
    const std::string tool = std::string{SHMBLOOMCTL_PATH} + " --runtime-dir " + instance.runtime_dir();
    EXPECT_EQ(run({"/bin/bash", "-c", tool + " load links <(echo a)"}).code, 6);
    EXPECT_FALSE(is_live());
}

TEST_F(ToolLoad, AFileThatWasReadWholeDoes) {
    EXPECT_EQ(instance.ctl({"load", "links", file("a\n\nb\nlast")}).code, 0);
    EXPECT_EQ(instance.ctl({"contains", "links", "a", "b", "last"}).code, 0);
    EXPECT_EQ(instance.ctl({"load", "links", "/nonexistent/ids"}).code, 8);
    EXPECT_EQ(instance.ctl({"load", "links", instance.runtime_dir()}).code, 8);
}

TEST_F(ToolLoad, NulSeparatedKeysMayHoldLineFeeds) {
    using namespace std::string_literals;
    EXPECT_EQ(instance.ctl({"load", "links", "-0", file("a\nb\0c\0"s)}).code, 0);
    EXPECT_EQ(instance.ctl({"contains", "links", "a\nb", "c"}).code, 0);
}

TEST_F(ToolLoad, CarriageReturnsAndOuterBlanksAreRefusedUnlessAskedFor) {
    for (const char *text : {"ok\na\r\n", "ok\n a\n", "ok\na\t\n"}) {
        const Finished load = instance.ctl({"load", "links", file(text)});
        EXPECT_EQ(load.code, 6);
        EXPECT_TRUE(says(load.log, "line 2: ")) << load.log;
        EXPECT_FALSE(is_live());
    }
    EXPECT_EQ(instance.ctl({"load", "links", file("a\r\n"), "--keep-blanks"}).code, 0);
    EXPECT_EQ(instance.ctl({"contains", "links", "a\r", "a"}).output, "a\r\tmaybe\na\tabsent\n");
    create("trimmed", {"--normalize", "trim"});
    EXPECT_EQ(instance.ctl({"load", "trimmed", file("a\r\n b \n  \n")}).code, 0);
    EXPECT_EQ(instance.ctl({"contains", "trimmed", "a", "b"}).code, 0);
}

TEST_F(ToolLoad, AKeyThatIsNotValidEndsItWithLineAndText) {
    create("numbers", {"--key-type", "u64"});
    for (const char *bad : {"x", "-1", "1.0", " 2", "18446744073709551616", "\"3\""}) {
        const Finished load = instance.ctl({"load", "numbers", file("1\n" + std::string{bad} + "\n3\n")});
        EXPECT_EQ(load.code, 8) << bad;
        EXPECT_TRUE(says(load.log, "line 2: \"")) << load.log;
        EXPECT_FALSE(is_live("numbers"));
    }
    EXPECT_EQ(instance.ctl({"load", "numbers", file("1\n00022\n")}).code, 0);
    EXPECT_EQ(instance.ctl({"contains", "numbers", "22", "1"}).code, 0);
    EXPECT_EQ(instance.ctl({"load", "links", file("a\n" + std::string((1 << 20) + 1, 'k') + "\n")}).code, 8);
    EXPECT_FALSE(is_live());
}

TEST_F(ToolLoad, WithoutDaemonOrFilterNothingIsRun) {
    const std::string witness = instance.folder() / "ran";
    EXPECT_EQ(instance.ctl({"load", "none", "--exec", "--", "touch", witness}).code, 5);
    instance.kill();
    EXPECT_EQ(instance.ctl({"load", "links", "--exec", "--", "touch", witness}).code, 4);
    EXPECT_FALSE(std::filesystem::exists(witness));
}

TEST_F(ToolLoad, AnInterruptEndsTheCommandAndLeavesTheFilterAsItWas) {
    const std::string ids = instance.folder() / "pid";
    Process load{{SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "load", "links", "--exec", "--", "sh",
                  "-c", "echo $$ > " + ids + "; echo a; echo b; echo c; exec sleep 1000"}};
    ASSERT_TRUE(load.read_line()) << "the first keys are shown"; // so it reads, and handles signals
    load.signal(SIGINT);
    EXPECT_EQ(load.wait().code, 8);
    EXPECT_TRUE(says(load.log(), "interrupted")) << load.log();
    EXPECT_FALSE(is_live());
    pid_t pid = 0;
    ASSERT_TRUE(std::ifstream{ids} >> pid);
    EXPECT_EQ(::kill(pid, 0), -1) << "the command still runs";
}

TEST_F(ToolLoad, AnErrorInTheMiddleOfMillionsEndsIt) {
    const std::string tool = std::string{SHMBLOOMCTL_PATH} + " --runtime-dir " + instance.runtime_dir();
    const Finished load = exec("seq 1 300000; " + tool + " drop links --yes >&2; seq 300001 3000000");
    EXPECT_EQ(load.code, 5) << load.log;
    EXPECT_TRUE(says(load.log, "'links' stays as it was")) << load.log;
}

TEST_F(ToolLoad, ALoadThatOverlapsAnAbortedOneIsToBeDoneAgain) {
    const std::string go = instance.folder() / "go";
    ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
    Process slow{{SHMBLOOMCTL_PATH, "--runtime-dir", instance.runtime_dir(), "load", "links", "--exec", "--", "sh",
                  "-c", "echo a; echo b; echo c; read go < " + go}};
    ASSERT_TRUE(slow.read_line());
    EXPECT_EQ(exec("echo d; exit 1").code, 8);
    std::ofstream{go} << "go\n";
    EXPECT_EQ(slow.wait().code, 6);
    EXPECT_FALSE(is_live());
    EXPECT_EQ(exec("echo a").code, 0);
    EXPECT_TRUE(is_live());
}

} // namespace
} // namespace shmbloom::test
