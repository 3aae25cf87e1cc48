// What keeps a filter from growing, and filters that are not to grow: it goes on, and says what it cannot keep.
#include <cerrno>

#include "growth.h"

namespace shmbloom::test {
namespace {

using GrowthBlocked = Growth;

TEST_F(GrowthBlocked, ByMaxMemoryItGoesOnAndGrowsWhenThereIsRoom) {
    start("700KiB");
    create_growable("100000"); // about 180 KiB
    add(0, 95'000);
    ASSERT_TRUE(eventually([&] { return capacity() == 200'000; }));
    add(95'000, 85'000); // 720 KiB are wanted now
    expect_blocked("more than --max-memory");
    EXPECT_GT(std::stoull(info("growth_missing_bytes")), 300'000u);
    EXPECT_TRUE(instance.daemon().wait_for_log("'links' does not grow: "));
    expect_says(grow(), "NOMEM", {"bytes", "more than --max-memory 716800", "larger --max-memory"});
    add(180'000, 120'000); // the rate rises, and is shown
    EXPECT_TRUE(eventually([&] { return info("warnings").find("full") != std::string::npos; }));
    EXPECT_TRUE(eventually([&] { return std::stod(info("estimated_fpr")) > kRate; }));
    EXPECT_EQ(capacity(), 200'000u);
    expect_there(0, 300'000);

    instance.stop();
    start("16MiB");
    ASSERT_TRUE(eventually([&] { return capacity() == 400'000; }));
    EXPECT_TRUE(eventually([&] { return info("warnings").empty(); })) << info("warnings");
    EXPECT_EQ(info("growth_blocked"), "nil");
    expect_there(0, 300'000);
    expect_rate_kept(500'000);
}

TEST_F(GrowthBlocked, ByASnapshotThatCannotBeWrittenItTriesAgain) {
    start("2GiB", {}, {{"SHMBLOOM_FAIL", "sync:.snapshot:ENOSPC:1:2"}});
    create_growable("10000");
    add(0, 12'000);
    expect_blocked("no snapshot of the new generation");
    expect_there(0, 12'000);
    EXPECT_EQ(capacity(), 10'000u);
    ASSERT_TRUE(eventually([&] { return capacity() == 20'000; }, std::chrono::seconds{60}));
    EXPECT_TRUE(eventually([&] { return info("warnings").empty(); })) << info("warnings");
    expect_there(0, 12'000);
    expect_rate_kept(50'000);
    expect_nothing_left_behind();
}

TEST_F(GrowthBlocked, ByAnImportWhoseHashesNobodyHas) {
    start();
    create_growable("10000");
    add(0, 1000);
    ASSERT_FALSE(instance.wire().call({"SB.SNAPSHOT", "links"}).is_error());
    std::filesystem::create_directories(instance.state_dir() + "/import");
    for (const auto &entry : std::filesystem::directory_iterator{filter_folder()})
        std::filesystem::copy_file(entry.path(), instance.state_dir() + "/import/brought");
    EXPECT_EQ(info("hash_list"), "complete");
    ASSERT_FALSE(instance.wire().call({"SB.IMPORT", "links", "brought"}).is_error());
    EXPECT_EQ(info("hash_list"), "incomplete");
    expect_blocked("hash list is incomplete");
    expect_says(grow(), "RANGE", {"hash list", "incomplete", "'shmbloomctl rebuild links'"});
    add(1000, 11'000);
    EXPECT_EQ(capacity(), 10'000u);
    expect_there(0, 12'000);
}

TEST_F(Growth, IsNotForAFilterThatIsToRefuseWhenItIsFull) {
    start();
    Wire wire = instance.wire();
    EXPECT_EQ(
        wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "GROWABLE", "WHENFULL", "refuse"}).word(),
        "RANGE");
    EXPECT_EQ(
        wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "EXPANSION", "2", "DURABILITY", "memory"})
            .word(),
        "RANGE");
    for (const char *expansion : {"0", "1", "32769", "x"})
        EXPECT_EQ(wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "EXPANSION", expansion}).word(),
                  "RANGE")
            << expansion;
    create({"NOTHING-EXISTS-YET", "WHENFULL", "refuse"}, "1000");
    EXPECT_EQ(info("when_full"), "refuse");
    for (std::uint64_t i = 0; i < 1100; i++) // the estimate is one: by ones
        worker->tell("put " + base62_key(i));
    const std::uint64_t taken = std::stoull(info("adds_acknowledged"));
    EXPECT_NEAR(static_cast<double>(taken), 1000, 60);
    FilterWire full{instance, "links"};
    expect_says(full.add(full.keys().range(5000, 100)), "FULL", {"1000 keys", "rebuild", "--capacity"});
    EXPECT_EQ(worker->tell("put " + base62_key(5000)), std::to_string(-EDQUOT));
    EXPECT_FALSE(full.add(full.keys().range(0, 500)).is_error()); // no new ones
    EXPECT_GE(std::stoull(info("adds_refused")), 101u);
    expect_there(0, 900);
    expect_gone(5000, 100);
    expect_rate_kept(200'000);

    ASSERT_FALSE(full.rebuild({"BEGIN", "CAPACITY", "2000"}).is_error());
    full.bulk_range(0, 1000);
    ASSERT_FALSE(full.rebuild({"END"}).is_error());
    EXPECT_EQ(worker->tell("put " + base62_key(5000)), "0");
    EXPECT_EQ(info("when_full"), "refuse");
}

TEST_F(Growth, IsNotForAFilterThatOnlyWarnsWhenItIsFull) {
    start();
    create_live();
    EXPECT_EQ(info("when_full"), "warn");
    std::uint64_t added = 0;
    std::size_t lines = 0;
    const std::string kFullLine = "above, its rate rises";
    for (const std::uint64_t percent : {72u, 73u, 87u, 88u, 102u, 103u}) { // a line each at 70, 85 and 100
        const std::uint64_t until = 20'000 * percent / 100;
        add(added, until - added);
        added = until;
        lines += percent % 5 == 2 ? 1 : 0;
        EXPECT_TRUE(eventually([&] { return lines_of_log(kFullLine) == lines; }))
            << percent << ": " << lines_of_log(kFullLine);
    }
    EXPECT_TRUE(eventually([&] { return info("warnings") == "full"; }));
    add(100'000, 5000);
    expect_there(100'000, 5000);
    EXPECT_EQ(capacity(), 20'000u);
}

} // namespace
} // namespace shmbloom::test
