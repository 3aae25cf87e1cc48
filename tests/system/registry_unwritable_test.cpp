// The registry cannot be written: adds and lookups go on, changes wait or are refused, nothing is acknowledged early, and
// all is well again when it can be written.
#include <csignal>

#include "hashed_keys.h"
#include "kept_filter.h"

namespace shmbloom::test {
namespace {

class RegistryUnwritable : public ::testing::Test {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    // A folder where the temporary file should be: opening it for writing fails for root as well.
    std::string blocker() const { return instance.state_dir() + "/registry.json.new"; }
    void block() { std::filesystem::create_directory(blocker()); }
    void unblock() { std::filesystem::remove(blocker()); }
    bool is_degraded() { return instance.info("links").at("warnings") == "degraded"; }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(), 200};
};

TEST_F(RegistryUnwritable, CreateFailsAndLeavesNothing) {
    const auto before = instance.segment_names();
    block();
    Wire wire = instance.wire();
    EXPECT_EQ(wire.call({"SB.CREATE", "new", "CAPACITY", "1000", "FPR", "0.01", "NOTHING-EXISTS-YET"}).word(), "IO");
    EXPECT_EQ(instance.ctl({"create", "new", "--capacity", "1000", "--fpr", "1e-2"}).code, 10);
    EXPECT_EQ(instance.segment_names(), before);
    EXPECT_TRUE(instance.info("new").empty());
    EXPECT_TRUE(eventually([&] { return is_degraded(); }));
    links.expect_goes_on();

    unblock();
    EXPECT_TRUE(eventually([&] { return !is_degraded(); }));
    EXPECT_TRUE(instance.info("new").empty()); // a refusal is not carried out later
    instance.must_ctl({"create", "new", "--capacity", "1000", "--fpr", "1e-2"});
    instance.kill();
    instance.start();
    EXPECT_FALSE(instance.info("new").empty());
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
    links.expect_goes_on();
}

TEST_F(RegistryUnwritable, AtTheSecondWriteOfACreateItMayBeDoneLater) {
    instance.stop();
    instance.start({}, {{"SHMBLOOM_STOP_AT", "create.made"}});
    Wire wire = instance.wire();
    wire.send({"SB.CREATE", "new", "CAPACITY", "1000", "FPR", "0.01", "NOTHING-EXISTS-YET"});
    instance.daemon().wait_until_stopped();
    block();
    instance.daemon().signal(SIGCONT);
    const auto reply = wire.receive();
    EXPECT_EQ(reply.word(), "IO");
    EXPECT_NE(reply.text.find("unknown"), std::string::npos) << reply.text;
    EXPECT_TRUE(instance.info("new").empty()); // not durable, so not to be seen
    EXPECT_EQ(wire.call({"SB.CREATE", "new", "CAPACITY", "1000", "FPR", "0.01"}).word(), "EXISTS");
    unblock();
    EXPECT_TRUE(eventually([&] { return !instance.info("new").empty(); }));
    instance.kill();
    instance.start();
    EXPECT_EQ(instance.info("new").at("live"), "1");
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST_F(RegistryUnwritable, KilledAtTheSecondWriteOfACreateLeavesNothing) {
    const auto before = instance.segment_names();
    instance.stop();
    instance.start({}, {{"SHMBLOOM_STOP_AT", "create.made"}});
    Wire wire = instance.wire();
    wire.send({"SB.CREATE", "new", "CAPACITY", "1000", "FPR", "0.01", "NOTHING-EXISTS-YET"});
    instance.daemon().wait_until_stopped();
    block();
    instance.daemon().signal(SIGCONT);
    EXPECT_EQ(wire.receive().word(), "IO");
    instance.kill();
    unblock();
    instance.start();
    EXPECT_TRUE(instance.info("new").empty());
    EXPECT_EQ(instance.segment_names(), before);
    links.expect_goes_on();
}

TEST_F(RegistryUnwritable, DropAnswersIoAndTakesEffectWhenItCan) {
    block();
    Wire wire = instance.wire();
    EXPECT_EQ(wire.call({"SB.DROP", "links"}).word(), "IO");
    links.expect_unverified();
    EXPECT_EQ(links.adder().tell("put another"), "-2"); // ENOENT: no add is acknowledged that a start could lose
    EXPECT_EQ(wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.01"}).word(), "BUSY");
    EXPECT_EQ(instance.segment_names().size(), 1u); // either version may be on the disk: nothing is unlinked
    unblock();
    EXPECT_TRUE(eventually([&] { return instance.segment_names().empty(); }));
    EXPECT_FALSE(wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.01"}).is_error());
    links.expect_unverified(); // warming
}

TEST_F(RegistryUnwritable, KilledAfterADropThatFailedTheFilterComesBackWhole) {
    block();
    Wire wire = instance.wire();
    EXPECT_EQ(wire.call({"SB.DROP", "links"}).word(), "IO");
    instance.kill();
    links.expect_unverified();
    unblock();
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST_F(RegistryUnwritable, LoadsEndAnswersIoAndTakesEffectWhenItCan) {
    KeptFilter warming{instance, "warming", KeptFilter::warming(), 50};
    const std::string domain = instance.info("warming").at("hash_domain");
    block();
    Wire wire = instance.wire();
    ASSERT_FALSE(wire.call({"SB.LOAD", "warming", "BEGIN"}).is_error());
    ASSERT_FALSE(wire.add("warming", domain, {1}).is_error()); // by the journal
    EXPECT_EQ(wire.call({"SB.LOAD", "warming", "END"}).word(), "IO");
    warming.expect_unverified();
    EXPECT_EQ(wire.call({"SB.DROP", "warming"}).word(), "BUSY"); // takes no further change
    warming.add(10);
    unblock();
    ASSERT_TRUE(warming.becomes_live());
    warming.expect_goes_on();
    instance.kill();
    instance.start();
    warming.expect_goes_on();
}

// What it brought is in no journal, and in no snapshot that has a name: nothing of it is acknowledged.
TEST_F(RegistryUnwritable, ABulkLoadCountsAsAborted) {
    KeptFilter warming{instance, "warming", KeptFilter::warming(), 50};
    FilterWire wire{instance, "warming"};
    ASSERT_EQ(wire.load({"BEGIN"}).text, "OK");
    wire.bulk_range(0, 100);
    block();
    const auto ended = wire.load({"END"});
    EXPECT_EQ(ended.word(), "IO");
    EXPECT_NE(ended.text.find("counts as aborted"), std::string::npos) << ended.text;
    const auto loaded = instance.ctl({"load", "warming", warming.write_source()});
    EXPECT_EQ(loaded.code, 10) << loaded.log;
    warming.expect_unverified();
    warming.add(10);
    unblock();
    instance.must_ctl({"load", "warming", warming.write_source()});
    ASSERT_TRUE(warming.becomes_live());
    warming.expect_goes_on();
    instance.kill();
    instance.start();
    warming.expect_goes_on();
}

TEST_F(RegistryUnwritable, KilledAfterALoadsEndThatFailedItIsWarming) {
    KeptFilter warming{instance, "warming", KeptFilter::warming(), 50};
    block();
    EXPECT_NE(instance.ctl({"load", "warming", warming.write_source()}).code, 0);
    instance.kill();
    unblock();
    instance.start();
    warming.expect_unverified();
    EXPECT_EQ(instance.info("warming").at("doubts"), "warming");
}

TEST_F(RegistryUnwritable, ControlLostMeanwhileIsMadeAnewOnlyWhenThatIsDurable) {
    block();
    remove_control(instance);
    Wire wire = instance.wire();
    ASSERT_TRUE(eventually([&] { return instance.daemon().log().find("is gone: it is made anew") != std::string::npos; }));
    ASSERT_TRUE(eventually([&] { return is_degraded(); }));
    EXPECT_FALSE(std::filesystem::exists(instance.runtime_dir() + "/control"));
    links.expect_goes_on();
    unblock();
    EXPECT_TRUE(eventually([&] { return std::filesystem::exists(instance.runtime_dir() + "/control"); }));
    links.expect_goes_on();
}

TEST_F(RegistryUnwritable, AStartThatCannotWriteChangesNoGate) {
    instance.kill();
    block();
    Process failing = instance.launch();
    EXPECT_NE(failing.wait().code, 0);
    EXPECT_NE(failing.log().find("registry.json.new"), std::string::npos) << failing.log();
    links.expect_stands();
    unblock();
    instance.start();
    links.expect_goes_on();
}

TEST_F(RegistryUnwritable, AStopSaysThatItIsNotClean) {
    block();
    instance.daemon().signal(SIGTERM);
    EXPECT_NE(instance.daemon().wait().code, 0);
    unblock();
    instance.start();
    links.expect_goes_on();
}

} // namespace
} // namespace shmbloom::test
