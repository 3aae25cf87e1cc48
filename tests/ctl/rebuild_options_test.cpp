// rebuild and rollback as they are typed.
#include "must_keys.h"
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

TEST(RebuildOptions, TakeASourceAsLoadDoes) {
    const auto rebuild = parsed<RebuildOptions>(
        {"rebuild", "links", "--capacity", "400M", "--fpr", "0.1%", "--layout", "blocked", "--expect-at-least", "300M",
         "--allow-shrink", "25%", "--must-contain", "some", "--dry-run", "--exec", "--", "psql", "--since"});
    EXPECT_EQ(rebuild.name, "links");
    EXPECT_EQ(rebuild.command, (std::vector<std::string>{"psql", "--since"}));
    EXPECT_EQ(rebuild.capacity, 400'000'000u);
    EXPECT_EQ(rebuild.fpr, 0.001);
    EXPECT_EQ(rebuild.layout, "blocked");
    EXPECT_EQ(rebuild.expect_at_least, 300'000'000u);
    EXPECT_EQ(rebuild.allow_shrink_percent, 25u);
    EXPECT_EQ(rebuild.must_contain, "some");
    EXPECT_TRUE(rebuild.dry_run);
    EXPECT_FALSE(rebuild.grows);
    EXPECT_FALSE(rebuild.has_since());
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "links", "ids", "-0"}).file, "ids");
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "links", "-"}).file, "-");
    EXPECT_TRUE(says(refusal({"rebuild", "links"}), "no source"));
    EXPECT_TRUE(says(refusal({"rebuild", "links", "a", "b"}), "rebuild NAME"));
    EXPECT_TRUE(says(refusal({"rebuild", "links", "--exec", "psql"}), "shmbloomctl rebuild links --exec -- CMD"));
    EXPECT_TRUE(says(refusal({"rebuild", "links", "psql", "-c"}), "a command goes behind --exec --"));
}

TEST(RebuildOptions, SinceIsAnLsnOrATime) {
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "ids", "--since", "123456"}).since_lsn, 123'456u);
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "ids", "--since", "123456"}).since_s, std::nullopt);
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "ids", "--since", "90m"}).since_s, 5400u);
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "ids", "--since", "90m"}).since_lsn, std::nullopt);
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "ids", "--since", "90m", "--overlap", "0"}).overlap_s, 0u);
    EXPECT_TRUE(says(refusal({"rebuild", "l", "ids", "--since", "yesterday"}), "an LSN that `status` showed"));
    EXPECT_TRUE(says(refusal({"rebuild", "l", "ids", "--since", ""}), "an LSN that `status` showed"));
}

TEST(RebuildOptions, ShrinkingIsAShare) {
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "ids", "--allow-shrink", "100"}).allow_shrink_percent, 100u);
    for (const char *wrong : {"101", "-1", "0.5", "", "%"})
        EXPECT_TRUE(says(refusal({"rebuild", "l", "ids", "--allow-shrink", wrong}), "0 to 100")) << wrong;
}

TEST(RebuildOptions, ASnapshotBringsItsOwnSize) {
    EXPECT_EQ(parsed<RebuildOptions>({"rebuild", "l", "--snapshot", "f", "--since", "1h"}).snapshot, "f");
    EXPECT_TRUE(says(refusal({"rebuild", "l", "--snapshot", "f", "--capacity", "1k"}), "--capacity has no meaning"));
    EXPECT_TRUE(says(refusal({"rebuild", "l", "--snapshot", "f", "-0"}), "--null has no meaning"));
    EXPECT_TRUE(says(refusal({"rebuild", "l", "ids", "--snapshot", "f"}), "rebuild NAME"));
    EXPECT_TRUE(says(refusal({"rebuild", "l", "--snapshot", "f", "--exec", "--", "psql"}), "--exec has no meaning"));
}

TEST(RebuildOptions, WithoutASourceItIsGrowth) {
    const auto growth = parsed<RebuildOptions>({"rebuild", "links", "--capacity", "1G"});
    EXPECT_TRUE(growth.grows);
    EXPECT_EQ(growth.capacity, 1'000'000'000u);
    EXPECT_TRUE(says(refusal({"rebuild", "links", "--capacity", "1G", "--since", "1h"}), "--since has no meaning"));
    EXPECT_TRUE(says(refusal({"rebuild", "links", "--capacity", "1G", "--dry-run"}), "--dry-run has no meaning"));
    EXPECT_TRUE(says(refusal({"rebuild", "links", "--capacity", "1G", "--fpr", "1%"}), "--fpr has no meaning"));
}

TEST(RollbackOptions, MayUnite) {
    EXPECT_FALSE(parsed<RollbackOptions>({"rollback", "links"}).unite);
    EXPECT_TRUE(parsed<RollbackOptions>({"rollback", "links", "--union"}).unite);
    EXPECT_TRUE(says(refusal({"rollback"}), "rollback NAME"));
    EXPECT_TRUE(says(refusal({"rollback", "a", "b"}), "rollback NAME"));
}

TEST(MissingKeys, AreReadFromARefusal) {
    using Positions = std::vector<std::size_t>;
    EXPECT_EQ(read_missing_positions("3 of 9 keys, missing: 0,5,17; nothing changed"), (Positions{0, 5, 17}));
    EXPECT_EQ(read_missing_positions("missing: 4"), Positions{4});
    EXPECT_EQ(read_missing_positions("missing: many"), Positions{});
    EXPECT_EQ(read_missing_positions("no key"), Positions{});
}
