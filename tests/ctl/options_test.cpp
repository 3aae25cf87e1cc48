#include "options.h"

#include <gtest/gtest.h>

using namespace shmbloom::ctl;

namespace {

template <class Options>
Options parsed(const std::vector<std::string> &line) {
    auto command = parse_command(line);
    if (const Failure *failure = failure_of(command))
        ADD_FAILURE() << failure->text;
    else if (const auto *options = std::get_if<Options>(&std::get<Command>(command).verb))
        return *options;
    else
        ADD_FAILURE() << "another verb";
    return {};
}

// The text of the refusal, "" when the line is accepted.
std::string refusal(const std::vector<std::string> &line) {
    auto command = parse_command(line);
    const Failure *failure = failure_of(command);
    if (failure == nullptr)
        return "";
    EXPECT_EQ(failure->code, Exit::usage);
    EXPECT_EQ(failure->text.find('\n'), std::string::npos) << failure->text;
    return failure->text;
}

bool says(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST(Options, CreateReadsItsNumbersAndWords) {
    const auto create =
        parsed<CreateOptions>({"create", "links", "--capacity", "100M", "--fpr=1%", "--layout", "classic",
                               "--normalize", "trim,lower", "--key-type", "bytes", "--nothing-exists-yet"});
    EXPECT_EQ(create.name, "links");
    EXPECT_EQ(create.capacity, 100'000'000u);
    EXPECT_EQ(create.fpr, 0.01);
    EXPECT_EQ(create.layout, "classic");
    EXPECT_EQ(create.normalize, "trim,lower");
    EXPECT_EQ(create.key_type, "bytes");
    EXPECT_TRUE(create.nothing_exists_yet);
    EXPECT_FALSE(parsed<CreateOptions>({"create", "l", "--capacity", "1", "--fpr", "0.1"}).nothing_exists_yet);
}

TEST(Options, CreateSaysWhatIsMissingOrAllowed) {
    EXPECT_TRUE(says(refusal({"create", "links", "--fpr", "1%"}), "--capacity is missing"));
    EXPECT_TRUE(says(refusal({"create", "links", "--capacity", "1e8"}), "--fpr is missing"));
    EXPECT_TRUE(says(refusal({"create", "links", "--capacity", "many", "--fpr", "1%"}), "100_000_000, 1e8 or 100M"));
    EXPECT_TRUE(
        says(refusal({"create", "l", "--capacity", "1", "--fpr", "1%", "--layout", "line"}), "auto classic blocked"));
    EXPECT_TRUE(
        says(refusal({"create", "l", "--capacity", "1", "--fpr", "1%", "--normalize", "trim,upper"}), "trim lower"));
    EXPECT_TRUE(
        says(refusal({"create", "l", "--capacity", "1", "--fpr", "1%", "--key-type", "bytes,u64"}), "bytes u64"));
}

TEST(Options, CreateTakesADurability) {
    const auto create = parsed<CreateOptions>({"create", "l", "--capacity", "1", "--fpr", "1%", "--durability", "logged"});
    EXPECT_EQ(create.durability, "logged");
    EXPECT_EQ(parsed<CreateOptions>({"create", "l", "--capacity", "1", "--fpr", "1%"}).durability, std::nullopt);
    EXPECT_TRUE(says(refusal({"create", "l", "--capacity", "1", "--fpr", "1%", "--durability", "safe"}),
                     "durable logged memory"));
}

TEST(Options, CreateTakesGrowthOrAWordForFull) {
    const std::vector<std::string> begin{"create", "l", "--capacity", "1k", "--fpr", "1%"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), begin.begin(), begin.end());
        return more;
    };
    EXPECT_FALSE(parsed<CreateOptions>(begin).growable);
    EXPECT_TRUE(parsed<CreateOptions>(with({"--growable"})).growable);
    EXPECT_EQ(parsed<CreateOptions>(with({"--growable"})).expansion, std::nullopt);
    EXPECT_TRUE(parsed<CreateOptions>(with({"--expansion", "4"})).growable);
    EXPECT_EQ(parsed<CreateOptions>(with({"--expansion", "4"})).expansion, 4u);
    EXPECT_EQ(parsed<CreateOptions>(with({"--when-full", "refuse"})).when_full, "refuse");
    EXPECT_TRUE(says(refusal(with({"--expansion", "1"})), "2 to 32768"));
    EXPECT_TRUE(says(refusal(with({"--when-full", "grow"})), "warn refuse"));
    EXPECT_TRUE(says(refusal(with({"--growable", "--when-full", "warn"})), "do not grow"));
}

