// How a filter comes to be live, and how it must not: loads that die, overlap, come late, bring nothing.
#include <csignal>

#include "kept_filter.h"
#include "remove_folder.h"

namespace shmbloom::test {
namespace {

class LoadsOf : public ::testing::TestWithParam<Durability> {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    bool is_live() { return instance.info("links").at("live") == "1"; }
    std::string domain() { return instance.info("links").at("hash_domain"); }
    // On this connection: BEGIN, and one key.
    void begin(Wire &wire, const std::vector<std::string_view> &more = {}) {
        std::vector<std::string_view> command{"SB.LOAD", "links", "BEGIN"};
        command.insert(command.end(), more.begin(), more.end());
        const auto reply = wire.call(command);
        EXPECT_EQ(reply.text, "OK");
        EXPECT_FALSE(wire.add("links", domain(), {next_hash_++}).is_error());
    }
    Wire::Reply end(Wire &wire) { return wire.call({"SB.LOAD", "links", "END"}); }

    // A tool that loads from a command which prints the keys and then waits for the file `go`. Its BEGIN has been answered:
    // the command is started after that.
    std::unique_ptr<Process> slow_load(const std::string &id) {
        const std::string begun = instance.folder() / ("begun-" + id);
        auto load = std::make_unique<Process>(std::vector<std::string>{
            TestInstance::tool(), "--runtime-dir", instance.runtime_dir(), "load", "links", "--exec", "--", "/bin/sh", "-c",
            "touch " + begun + "; cat " + links.write_source() + "; while ! test -e " + go() + "; do sleep 0.05; done"});
        EXPECT_TRUE(eventually([&] { return std::filesystem::exists(begun); }));
        return load;
    }
    // Bits are really lost: of a journalled filter when the journal is, too.
    void lose() {
        instance.kill();
        links.remove_segment();
        remove_folder(instance.state_dir() + "/journal");
        instance.start();
        EXPECT_EQ(instance.info("links").at("doubts"), links.is_journalled() ? "warming,damaged" : "warming,lossy");
    }
    std::string go() const { return instance.folder() / "go"; }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::warming(GetParam()), 100};
    std::uint64_t next_hash_ = 12345;
};

TEST_P(LoadsOf, OneOfTwoLoadersKilledLeavesTheFilterWarmingUntilAGoodOne) {
    auto dying = slow_load("dying");
    auto good = slow_load("good");
    dying->signal(SIGKILL); // its command lives on for a while and holds its pipes
    ASSERT_TRUE(eventually([&] { return !dying->is_running(); }));
    std::ofstream{go()} << "go";
    EXPECT_EQ(good->wait().code, 6) << good->log();
    EXPECT_FALSE(is_live());
    links.expect_unverified();

    instance.must_ctl({"load", "links", links.write_source()});
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
}

TEST_P(LoadsOf, TheLastOfTwoThatOverlapMakesItLive) {
    Wire a = instance.wire(), b = instance.wire();
    begin(a);
    begin(b);
    const auto first = end(a).fields();
    EXPECT_EQ(first.at("live"), "0");
    EXPECT_EQ(first.at("loads_open"), "1");
    links.expect_unverified();
    EXPECT_EQ(end(b).fields().at("live"), "1");
    links.expect_goes_on();
}

TEST_P(LoadsOf, AnAbortSpoilsAllThatOverlapItAlsoInAChain) {
    Wire a = instance.wire(), b = instance.wire(), c = instance.wire();
    begin(a);
    begin(b);
    EXPECT_EQ(a.call({"SB.LOAD", "links", "ABORT"}).text, "OK");
    begin(c);
    EXPECT_EQ(end(b).fields().at("live"), "0");
    EXPECT_EQ(end(c).fields().at("live"), "0");
    EXPECT_FALSE(is_live());
    begin(a);
    EXPECT_EQ(end(a).fields().at("live"), "1");
}

TEST_P(LoadsOf, AConnectionThatClosesIsAnAbort) {
    Wire stays = instance.wire();
    {
        Wire goes = instance.wire();
        begin(goes);
        begin(stays);
    }
    // The close is seen in its own time: nobody answers it.
    ASSERT_TRUE(eventually([&] {
        Wire third = instance.wire();
        begin(third);
        return end(third).fields().at("loads_open") == "1";
    }));
    EXPECT_EQ(end(stays).fields().at("live"), "0");
    EXPECT_FALSE(is_live());
}

TEST_P(LoadsOf, EndNeedsABeginOnItsOwnConnection) {
    Wire a = instance.wire(), b = instance.wire();
    begin(a);
    EXPECT_EQ(end(b).word(), "ERR");
    EXPECT_FALSE(is_live());
    EXPECT_EQ(end(a).fields().at("live"), "1");
    EXPECT_EQ(end(a).word(), "ERR");
}

TEST_P(LoadsOf, TheDaemonsEndIsAnAbort) {
    Wire before = instance.wire();
    begin(before);
    instance.kill();
    instance.start();
    Wire after = instance.wire();
    EXPECT_EQ(end(after).word(), "ERR");
    EXPECT_FALSE(is_live());
    links.expect_unverified();
}

TEST_P(LoadsOf, ZeroKeysNeverEndADoubt) {
    Wire wire = instance.wire();
    ASSERT_EQ(wire.call({"SB.LOAD", "links", "BEGIN"}).text, "OK");
    EXPECT_EQ(end(wire).word(), "RANGE");
    EXPECT_FALSE(is_live());
    EXPECT_EQ(instance.ctl({"load", "links", "--exec", "--", "/bin/true"}).code, 6);
    EXPECT_EQ(instance.ctl({"load", "links", "-", "--expect-at-least", "0"}).code == 0, false);
    EXPECT_FALSE(is_live());
}

TEST_P(LoadsOf, FewerKeysThanExpectedLeaveItWarming) {
    Wire wire = instance.wire();
    begin(wire);
    EXPECT_EQ(wire.call({"SB.LOAD", "links", "END", "EXPECT", "2"}).word(), "RANGE");
    EXPECT_FALSE(is_live());
    EXPECT_EQ(end(wire).word(), "ERR"); // it counts as aborted
    EXPECT_EQ(instance.ctl({"load", "links", links.write_source(), "--expect-at-least", "101"}).code, 6);
    EXPECT_FALSE(is_live());
    instance.must_ctl({"load", "links", links.write_source(), "--expect-at-least", "100"});
    EXPECT_TRUE(is_live());
}

TEST_P(LoadsOf, ASourceThatFailsOrAPipeWithoutANumberLeavesItWarming) {
    EXPECT_EQ(instance.ctl({"load", "links", "--exec", "--", "/bin/sh", "-c", "cat " + links.write_source() + "; exit 1"}).code, 8);
    EXPECT_EQ(instance.ctl({"load", "links", "-"}, links.source()).code, 6);
    EXPECT_FALSE(is_live());
    links.expect_unverified();
}

TEST_P(LoadsOf, KeysOfOtherConnectionsDoNotCount) {
    Wire loader = instance.wire(), other = instance.wire();
    ASSERT_EQ(loader.call({"SB.LOAD", "links", "BEGIN"}).text, "OK");
    EXPECT_FALSE(other.add("links", domain(), {1, 2, 3}).is_error());
    EXPECT_EQ(end(loader).word(), "RANGE");
    EXPECT_FALSE(is_live());
}

TEST_P(LoadsOf, AFilterThatLostAddsIsLoadedOnlyWhenTheOverlapHasPassed) {
    lose();
    Wire wire = instance.wire();
    for (const char *overlap : {"", "60", "3600"}) {
        std::vector<std::string_view> command{"SB.LOAD", "links", "BEGIN"};
        if (*overlap != '\0')
            command.insert(command.end(), {"OVERLAP", overlap});
        const auto reply = wire.call(command);
        EXPECT_EQ(reply.word(), "RANGE");
        EXPECT_NE(reply.text.find("UTC"), std::string::npos) << "says when: " << reply.text;
    }
    EXPECT_EQ(instance.ctl({"load", "links", links.write_source()}).code, 6);
    links.expect_unverified();
    // An overlap that has passed since.
    ASSERT_TRUE(eventually([&] { return wire.call({"SB.LOAD", "links", "BEGIN", "OVERLAP", "1"}).text == "OK"; }));
    EXPECT_EQ(wire.call({"SB.LOAD", "links", "ABORT"}).text, "OK");
    instance.must_ctl({"load", "links", links.write_source(), "--overlap", "0"});
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    // What was loaded outlives the next loss, without what is missing in the journal of before.
    instance.kill();
    links.remove_segment();
    instance.start();
    links.expect_lossy_or_restored();
}

TEST_P(LoadsOf, ADropEndsTheLoadWithTheFilter) {
    Wire wire = instance.wire();
    begin(wire);
    instance.must_ctl({"drop", "links", "--yes"});
    EXPECT_EQ(end(wire).word(), "NOTFOUND");
    instance.create("links", {"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", GetParam()});
    EXPECT_EQ(end(wire).word(), "ERR"); // the load was of the other one
    EXPECT_FALSE(is_live());
}

INSTANTIATE_TEST_SUITE_P(Each, LoadsOf, each_durability(), durability_name);

} // namespace
} // namespace shmbloom::test
