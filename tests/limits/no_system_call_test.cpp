// A lookup of a live filter makes no system call: the worker gives up the right to make any.
#include <gtest/gtest.h>

#include "instance.h"

namespace shmbloom::test {
namespace {

class NoSystemCall : public ::testing::TestWithParam<const char *> {};

TEST_P(NoSystemCall, InAMillionLookupsWithTheDaemonDead) {
    constexpr std::uint64_t keys = 20'000, lookups = 1'000'000;
    const std::string kind = std::string{GetParam()} == "u64" ? "u64" : "base62";
    TestInstance instance;
    instance.start();
    std::vector<std::string> create{"create", "links", "--capacity", "1e5", "--fpr", "1e-3", "--nothing-exists-yet"};
    if (kind == "u64")
        create.insert(create.end(), {"--key-type", "u64"});
    else
        create.insert(create.end(), {"--layout", GetParam(), "--normalize", "trim,lower"});
    instance.must_ctl(create);
    Worker worker = instance.worker();
    worker.open("links");
    worker.tell("add " + kind + " 0 " + std::to_string(keys) + " " + (instance.folder() / "acknowledged"));
    ASSERT_EQ(read_indexes(instance.folder() / "acknowledged").size(), keys);
    instance.kill();
    // Any system call but read, write and exit kills it (strict mode).
    const Answers answers = parse_answers(worker.tell("strict " + kind + " 0 " + std::to_string(lookups)));
    EXPECT_EQ(answers.absent + answers.maybe, lookups);
    EXPECT_EQ(answers.unverified, 0u);
    EXPECT_GE(answers.maybe, keys);
    EXPECT_LE(answers.maybe, keys + lookups * 2 / 1000);
    const auto exit = worker.process().wait();
    EXPECT_EQ(exit.signal, 0);
    EXPECT_EQ(exit.code, 0);
}

INSTANTIATE_TEST_SUITE_P(Of, NoSystemCall, ::testing::Values("classic", "blocked", "u64"),
                         [](const auto &row) { return std::string{row.param}; });

} // namespace
} // namespace shmbloom::test