TEST(Options, NamesAreCheckedBeforeAnyDaemonIsAsked) {
    EXPECT_EQ(refusal({"status", "A.z_0:9-"}), "");
    EXPECT_EQ(refusal({"status", std::string(64, 'x')}), "");
    EXPECT_TRUE(says(refusal({"status", std::string(65, 'x')}), "not a filter's name"));
    EXPECT_TRUE(says(refusal({"status", "a/b"}), "not a filter's name"));
    EXPECT_TRUE(says(refusal({"status", ""}), "not a filter's name"));
}

TEST(Options, GlobalOptionsStandAnywhere) {
    for (const auto &line : {std::vector<std::string>{"--instance", "a", "--runtime-dir", "/r", "status"},
                             {"status", "--runtime-dir=/r", "--instance=a"}}) {
        auto command = parse_command(line);
        ASSERT_EQ(failure_of(command), nullptr);
        EXPECT_EQ(std::get<Command>(command).where.instance, "a");
        EXPECT_EQ(std::get<Command>(command).where.runtime_dir, "/r");
    }
}

TEST(Options, UnknownVerbsAndOptionsAreRefusedWithWhatIsAllowed) {
    EXPECT_TRUE(says(refusal({}), "create, drop, load, rebuild, rollback, status, contains, add"));
    EXPECT_TRUE(says(refusal({"lod", "x"}), "create, drop, load, rebuild, rollback, status, contains, add"));
    EXPECT_TRUE(says(refusal({"drop", "x", "--force"}), "--yes"));
    EXPECT_TRUE(says(refusal({"status", "x", "--yes"}), "'status' has no option --yes; it has"));
    EXPECT_TRUE(says(refusal({"drop", "x", "--y"}), "--yes")) << "nothing is guessed from a beginning";
    EXPECT_TRUE(says(refusal({"drop", "x", "--yes", "--yes"}), "twice"));
    EXPECT_TRUE(says(refusal({"create", "x", "--fpr"}), "--fpr"));
    EXPECT_TRUE(says(refusal({"drop"}), "drop NAME"));
    EXPECT_TRUE(says(refusal({"status", "a", "b"}), "status [NAME]"));
}

TEST(Options, LoadTakesExactlyOneSource) {
    EXPECT_EQ(parsed<LoadOptions>({"load", "links", "ids.txt"}).file, "ids.txt");
    EXPECT_EQ(parsed<LoadOptions>({"load", "links", "-"}).file, "-");
    EXPECT_EQ(parsed<LoadOptions>({"load", "links", "--", "-"}).file, "./-");
    EXPECT_TRUE(says(refusal({"load", "links"}), "required"));
    EXPECT_TRUE(says(refusal({"load", "links", "a", "b"}), "load NAME"));
    EXPECT_TRUE(says(refusal({"load", "links", "--exec", "psql"}), "--exec -- CMD"));
    EXPECT_TRUE(says(refusal({"load", "links", "--exec", "--"}), "--exec -- CMD"));
    EXPECT_TRUE(says(refusal({"load", "links", "--", "psql", "-qAtc", "..."}), "only behind --exec --"));
    EXPECT_TRUE(says(refusal({"load", "links", "psql", "-qAtc", "..."}), "a command goes behind --exec --"));
    EXPECT_TRUE(says(refusal({"load", "links", "-", "--exec", "--", "psql"}), "--exec -- CMD"));
}

