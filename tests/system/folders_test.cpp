// Which state and runtime folders belong together: two daemons, folders swapped, copied, emptied, damaged; seed files.
#include <csignal>
#include <random>
#include <sys/stat.h>

#include "kept_filter.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;

constexpr int kRefused = 78;

class Folders : public ::testing::Test {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    // A daemon beside the instance's own.
    Process daemon(const std::string &runtime_dir, const std::string &state_dir, const std::vector<std::string> &more = {}) {
        std::vector<std::string> arguments{TestInstance::daemon_path(), "--runtime-dir", runtime_dir, "--state-dir", state_dir};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return Process{arguments};
    }
    // It is to end with 78; returns what it said.
    std::string refused(const std::string &runtime_dir, const std::string &state_dir, const std::vector<std::string> &more = {}) {
        Process process = daemon(runtime_dir, state_dir, more);
        const auto exit = process.wait();
        EXPECT_EQ(exit.code, kRefused) << process.log();
        return process.log();
    }
    std::string refused(const std::vector<std::string> &more = {}) {
        return refused(instance.runtime_dir(), instance.state_dir(), more);
    }
    static void stop(Process &process) {
        process.signal(SIGTERM);
        EXPECT_EQ(process.wait().code, 0) << process.log();
    }
    static void ready(Process &process) { ASSERT_TRUE(process.wait_for_log(" ready: ")) << process.log(); }

    std::string other(const std::string &name) const { return instance.folder() / name; }
    std::string registry_path() const { return instance.state_dir() + "/registry.json"; }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(), 200};
};

TEST_F(Folders, ASecondDaemonOnTheRuntimeFolderIsRefusedAndSaysWhoHoldsIt) {
    const std::string said = refused(instance.runtime_dir(), other("state-2"));
    EXPECT_NE(said.find("pid " + std::to_string(instance.daemon().pid())), std::string::npos) << said;
    EXPECT_FALSE(fs::exists(other("state-2")));
    links.expect_goes_on();
}

TEST_F(Folders, ASecondDaemonOnTheStateFolderIsRefusedAndSaysWhoHoldsIt) {
    const std::string said = refused(other("run-2"), instance.state_dir());
    EXPECT_NE(said.find("pid " + std::to_string(instance.daemon().pid())), std::string::npos) << said;
    EXPECT_FALSE(fs::exists(other("run-2") + "/control"));
    links.expect_goes_on();
}

TEST_F(Folders, AnotherStateFolderCutsOldWorkersOffAndTheFirstOneBringsThemBack) {
    instance.stop();
    Process second = daemon(instance.runtime_dir(), other("state-2"));
    ready(second);
    links.expect_unverified();
    EXPECT_LT(std::stol(links.adder().tell("put something")), 0);
    stop(second);
    instance.start();
    ASSERT_TRUE(links.becomes_live());
    links.expect_goes_on();
    fs::remove_all(other("state-2"));
}

TEST_F(Folders, AnotherStateFolderWithAFilterOfTheSameNameIsNeverReadThroughOldBits) {
    instance.kill();
    Process second = daemon(instance.runtime_dir(), other("state-2"));
    ready(second);
    instance.must_ctl({"create", "links", "--capacity", "20k", "--fpr", "1e-3"});
    links.expect_unverified(); // another filter, warming
    EXPECT_EQ(links.adder().tell("put something"), "2");
    EXPECT_EQ(links.worker().tell("ask something"), "2");
    instance.must_ctl({"drop", "links", "--yes"}); // leaves no segment behind
    stop(second);
}

TEST_F(Folders, AnotherRuntimeFolderLeavesOldWorkersOnSegmentsThatGoOn) {
    instance.stop();
    const std::string run_2 = other("run-2");
    Process second = daemon(run_2, instance.state_dir());
    ready(second);
    links.expect_stands();
    Worker there{run_2};
    there.open("links");
    EXPECT_EQ(there.tell("put something"), "0");
    EXPECT_EQ(links.worker().tell("ask something"), "1");
    EXPECT_EQ(there.count_all("base62", links.acknowledged()).maybe, 200u);

    // A drop reaches those who read by the old control.
    Wire wire{run_2};
    EXPECT_EQ(wire.call({"SB.DROP", "links"}).text, "OK");
    EXPECT_TRUE(links.becomes_unverified(std::chrono::seconds{1}));
    EXPECT_FALSE(wire.call({"SB.CREATE", "links", "CAPACITY", "20000", "FPR", "0.001", "NOTHING-EXISTS-YET"}).is_error());
    EXPECT_TRUE(there.tell("put other") == "2" || there.tell("ask other") == "1");
    links.expect_unverified(); // its folder has no daemon: it cannot know, so it does not say
    stop(second);
}

