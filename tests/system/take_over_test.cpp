// A copy of a state folder that becomes a state of its own beside the original; and readers that an operator declares gone.
#include <csignal>
#include <nlohmann/json.hpp>

#include "kept_filter.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRefused = 78;

std::string content_of(const std::string &path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// A state folder somewhere else, and the daemon on it. Its filters are dropped at the end: no segment of it stays.
class Copy {
  public:
    Copy(const TestInstance &original, std::string runtime_dir)
        : runtime_dir_{std::move(runtime_dir)}, state_dir_{original.folder() / "state-copy"} {
        EXPECT_EQ(run({"/bin/cp", "-a", original.state_dir(), state_dir_}).code, 0);
    }
    ~Copy() {
        // By the names that its registry has: its prefix is its own.
        daemon_.reset();
        if (fs::exists(state_dir_ + "/registry.json"))
            for (const std::string &name : segment_names())
                fs::remove("/dev/shm/" + name);
    }

    Process launch(const std::vector<std::string> &more = {}) const {
        std::vector<std::string> arguments{TestInstance::daemon_path(), "--runtime-dir", runtime_dir_, "--state-dir", state_dir_};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return Process{arguments};
    }
    void start(const std::vector<std::string> &more = {}) {
        daemon_ = std::make_unique<Process>(launch(more));
        ASSERT_TRUE(daemon_->wait_for_log(" ready: ")) << daemon_->log();
    }
    void stop() {
        daemon_->signal(SIGTERM);
        EXPECT_EQ(daemon_->wait().code, 0) << daemon_->log();
    }
    Process &daemon() { return *daemon_; }
    const std::string &runtime_dir() const { return runtime_dir_; }
    Finished ctl(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {TestInstance::tool(), "--runtime-dir", runtime_dir_});
        return run(arguments);
    }
    std::string info(const std::string &name, const std::string &field) const {
        return Wire{runtime_dir_}.call({"SB.INFO", name}).fields().at(field);
    }
    std::string registry_text() const { return content_of(state_dir_ + "/registry.json"); }
    nlohmann::json registry() const { return nlohmann::json::parse(registry_text()).at("registry"); }
    std::vector<std::string> earlier_state_uuids() const {
        std::vector<std::string> uuids;
        const nlohmann::json read = registry();
        for (const auto &earlier : read.at("earlier_states"))
            uuids.push_back(earlier.at("state_uuid"));
        return uuids;
    }

    std::vector<std::string> segment_names() const {
        std::string uuid = registry().at("state_uuid");
        std::erase(uuid, '-');
        std::vector<std::string> names;
        for (const auto &entry : fs::directory_iterator{"/dev/shm"})
            if (entry.path().filename().string().starts_with("shmbloom." + uuid.substr(0, 16) + "."))
                names.push_back(entry.path().filename());
        return names;
    }

  private:
    std::string runtime_dir_, state_dir_;
    std::unique_ptr<Process> daemon_;
};

class TakeOver : public ::testing::Test {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    nlohmann::json original_registry() const { return nlohmann::json::parse(instance.registry()).at("registry"); }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(), 200};
    KeptFilter warming{instance, "warming", KeptFilter::warming(), 50};
    Copy copy{instance, instance.folder() / "run-copy"};
};

TEST_F(TakeOver, ACopyIsRefusedWithTheWayOutAndNothingChanges) {
    const std::string before = copy.registry_text();
    const auto segments = instance.segment_names();
    Process process = copy.launch();
    EXPECT_EQ(process.wait().code, kRefused);
    EXPECT_NE(process.log().find("is a copy"), std::string::npos) << process.log();
    EXPECT_NE(process.log().find("--take-over"), std::string::npos) << process.log();
    EXPECT_EQ(copy.registry_text(), before);
    EXPECT_FALSE(fs::exists(copy.runtime_dir() + "/control"));
    EXPECT_EQ(instance.segment_names(), segments);
    links.expect_goes_on();
}