TEST(Options, LoadOfSeveralTakesACommandAndNoName) {
    const auto load = parsed<LoadOptions>({"load", "--all-doubted", "--exec", "--", "sh", "-c", "x"});
    EXPECT_EQ(load.which, LoadOptions::Which::doubted);
    EXPECT_EQ(load.name, "");
    EXPECT_EQ(parsed<LoadOptions>({"load", "--all", "--exec", "--", "x"}).which, LoadOptions::Which::all);
    EXPECT_TRUE(says(refusal({"load", "--all", "ids"}), "SHMBLOOM_FILTER"));
    EXPECT_TRUE(says(refusal({"load", "--all", "links", "--exec", "--", "x"}), "SHMBLOOM_FILTER"));
    EXPECT_TRUE(says(refusal({"load", "--all", "--all-doubted", "--exec", "--", "x"}), "not both"));
    EXPECT_TRUE(says(refusal({"load", "--all", "--exec"}), "--exec -- CMD"));
    EXPECT_TRUE(says(refusal({"verify", "--all", "--exec", "--", "x"}), "'verify' has no option --all"));
}

TEST(Options, LoadKeepsTheCommandWordForWord) {
    const auto load = parsed<LoadOptions>({"load", "links", "--expect-at-least", "1e6", "--overlap", "15m", "-0",
                                           "--keep-blanks", "--exec", "--", "psql", "-c", "--", "--help"});
    EXPECT_EQ(load.command, (std::vector<std::string>{"psql", "-c", "--", "--help"}));
    EXPECT_EQ(load.expect_at_least, 1'000'000u);
    EXPECT_EQ(load.overlap_s, 900u);
    EXPECT_TRUE(load.nul_separated);
    EXPECT_TRUE(load.keep_blanks);
    EXPECT_TRUE(says(refusal({"load", "l", "-", "--expect-at-least", "0"}), "how many"));
    EXPECT_TRUE(says(refusal({"load", "l", "f", "--overlap", "soon"}), "90s, 15m, 1h or 2d"));
}

TEST(Options, KeysComeFromTheLineOrFromStdin) {
    const auto contains = parsed<ContainsOptions>({"contains", "links", "abc", ""});
    EXPECT_EQ(contains.keys, (std::vector<std::string>{"abc", ""}));
    EXPECT_FALSE(contains.from_stdin);
    EXPECT_TRUE(parsed<AddOptions>({"add", "links", "-"}).from_stdin);
    const auto dashes = parsed<AddOptions>({"add", "links", "--", "-", "--yes"});
    EXPECT_EQ(dashes.keys, (std::vector<std::string>{"-", "--yes"}));
    EXPECT_FALSE(dashes.from_stdin);
    EXPECT_TRUE(says(refusal({"add", "links", "-", "abc"}), "alone"));
    EXPECT_TRUE(says(refusal({"add", "links"}), "add NAME KEY"));
    EXPECT_TRUE(says(refusal({"add", "links", "-key"}), "behind --"));
}

TEST(Options, HelpAndVersionNeedNothingElse) {
    EXPECT_EQ(parsed<HelpOptions>({"help"}).verb, "");
    EXPECT_EQ(parsed<HelpOptions>({"--help"}).verb, "");
    EXPECT_EQ(parsed<HelpOptions>({"help", "load"}).verb, "load");
    EXPECT_EQ(parsed<HelpOptions>({"load", "--help"}).verb, "load");
    EXPECT_EQ(parsed<HelpOptions>({"load", "-h"}).verb, "load");
    parsed<VersionOptions>({"--version"});
    EXPECT_TRUE(says(refusal({"help", "lod"}), "unknown verb"));
}