TEST_F(Folders, AnotherRuntimeFolderThenALostSegmentRefusesAdds) {
    instance.stop();
    const std::string run_2 = other("run-2");
    links.remove_segment();
    Process second = daemon(run_2, instance.state_dir());
    ready(second);
    Worker there{run_2};
    there.open("links");
    EXPECT_EQ(there.tell("put something"), "-16"); // EBUSY
    links.expect_never_absent();
    stop(second);
}

TEST_F(Folders, ACopiedStateFolderIsRefused) {
    const std::string copy = other("state-copy");
    ASSERT_EQ(run({"/bin/cp", "-a", instance.state_dir(), copy}).code, 0);
    EXPECT_NE(refused(other("run-2"), copy).find("copy"), std::string::npos);
    instance.stop();
    EXPECT_NE(refused(instance.runtime_dir(), copy).find("copy"), std::string::npos);
    links.expect_stands(); // control was not touched
    instance.start();
    links.expect_goes_on();
}

TEST_F(Folders, AMovedStateFolderIsTheSame) {
    instance.stop();
    fs::rename(instance.state_dir(), other("moved"));
    Process second = daemon(instance.runtime_dir(), other("moved"));
    ready(second);
    links.expect_goes_on();
    stop(second);
    fs::rename(other("moved"), instance.state_dir());
}

TEST_F(Folders, AStateFolderWithoutItsRegistryIsRefusedUnlessInitIsSaid) {
    instance.stop();
    const auto left = instance.segment_names();
    fs::rename(registry_path(), other("kept-registry"));
    EXPECT_NE(refused().find("--init"), std::string::npos);
    EXPECT_FALSE(fs::exists(registry_path()));
    links.expect_stands();
    instance.start({"--init"});
    links.expect_unverified();
    EXPECT_TRUE(instance.info("links").empty());
    EXPECT_EQ(instance.segment_names(), left); // another state's: not this one's to remove
}

TEST_F(Folders, AnEmptyStateFolderIsRefusedLikeAMountThatIsMissing) {
    fs::create_directory(other("empty"));
    EXPECT_NE(refused(other("run-2"), other("empty")).find("--init"), std::string::npos);
    Process second = daemon(other("run-2"), other("empty"), {"--init"});
    ready(second);
    stop(second);
}

// A backup of the registry put back by hand: what came after it is in doubt, not absent.
TEST_F(Folders, AnOlderRegistryPutBackNeverAnswersAbsent) {
    KeptFilter cache{instance, "cache", KeptFilter::live(kMemory), 50};
    fs::copy_file(registry_path(), other("older"));
    for (KeptFilter *const filter : {&links, &cache}) {
        const std::string durability = filter->is_journalled() ? kDurable : kMemory;
        instance.must_ctl({"drop", filter->name(), "--yes"});
        instance.create(filter->name(),
                        {"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", durability, "NOTHING-EXISTS-YET"});
        ASSERT_TRUE(filter->becomes_live());
        EXPECT_EQ(filter->adder().tell("put newer"), "0");
    }
    instance.stop();
    fs::copy_file(other("older"), registry_path(), fs::copy_options::overwrite_existing);
    instance.start();
    for (KeptFilter *const filter : {&links, &cache}) {
        filter->expect_unverified();
        EXPECT_EQ(filter->worker().tell("ask newer"), "2");
    }
    EXPECT_EQ(instance.info("cache").at("doubts"), "lossy");
    EXPECT_EQ(instance.info("links").at("doubts"), "damaged"); // the journal has adds to a filter that it does not know
    // Once they are loaded that is over, for good.
    for (KeptFilter *const filter : {&links, &cache})
        instance.must_ctl({"load", filter->name(), filter->write_source(), "--overlap", "0"});
    instance.kill();
    links.remove_segment();
    instance.start();
    links.expect_lossy_or_restored();
    cache.expect_goes_on();
}

class DamagedRegistry : public Folders {
  protected:
    std::string text() const {
        std::ifstream file{registry_path(), std::ios::binary};
        return {std::istreambuf_iterator<char>{file}, {}};
    }
    void write(const std::string &content) const { std::ofstream{registry_path(), std::ios::binary} << content; }

    // Refused, with the file's name and a way out, and nothing changed.
    void expect_refused(const std::string &what) {
        const auto names = instance.segment_names();
        const std::string said = refused();
        EXPECT_NE(said.find("registry.json"), std::string::npos) << what << ": " << said;
        EXPECT_EQ(instance.segment_names(), names);
        links.expect_stands();
    }
};