TEST_F(TakeOver, GivesANewStateUuidAndKeepsTheEarlierOneListed) {
    const std::string earlier = original_registry().at("state_uuid");
    copy.start({"--take-over"});
    EXPECT_NE(copy.daemon().log().find("is taken over"), std::string::npos) << copy.daemon().log();
    EXPECT_NE(copy.registry().at("state_uuid"), earlier);
    EXPECT_EQ(copy.earlier_state_uuids(), std::vector{earlier});
    EXPECT_EQ(original_registry().at("state_uuid"), earlier);

    // It is no copy any more, with the option or without.
    const std::string mine = copy.registry().at("state_uuid");
    for (const std::vector<std::string> &more : {std::vector<std::string>{}, {"--take-over"}}) {
        copy.stop();
        copy.start(more);
        EXPECT_EQ(copy.registry().at("state_uuid"), mine);
        EXPECT_EQ(copy.earlier_state_uuids(), std::vector{earlier});
    }
}

TEST_F(TakeOver, ItsFiltersAreLossyAndTakeAddsAndALoad) {
    copy.start({"--take-over"});
    EXPECT_EQ(copy.info("links", "doubts"), "lossy");
    EXPECT_EQ(copy.info("warming", "doubts"), "warming,lossy");
    EXPECT_EQ(copy.info("links", "warnings"), "");
    Worker there{copy.runtime_dir()};
    there.open("links");
    EXPECT_EQ(there.count_all("base62", links.acknowledged()).unverified, 200u);
    EXPECT_EQ(there.tell("put something"), "2");
    EXPECT_EQ(copy.ctl({"load", "links", links.write_source(), "--overlap", "0"}).code, 0);
    EXPECT_TRUE(eventually([&] { return there.tell("ask never-added") == "0"; }));
    EXPECT_EQ(there.count_all("base62", links.acknowledged()).maybe, 200u);
    EXPECT_EQ(there.tell("ask something"), "1");
}

TEST_F(TakeOver, TheOriginalIsUntouchedBySideBySideWork) {
    const auto segments = instance.segment_names();
    copy.start({"--take-over"});
    EXPECT_EQ(instance.segment_names(), segments);
    for (const std::string &name : copy.segment_names())
        EXPECT_EQ(std::ranges::find(segments, name), segments.end()) << name;
    links.expect_goes_on();

    // Other keys here and there: neither has the other's.
    Worker there{copy.runtime_dir()};
    there.open("links");
    ASSERT_EQ(copy.ctl({"live", "links", "--force-incomplete"}).code, 0);
    ASSERT_TRUE(eventually([&] { return there.tell("ask never-added") == "0"; }));
    EXPECT_EQ(there.tell("put there"), "0");
    EXPECT_EQ(links.adder().tell("put here"), "0");
    EXPECT_EQ(there.tell("ask here"), "0");
    EXPECT_EQ(links.worker().tell("ask there"), "0");
    EXPECT_EQ(there.tell("ask there"), "1");
    EXPECT_EQ(links.worker().tell("ask here"), "1");

    // Whatever becomes of the copy.
    EXPECT_EQ(copy.ctl({"pause", "links"}).code, 0);
    EXPECT_EQ(copy.ctl({"drop", "links", "--yes"}).code, 0);
    EXPECT_EQ(there.tell("ask here"), "2");
    links.expect_goes_on();
    copy.stop();
    links.expect_goes_on();
    instance.kill();
    instance.start();
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), segments);
}

// Moved by cp -a to another disk: the same runtime folder, so every old reader hears of it.
TEST_F(TakeOver, InTheOriginalsRuntimeFolderOldReadersAreCutOffAndAddsAreTaken) {
    instance.stop();
    Copy moved{instance, instance.runtime_dir()};
    moved.start({"--take-over"});
    EXPECT_EQ(moved.info("links", "doubts"), "lossy");
    EXPECT_EQ(moved.info("links", "warnings"), "") << "every reader's gate was reached";
    links.expect_unverified();
    EXPECT_EQ(links.adder().tell("put something"), "2");
    EXPECT_EQ(moved.ctl({"live", "links", "--force-incomplete"}).code, 0);
    ASSERT_TRUE(links.becomes_live()); // the same worker, on the new state's segment
    EXPECT_EQ(links.worker().tell("ask something"), "1");
    moved.stop();
}

