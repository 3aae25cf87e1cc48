#include "service/options.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "sys/os_error.h"
#include "temp_folder.h"

namespace shmbloom {
namespace {

using Arguments = std::vector<std::string>;

std::optional<Options> parse(const Arguments &arguments) {
    std::vector<const char *> argv{"shmbloomd"};
    for (const std::string &argument : arguments)
        argv.push_back(argument.c_str());
    return parse_options(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(const Arguments &arguments) {
    try {
        parse(arguments);
    } catch (const Refusal &error) {
        return error.what();
    }
    return "";
}

class OptionsTest : public testing::Test {
  protected:
    OptionsTest() {
        for (const char *name : {"SHMBLOOM_RUNTIME_DIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"})
            ::unsetenv(name);
    }

    std::string config(const std::string &text) {
        std::ofstream{folder / "config"} << text;
        return folder / "config";
    }

    const test::TempFolder folder;
};

TEST_F(OptionsTest, HaveDefaults) {
    const auto options = parse({}).value();
    EXPECT_EQ(options.instance, "default");
    EXPECT_EQ(options.seed_file, "");
    EXPECT_FALSE(options.init);
    EXPECT_FALSE(options.admin_group);
    EXPECT_EQ(options.shm_reserve_bytes, 256u << 20);
    EXPECT_EQ(options.max_input_memory_bytes, 256u << 20);
    EXPECT_EQ(options.journal_retention.seconds, 3600u);
    EXPECT_EQ(options.journal_retention.limit_bytes, std::uint64_t{4} << 30);
    EXPECT_EQ(options.log_level, log::Level::info);
}

TEST_F(OptionsTest, AreTakenFromTheCommandLine) {
    const auto options =
        parse({"--instance", "eu-1", "--runtime-dir=/r", "--state-dir", "/s", "--seed-file", "/seed", "--init",
               "--admin-group", "root", "--shm-reserve", "1GiB", "--max-input-memory", "1MiB", "--log-level", "debug",
               "--journal-retention", "0", "--journal-limit", "1MiB"})
            .value();
    EXPECT_EQ(options.instance, "eu-1");
    EXPECT_EQ(options.runtime_dir, "/r");
    EXPECT_EQ(options.state_dir, "/s");
    EXPECT_EQ(options.seed_file, "/seed");
    EXPECT_TRUE(options.init);
    EXPECT_EQ(options.admin_group, gid_t{0});
    EXPECT_EQ(options.shm_reserve_bytes, 1u << 30);
    EXPECT_EQ(options.max_input_memory_bytes, 1u << 20);
    EXPECT_EQ(options.journal_retention.seconds, 0u);
    EXPECT_EQ(options.journal_retention.limit_bytes, 1u << 20);
    EXPECT_EQ(options.log_level, log::Level::debug);
}

TEST_F(OptionsTest, OfTheCommandLineWinOverTheConfigFile) {
    const std::string path = config("# of this machine\ninstance=file\nshm-reserve = 1MiB\ninit=true\n");
    const auto options = parse({"--instance", "line", "--config", path}).value();
    EXPECT_EQ(options.instance, "line");
    EXPECT_EQ(options.shm_reserve_bytes, 1u << 20);
    EXPECT_TRUE(options.init);
}

TEST_F(OptionsTest, HelpAndVersionStartNothing) {
    testing::internal::CaptureStdout();
    EXPECT_FALSE(parse({"--help"}));
    EXPECT_FALSE(parse({"--version"}));
    const std::string text = testing::internal::GetCapturedStdout();
    for (const char *option : {"--instance", "--runtime-dir", "--state-dir", "--seed-file", "--init", "--admin-group",
                               "--shm-reserve", "--max-input-memory", "--log-level", "--config", "--journal-retention",
                               "--journal-limit"})
        EXPECT_NE(text.find(option), std::string::npos) << option;
    EXPECT_NE(text.find("shmbloomd 0."), std::string::npos);
}

TEST_F(OptionsTest, FindFoldersInTheEnvironment) {
    ::setenv("SHMBLOOM_RUNTIME_DIR", "/somewhere", 1);
    EXPECT_EQ(parse({}).value().runtime_dir, "/somewhere");
    EXPECT_EQ(parse({"--runtime-dir", "/else"}).value().runtime_dir, "/else");
    ::unsetenv("SHMBLOOM_RUNTIME_DIR");
    if (::geteuid() == 0) {
        EXPECT_EQ(parse({"--instance", "i"}).value().runtime_dir, "/run/shmbloom/i");
        EXPECT_EQ(parse({"--instance", "i"}).value().state_dir, "/var/lib/shmbloom/i");
        return;
    }
    ::setenv("XDG_RUNTIME_DIR", "/x", 1);
    ::setenv("XDG_STATE_HOME", "/y", 1);
    EXPECT_EQ(parse({"--instance", "test-of-options"}).value().runtime_dir, "/x/shmbloom/test-of-options");
    EXPECT_EQ(parse({"--instance", "test-of-options"}).value().state_dir, "/y/shmbloom/test-of-options");
}

// ---- each bad value: what was wrong, what is allowed ----

TEST_F(OptionsTest, BadInstanceSaysWhatIsAllowed) {
    EXPECT_EQ(refusal({"--instance", "a/b"}), "--instance 'a/b' is not allowed: 1 to 32 characters of A-Z a-z 0-9 _ -");
    EXPECT_NE(refusal({"--instance", ""}), "");
    EXPECT_NE(refusal({"--instance", std::string(33, 'x')}), "");
}

TEST_F(OptionsTest, EmptyFolderIsRefused) {
    EXPECT_EQ(refusal({"--runtime-dir", "", "--state-dir", "/s"}),
              "--runtime-dir and --state-dir need the path of a folder");
    EXPECT_EQ(refusal({"--runtime-dir", "/r", "--state-dir", ""}),
              "--runtime-dir and --state-dir need the path of a folder");
    EXPECT_NE(refusal({"--runtime-dir", "/r", "--state-dir="}), "");
}

TEST_F(OptionsTest, BadSizeSaysWhatASizeIs) {
    const std::string allowed =
        "' is not a size; allowed: a number of bytes, or with KiB, MiB, GiB, kB, MB, GB behind it, as in 256MiB";
    EXPECT_EQ(refusal({"--shm-reserve", "much"}), "--shm-reserve 'much" + allowed);
    EXPECT_EQ(refusal({"--shm-reserve", "-1"}), "--shm-reserve '-1" + allowed);
    EXPECT_EQ(refusal({"--max-input-memory", "1 GiB"}), "--max-input-memory '1 GiB" + allowed);
    EXPECT_EQ(refusal({"--max-input-memory", "1023KiB"}), "--max-input-memory must be at least 1MiB");
    EXPECT_EQ(refusal({"--journal-limit", "1h"}), "--journal-limit '1h" + allowed);
}

TEST_F(OptionsTest, BadRetentionSaysWhatIsAllowed) {
    for (const std::string value : {"1h", "-1", "", "4294967296"})
        EXPECT_EQ(refusal({"--journal-retention", value}),
                  "--journal-retention '" + value + "' is not a whole number of seconds, 0 to 4294967295");
    EXPECT_EQ(parse({"--journal-retention", "4294967295"}).value().journal_retention.seconds, UINT32_MAX);
}

TEST_F(OptionsTest, UnknownGroupSaysHowToMakeIt) {
    EXPECT_EQ(refusal({"--admin-group", "no-such-group"}),
              "--admin-group 'no-such-group' is not a group of this machine; make it with "
              "'groupadd --system no-such-group', or name another");
}

TEST_F(OptionsTest, UnknownLogLevelNamesTheLevels) {
    EXPECT_EQ(refusal({"--log-level", "loud"}),
              "--log-level 'loud' is not one of critical, error, warning, info, debug");
}

TEST_F(OptionsTest, BadCountIsRefused) {
    for (const char *text : {"-1", "often", "", "1e3", "18446744073709551616"})
        EXPECT_NE(refusal({std::string{"--pause-on-wrong-absent="} + text}).find("pause-on-wrong-absent"),
                  std::string::npos)
            << text;
}

TEST_F(OptionsTest, UnknownOptionPointsToTheHelp) {
    for (const Arguments &arguments : {Arguments{"--no-such"}, Arguments{"--inst", "x"}, Arguments{"--instance"},
                                       Arguments{"word"}, Arguments{"--instance", "a", "--instance", "b"}})
        EXPECT_NE(refusal(arguments).find("'shmbloomd --help' shows what is allowed"), std::string::npos)
            << arguments[0];
}

TEST_F(OptionsTest, BadConfigFileIsRefused) {
    EXPECT_EQ(refusal({"--config", folder / "none"}), "--config '" + (folder / "none") + "' cannot be read");
    EXPECT_EQ(refusal({"--config", folder.path()}), "--config '" + folder.path() + "' cannot be read");
    EXPECT_NE(refusal({"--config", config("no-such=1\n")}).find("no-such"), std::string::npos);
    EXPECT_NE(refusal({"--config", config("just words\n")}), "");
    EXPECT_NE(refusal({"--config", config("log-level=loud\n")}).find("'loud' is not one of"), std::string::npos);
}

} // namespace
} // namespace shmbloom