TEST_F(DamagedRegistry, IsRefusedWhateverIsWrongAndNothingChanges) {
    instance.stop();
    const std::string good = text();
    const std::map<std::string, std::string> damaged{
        {"empty", ""},
        {"zeros", std::string(good.size(), '\0')},
        {"not JSON", "hello"},
        {"another JSON", "[]"},
        {"a JSON number", "1"},
        {"truncated in the middle", good.substr(0, good.size() / 2)},
        {"truncated by a line", good.substr(0, good.size() - 3)},
    };
    for (const auto &[what, content] : damaged) {
        write(content);
        expect_refused(what);
        EXPECT_EQ(text(), content) << what;
    }
    std::string newer = good;
    newer.replace(newer.find("\"format\": 3"), 11, "\"format\": 4");
    write(newer);
    EXPECT_NE(refused().find("newer"), std::string::npos);
    std::string unknown = good;
    unknown.replace(unknown.find("\"incompat\": 0"), 13, "\"incompat\": 4");
    write(unknown);
    EXPECT_NE(refused().find("newer"), std::string::npos);

    fs::remove(registry_path());
    fs::create_directory(registry_path());
    expect_refused("a folder");
    fs::remove(registry_path());

    write(good);
    instance.start();
    links.expect_goes_on();
}

TEST_F(DamagedRegistry, AFlippedByteAnywhereInItsContentIsRefused) {
    instance.stop();
    const auto seed = std::random_device{}();
    std::printf("seed %u\n", seed);
    std::mt19937 random{seed};
    const std::string good = text();
    const std::size_t begin = good.find("\"registry\": {"), end = good.rfind('}', good.rfind('}') - 1);
    ASSERT_LT(begin, end);
    for (int i = 0; i < 15; i++) {
        std::string bad = good;
        std::size_t at = begin;
        do
            at = begin + random() % (end - begin);
        while (bad[at] == ' ' || bad[at] == '\n');
        bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 7));
        write(bad);
        SCOPED_TRACE("byte " + std::to_string(at) + " became '" + bad[at] + "'");
        expect_refused("a flipped byte");
    }
    write(good);
    instance.start();
    links.expect_goes_on();
}

class SeedFiles : public Folders {
  protected:
    std::string seed_path(const std::string &name, const std::string &content) {
        const std::string path = other(name);
        std::ofstream{path} << content;
        return path;
    }
};

TEST_F(SeedFiles, TheSameIsTakenAnotherIsRefused) {
    instance.stop();
    fs::copy_file(instance.state_dir() + "/seed", other("same"));
    instance.start({"--seed-file", other("same")});
    links.expect_goes_on();
    instance.stop();
    const std::string said =
        refused({"--seed-file", seed_path("different", "shmbloom-seed-1 0123456789abcdef fedcba9876543210\n")});
    EXPECT_NE(said.find("seed file"), std::string::npos);
    EXPECT_EQ(said.find("0123456789abcdef"), std::string::npos) << "the seed is secret";
    links.expect_stands();
    instance.start();
    links.expect_goes_on();
}

TEST_F(SeedFiles, AMissingOrMalformedOneIsRefused) {
    instance.stop();
    EXPECT_NE(refused({"--seed-file", other("missing")}).find("does not exist"), std::string::npos);
    for (const std::string content : {"", "shmbloom-seed-1 0123456789abcdef\n", "shmbloom-seed-2 0123456789abcdef fedcba9876543210\n",
                                      "shmbloom-seed-1 0123456789abcdeg fedcba9876543210\n",
                                      "shmbloom-seed-1 0123456789abcdef fedcba9876543210 more\n"}) {
        const std::string said = refused({"--seed-file", seed_path("malformed", content)});
        EXPECT_NE(said.find("is not one line"), std::string::npos) << said;
        EXPECT_EQ(said.find("0123456789abcde"), std::string::npos) << "the seed is secret";
    }
    links.expect_stands();
}

TEST_F(SeedFiles, AGivenOneIsUsedByANewInstance) {
    const std::string path = seed_path("given", "shmbloom-seed-1 0123456789abcdef 00000000000000f0\n");
    Process second = daemon(other("run-2"), other("state-2"), {"--seed-file", path});
    ready(second);
    Wire wire{other("run-2")};
    const auto info = wire.call({"SB.CREATE", "x", "CAPACITY", "1000", "FPR", "0.01"}).fields();
    EXPECT_EQ(info.at("hash_domain"), "00000000000000f1"); // XOR the id of the hash
    EXPECT_EQ(wire.call({"SB.DROP", "x"}).text, "OK");
    stop(second);
}

// A first start that was refused must not stand in the way of the next.
TEST_F(SeedFiles, AWrongOneAtTheFirstStartLeavesNoStateFolder) {
    refused(other("run-2"), other("state-2"), {"--seed-file", other("missing")});
    Process second = daemon(other("run-2"), other("state-2"));
    ready(second);
    stop(second);
}

TEST_F(SeedFiles, TheOneThatIsMadeIsPrivate) {
    struct stat status {};
    ASSERT_EQ(::stat((instance.state_dir() + "/seed").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat(instance.state_dir().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat((instance.state_dir() + "/lock").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    ASSERT_EQ(::stat((instance.runtime_dir() + "/control").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
}

} // namespace
} // namespace shmbloom::test
