// The operator's verbs as they are typed.
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
    return failure == nullptr ? "" : failure->text;
}

bool says(const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST(OperatorOptions, SnapshotUndropExportAndImport) {
    EXPECT_EQ(parsed<SnapshotOptions>({"snapshot", "links"}).name, "links");
    EXPECT_EQ(parsed<SnapshotOptions>({"snapshot", "--all"}).name, "");
    EXPECT_TRUE(says(refusal({"snapshot", "links", "--all"}), "not both"));
    EXPECT_TRUE(says(refusal({"snapshot"}), "snapshot (NAME | --all)"));
    EXPECT_EQ(parsed<UndropOptions>({"undrop"}).name, "");
    EXPECT_EQ(parsed<UndropOptions>({"undrop", "links"}).name, "links");
    EXPECT_EQ(parsed<ExportOptions>({"export", "links", "f"}).file, "f");
    EXPECT_EQ(parsed<ImportOptions>({"import", "links", "--", "-f"}).file, "-f");
    EXPECT_TRUE(says(refusal({"export", "links"}), "export NAME FILE"));
    EXPECT_TRUE(says(refusal({"import", "links", "a", "b"}), "import NAME FILE"));
}

TEST(OperatorOptions, LiveWantsExactlyOneReason) {
    EXPECT_EQ(parsed<LiveOptions>({"live", "links", "--expect-at-least", "300M"}).expect_at_least, 300'000'000u);
    EXPECT_TRUE(parsed<LiveOptions>({"live", "links", "--force-incomplete"}).force_incomplete);
    EXPECT_TRUE(says(refusal({"live", "links"}), "one of --expect-at-least N"));
    EXPECT_TRUE(says(refusal({"live", "links", "--expect-at-least", "1", "--force-incomplete"}), "one of"));
    EXPECT_TRUE(says(refusal({"live", "links", "--expect-at-least", "0"}), "how many"));
}

TEST(OperatorOptions, PauseTakesANameOrAll) {
    const auto pause = parsed<PauseOptions>({"pause", "links", "--reason", "404s tonight"});
    EXPECT_EQ(pause.name, "links");
    EXPECT_EQ(pause.reason, "404s tonight");
    EXPECT_EQ(parsed<PauseOptions>({"pause", "--all"}).name, "");
    EXPECT_EQ(parsed<ResumeOptions>({"resume", "--all"}).name, "");
    EXPECT_EQ(parsed<ForgetReadersOptions>({"forget-readers", "links"}).name, "links");
    EXPECT_TRUE(says(refusal({"pause"}), "pause (NAME | --all)"));
    EXPECT_TRUE(says(refusal({"pause", "links", "--all"}), "not both"));
    EXPECT_TRUE(says(refusal({"pause", "links", "tokens"}), "pause (NAME | --all)"));
    EXPECT_TRUE(says(refusal({"pause", "links", "--reason", "a\nb"}), "one line"));
    EXPECT_TRUE(says(refusal({"status", "--all"}), "has no option --all"));
}

TEST(OperatorOptions, WaitReadsItsTime) {
    EXPECT_EQ(parsed<WaitOptions>({"wait", "links", "--timeout", "5m"}).timeout_s, 300u);
    EXPECT_EQ(parsed<WaitOptions>({"wait", "links"}).timeout_s, std::nullopt);
    EXPECT_TRUE(says(refusal({"wait", "links", "--timeout", "soon"}), "90s, 15m"));
}

TEST(OperatorOptions, VerifyTakesASourceAsLoadDoes) {
    const auto verify = parsed<VerifyOptions>({"verify", "links", "--repair", "-0", "--exec", "--", "psql", "-c"});
    EXPECT_TRUE(verify.repair);
    EXPECT_TRUE(verify.nul_separated);
    EXPECT_EQ(verify.command, (std::vector<std::string>{"psql", "-c"}));
    EXPECT_EQ(parsed<VerifyOptions>({"verify", "links", "ids"}).file, "ids");
    EXPECT_TRUE(says(refusal({"verify", "links"}), "required"));
    EXPECT_TRUE(says(refusal({"verify", "links", "--exec", "psql"}), "shmbloomctl verify links --exec -- CMD"));
    EXPECT_TRUE(says(refusal({"verify", "links", "ids", "--overlap", "1h"}), "has no option --overlap"));
}

TEST(OperatorOptions, ExplainTakesOneKey) {
    EXPECT_EQ(parsed<ExplainOptions>({"explain", "links", "a b"}).key, "a b");
    EXPECT_EQ(parsed<ExplainOptions>({"explain", "links", "--", "-k"}).key, "-k");
    EXPECT_TRUE(says(refusal({"explain", "links"}), "explain NAME KEY"));
    EXPECT_TRUE(says(refusal({"explain", "links", "a", "b"}), "explain NAME KEY"));
    EXPECT_TRUE(says(refusal({"explain", "links", "-k"}), "behind --"));
}

TEST(OperatorOptions, PlanReadsItsNumbers) {
    const auto plan = parsed<PlanOptions>({"plan", "--capacity", "400M", "--fpr", "0.1%", "--lookups", "150k",
                                           "--machines", "40", "--adds-per-day", "5M"});
    EXPECT_EQ(plan.capacity, 400'000'000u);
    EXPECT_EQ(plan.lookups, 150'000u);
    EXPECT_EQ(plan.machines, 40u);
    EXPECT_EQ(plan.adds_per_day, 5'000'000u);
    EXPECT_EQ(parsed<PlanOptions>({"plan", "--capacity", "1", "--fpr", "1%"}).machines, 1u);
    EXPECT_TRUE(says(refusal({"plan", "--capacity", "1"}), "--fpr is missing"));
    EXPECT_TRUE(says(refusal({"plan", "--capacity", "1", "--fpr", "1%", "--machines", "0"}), "at least 1"));
}

TEST(OperatorOptions, JsonAndStateDirGoWithEveryVerb) {
    auto command = parse_command({"self-test", "--json", "--state-dir", "/s"});
    ASSERT_EQ(failure_of(command), nullptr);
    EXPECT_TRUE(std::get<Command>(command).json);
    EXPECT_EQ(std::get<Command>(command).where.state_dir, "/s");
    EXPECT_TRUE(std::get<Command>(parse_command({"--json", "help"})).json);
    EXPECT_TRUE(says(refusal({"self-test", "x"}), "write: shmbloomctl self-test"));
}