// Killed anywhere within the take-over: the next start finishes it, and the original's segments are whole.
TEST_F(TakeOver, KilledAtAnyStepIsFinishedByTheNextStart) {
    const auto segments = instance.segment_names();
    const std::string earlier = original_registry().at("state_uuid");
    for (const char *step : {"registry.before", "registry.durable", "start.segment_made", "start.durable", "start.gate_open"}) {
        SCOPED_TRACE(step);
        fs::remove_all(instance.folder() / "state-copy");
        Copy fresh{instance, copy.runtime_dir()};
        Process dying{{TestInstance::daemon_path(), "--runtime-dir", fresh.runtime_dir(), "--state-dir", instance.folder() / "state-copy",
                       "--take-over"},
                      {{"SHMBLOOM_CRASH_AT", step}}};
        EXPECT_EQ(dying.wait().signal, SIGKILL);
        fresh.start({"--take-over"});
        EXPECT_EQ(fresh.earlier_state_uuids(), std::vector{earlier});
        EXPECT_EQ(fresh.info("links", "doubts"), "lossy");
        EXPECT_EQ(fresh.segment_names().size(), 2u) << "nothing is left over";
        fresh.stop();
        links.expect_goes_on();
        EXPECT_EQ(instance.segment_names(), segments);
    }
}

class ForgetReaders : public ::testing::TestWithParam<Durability> {
  protected:
    void SetUp() override {
        instance.kill();
        links.remove_segment();
        remove_control(instance);
        instance.start();
        expect_refused();
    }
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    void expect_refused() {
        const Finished finished = instance.ctl({"add", "links", "x"});
        EXPECT_EQ(finished.code, 6);
        EXPECT_NE((finished.log + finished.output).find("forget-readers links"), std::string::npos) << finished.log;
        EXPECT_EQ(instance.info("links").at("warnings"), "adds_refused");
    }
    // By a worker of after; lossy until it is loaded, unless it was restored.
    void expect_taken_and_load() {
        EXPECT_EQ(instance.info("links").at("warnings"), "");
        Worker worker = instance.worker();
        worker.open("links");
        EXPECT_EQ(worker.tell("put one"), links.is_journalled() ? "0" : "2");
        if (!links.is_journalled())
            instance.must_ctl({"load", "links", links.write_source(), "--overlap", "0"});
        expect_taken("two");
    }
    void expect_taken(const std::string &key) {
        EXPECT_EQ(instance.info("links").at("warnings"), "");
        Worker worker = instance.worker();
        worker.open("links");
        EXPECT_EQ(worker.tell("put " + key), "0");
        EXPECT_EQ(worker.tell("ask " + key), "1");
        EXPECT_EQ(worker.tell("ask one"), "1");
        EXPECT_EQ(worker.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
    }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(GetParam()), 100};
};

TEST_P(ForgetReaders, TheToolLiftsTheRefusalForGood) {
    instance.must_ctl({"forget-readers", "links"});
    expect_taken_and_load();
    instance.stop();
    instance.start();
    expect_taken("three");
    instance.kill();
    instance.start();
    expect_taken("four");
}

TEST_P(ForgetReaders, TheDaemonsOptionLiftsItForGood) {
    instance.stop();
    instance.start({"--forget-readers"});
    EXPECT_NE(instance.daemon().log().find("no worker of before is left"), std::string::npos);
    expect_taken_and_load();
    instance.kill();
    instance.start();
    expect_taken("three");
    // Nor does it mean that the next loss is overlooked.
    instance.kill();
    links.remove_segment();
    remove_control(instance);
    instance.start();
    expect_refused();
}

TEST_P(ForgetReaders, WithoutItTheRefusalOutlivesRestarts) {
    instance.stop();
    instance.start();
    expect_refused();
    instance.kill();
    instance.start();
    expect_refused();
}

INSTANTIATE_TEST_SUITE_P(Each, ForgetReaders, each_durability(), durability_name);

} // namespace
} // namespace shmbloom::test
