// Disks without room, for the state folder and for the runtime folder, before a start and under a running daemon; and
// folders whose mode somebody changed. The disks are real, in a mount namespace of this process: they are gone with it.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <random>

#include "kept_filter.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kRefused = 78;
constexpr const char *kNoSpace = "No space left on device";
constexpr const char *kRuntimeBytes = "2m"; // two controls
constexpr const char *kStateBytes = "32m";  // the first files of a few starts, of 4 MiB each, and one that follows, of 8
constexpr const char *kNoJournalBytes = "2m";

// Whether this process may mount; what it mounts from then on is seen by it and its children alone.
bool may_mount() {
    static const bool may =
        ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    return may;
}

class TinyDisk {
  public:
    TinyDisk(const std::string &path, const std::string &mode, const std::string &bytes) : path_{path} {
        fs::create_directory(path_);
        const std::string options = "size=" + bytes + ",mode=" + mode;
        if (::mount("tmpfs", path_.c_str(), "tmpfs", 0, options.c_str()) != 0)
            throw std::system_error{errno, std::generic_category(), "mount a tmpfs"};
    }
    ~TinyDisk() { ::umount2(path_.c_str(), MNT_DETACH); }
    TinyDisk(const TinyDisk &) = delete;
    TinyDisk &operator=(const TinyDisk &) = delete;

    void fill() const {
        const int fd = ::open(filler().c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        const std::string page(4096, 'x');
        while (::write(fd, page.data(), page.size()) > 0)
            continue;
        EXPECT_EQ(errno, ENOSPC);
        ::close(fd);
    }
    void free() const { EXPECT_TRUE(fs::remove(filler())); }

  private:
    std::string filler() const { return path_ + "/filler"; }
    std::string path_;
};

class FullDisk : public ::testing::TestWithParam<Durability> {
  protected:
    void SetUp() override {
        if (!may_mount())
            GTEST_SKIP() << "this process may not mount (" << std::strerror(errno) << "); run as root";
    }
    // A start that the machine refuses; returns what it said.
    std::string fails(const std::vector<std::string> &more = {}) {
        Process process = instance.launch(more);
        EXPECT_EQ(process.wait().code, 1) << process.log();
        return process.log();
    }
    static void expect_says(const std::string &said, const std::string &what) {
        EXPECT_NE(said.find(what), std::string::npos) << "'" << what << "' is not in: " << said;
    }
    // Adds to `other`, a journalled filter, until not even one key finds room in the journal. What that was told.
    Wire::Reply use_up_journal(const std::string &other) {
        Wire wire = instance.wire();
        const std::string domain = instance.info(other).at("hash_domain");
        const auto add = [&](std::size_t count) {
            std::vector<std::uint64_t> hashes(count);
            for (std::uint64_t &hash : hashes)
                hash = random_();
            return wire.add(other, domain, hashes);
        };
        while (!add(60'000).is_error()) // half a MiB each
            continue;
        // Once a second it is tried whether there is room again. There is, for smaller ones; until there is none.
        constexpr auto two_beats = std::chrono::milliseconds{2500};
        auto refused = add(1);
        for (auto until = Clock::now() + two_beats; Clock::now() < until; refused = add(1))
            if (!refused.is_error())
                until = Clock::now() + two_beats;
        return refused;
    }
    // Every start goes on with what was acknowledged, wherever it is.
    void expect_restored(KeptFilter &filter) {
        instance.kill();
        filter.remove_segment();
        instance.start();
        filter.expect_lossy_or_restored();
    }
    std::string runtime(const std::string &name) const { return instance.runtime_dir() + "/" + name; }

    TestInstance instance;

  private:
    std::mt19937_64 random_;
};

TEST_P(FullDisk, OfTheStateFolderWhileRunningRefusesChangesAndLosesNothing) {
    const TinyDisk disk{instance.state_dir(), "0700", kStateBytes};
    instance.start({"--init"});
    KeptFilter links{instance, "links", KeptFilter::live(GetParam())};
    disk.fill();
    const Finished created = instance.ctl({"create", "new", "--capacity", "1000", "--fpr", "1e-2"});
    EXPECT_EQ(created.code, 10);
    expect_says(created.log + created.output, kNoSpace);
    EXPECT_TRUE(eventually([&] { return instance.info("links").at("warnings") == "degraded"; }));
    links.expect_goes_on();
    EXPECT_TRUE(instance.daemon().wait_for_log("registry.json.new': " + std::string{kNoSpace}));

    disk.free();
    EXPECT_TRUE(eventually([&] { return instance.info("links").at("warnings").empty(); }));
    instance.must_ctl({"create", "new", "--capacity", "1000", "--fpr", "1e-2"});
    instance.kill();
    instance.start();
    EXPECT_FALSE(instance.info("new").empty());
    links.expect_goes_on();
    expect_restored(links);
}

// What the journal has no room for is refused, and nothing else is: it cannot be kept as promised.
TEST_P(FullDisk, OfTheJournalRefusesAddsToJournalledFiltersAndGoesOnByItself) {
    if (GetParam() == kMemory)
        return; // no journal
    const TinyDisk disk{instance.state_dir(), "0700", kStateBytes};
    instance.start({"--init"});
    KeptFilter links{instance, "links", KeptFilter::live(GetParam())};
    KeptFilter cache{instance, "cache", KeptFilter::live(kMemory), 100};
    instance.create("big", {"CAPACITY", "2000000", "FPR", "1e-3", "DURABILITY", GetParam(), "NOTHING-EXISTS-YET"});
    disk.fill();
    links.add(10); // into what was allocated before
    const auto refused = use_up_journal("big");
    EXPECT_EQ(refused.word(), "NOSPC");
    expect_says(refused.text, kNoSpace);
    const auto before = links.acknowledged().size();
    for (int i = 0; i < 3; i++)
        EXPECT_TRUE(links.try_add(5).starts_with("acknowledged 0 refused 5 last " + std::to_string(-ENOSPC) + " "));
    EXPECT_EQ(links.acknowledged().size(), before);
    EXPECT_TRUE(eventually([&] { return instance.info("links").at("warnings") == "degraded"; }));
    EXPECT_EQ(instance.info("links").at("live"), "1");
    EXPECT_GE(std::stoull(instance.info("links").at("adds_refused")), 15u);
    links.expect_stands();
    cache.expect_goes_on();

    disk.free();
    EXPECT_TRUE(eventually([&] { return instance.info("links").at("warnings").empty(); }));
    links.expect_goes_on();
    cache.expect_goes_on();
    disk.fill(); // and a second time, over a restart that finds every segment lost
    links.add(10);
    EXPECT_EQ(use_up_journal("big").word(), "NOSPC");
    instance.kill();
    instance.remove_segments();
    disk.free();
    instance.start();
    cache.expect_lossy_or_restored();
    links.expect_never_absent();
    // Which of the LSNs that were never acknowledged had been written the journal does not say: `logged` takes the worst.
    if (GetParam() == kLogged && instance.info("links").at("doubts") == "lossy")
        return links.expect_unverified();
    links.expect_lossy_or_restored();
    links.expect_goes_on();
}

// Not even the journal's first file.
TEST_P(FullDisk, TooSmallForAJournalTakesFiltersInMemoryOnly) {
    const TinyDisk disk{instance.state_dir(), "0700", kNoJournalBytes};
    instance.start({"--init"});
    if (GetParam() == kMemory) {
        KeptFilter links{instance, "links", KeptFilter::live(kMemory)};
        return links.expect_goes_on();
    }
    instance.create("links", {"CAPACITY", "20000", "FPR", "1e-3", "DURABILITY", GetParam(), "NOTHING-EXISTS-YET"});
    Worker worker = instance.worker();
    worker.open("links");
    EXPECT_EQ(worker.tell("put something"), std::to_string(-ENOSPC));
    EXPECT_TRUE(eventually([&] { return instance.info("links").at("warnings") == "degraded"; }));
    EXPECT_EQ(instance.info("links").at("adds_acknowledged"), "0");
    KeptFilter cache{instance, "cache", KeptFilter::live(kMemory), 100};
    cache.expect_goes_on();
}

TEST_P(FullDisk, OfTheStateFolderAtARestartIsSaidAndTheNextOneFindsEverything) {
    const TinyDisk disk{instance.state_dir(), "0700", kStateBytes};
    instance.start({"--init"});
    KeptFilter links{instance, "links", KeptFilter::live(GetParam())};
    disk.fill();
    links.add(100); // acknowledged while the disk was full already
    instance.kill();
    for (int i = 0; i < 2; i++) {
        expect_says(fails(), kNoSpace);
        links.expect_never_absent();
    }
    disk.free();
    instance.start();
    links.expect_goes_on();
    EXPECT_EQ(instance.segment_names(), instance.recorded_segment_names());
}

TEST_P(FullDisk, OfTheStateFolderAtAStopIsSaidAndHarmsNothing) {
    const TinyDisk disk{instance.state_dir(), "0700", kStateBytes};
    instance.start({"--init"});
    KeptFilter links{instance, "links", KeptFilter::live(GetParam())};
    disk.fill();
    instance.daemon().signal(SIGTERM);
    EXPECT_EQ(instance.daemon().wait().code, 1);
    expect_says(instance.daemon().log(), "the clean stop could not be noted");
    expect_says(instance.daemon().log(), kNoSpace);
    disk.free();
    instance.start();
    links.expect_goes_on();
}

// A state folder that is still to be made, on a disk without room: once there is some, a start is a first start.
TEST_P(FullDisk, AtTheFirstStartOfAllIsSaidAndTheNextOneNeedsNoOption) {
    const std::string mount = instance.folder() / "disk";
    const TinyDisk disk{mount, "0700", kNoJournalBytes};
    disk.fill();
    const std::vector<std::string> arguments{TestInstance::daemon_path(), "--runtime-dir", instance.runtime_dir(), "--state-dir",
                                             mount + "/state"};
    Process full{arguments};
    EXPECT_EQ(full.wait().code, 1) << full.log();
    expect_says(full.log(), kNoSpace);
    expect_says(full.log(), mount);
    EXPECT_FALSE(fs::exists(mount + "/state"));
    disk.free();
    Process second{arguments};
    EXPECT_TRUE(second.wait_for_log(" ready: ")) << second.log();
    second.signal(SIGTERM);
    EXPECT_EQ(second.wait().code, 0);
}

TEST_P(FullDisk, OfTheRuntimeFolderAtTheFirstStartIsSaidAndNoControlIsLeft) {
    const TinyDisk disk{instance.runtime_dir(), "0750", kRuntimeBytes};
    disk.fill();
    expect_says(fails(), kNoSpace);
    EXPECT_FALSE(fs::exists(runtime("control")));
    EXPECT_FALSE(fs::exists(runtime("control.new")));
    disk.free();
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(GetParam()), 100};
    links.expect_goes_on();
}

TEST_P(FullDisk, OfTheRuntimeFolderWhenControlIsToBeMadeAnew) {
    const TinyDisk disk{instance.runtime_dir(), "0750", kRuntimeBytes};
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(GetParam())};
    instance.kill();
    remove_control(instance);
    disk.fill();
    expect_says(fails(), "control.new': " + std::string{kNoSpace});
    links.expect_stands();
    disk.free();
    instance.start();
    links.expect_goes_on();
    // What is lost now has readers that no gate reaches.
    EXPECT_EQ(instance.info("links").at("warnings"), "");
}

TEST_P(FullDisk, OfTheRuntimeFolderWhileRunningHoldsUpOnlyANewControl) {
    const TinyDisk disk{instance.runtime_dir(), "0750", kRuntimeBytes};
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(GetParam())};
    disk.fill();
    links.expect_goes_on();
    KeptFilter more{instance, "more", KeptFilter::live(GetParam()), 100}; // needs room in /dev/shm and in the state folder
    remove_control(instance);
    EXPECT_TRUE(instance.daemon().wait_for_log("control cannot be made anew"));
    expect_says(instance.daemon().log(), "control.new': " + std::string{kNoSpace});
    links.expect_goes_on();
    more.expect_goes_on();
    disk.free();
    EXPECT_TRUE(eventually([&] { return fs::exists(runtime("control")); }));
    Worker fresh = instance.worker();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
    links.expect_goes_on();
}

INSTANTIATE_TEST_SUITE_P(Each, FullDisk, each_durability(), durability_name);

// Anybody could put a control of his own there.
TEST(FolderMode, ARuntimeFolderThatAnybodyMayWriteToIsTrustedByNobodyNew) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(), 100};
    ASSERT_EQ(::chmod(instance.runtime_dir().c_str(), 0777), 0);
    links.expect_goes_on(); // on what they have mapped
    Worker fresh = instance.worker();
    EXPECT_NE(fresh.tell("open links").find("others than its owner may write"), std::string::npos);
    instance.kill();
    links.expect_stands();
    Process refused = instance.launch();
    EXPECT_EQ(refused.wait().code, kRefused);
    EXPECT_NE(refused.log().find("chmod 0750"), std::string::npos) << refused.log();
    ASSERT_EQ(::chmod(instance.runtime_dir().c_str(), 0750), 0);
    instance.start();
    links.expect_goes_on();
    fresh.open("links");
    EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).maybe, links.acknowledged().size());
}

TEST(FolderMode, AStateFolderThatOthersMayReadIsClosedAtTheNextStart) {
    TestInstance instance;
    instance.start();
    KeptFilter links{instance, "links", KeptFilter::live(), 100};
    ASSERT_EQ(::chmod(instance.state_dir().c_str(), 0777), 0);
    links.expect_goes_on();
    instance.kill();
    instance.start();
    struct stat status {};
    ASSERT_EQ(::stat(instance.state_dir().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0700u);
    links.expect_goes_on();
}

// Root writes wherever it likes, so as somebody else.
TEST(FolderMode, AReadOnlyStateFolderRefusesChangesAndStartsAndLosesNothing) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can become somebody else";
    const TempFolder folder;
    ASSERT_EQ(::chown(folder.path().c_str(), 65534, 65534), 0);
    const std::string run_dir = folder / "run", state_dir = folder / "state";
    const auto launch = [&] {
        return Process{{"/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TestInstance::daemon_path(),
                        "--runtime-dir", run_dir, "--state-dir", state_dir}};
    };
    Process daemon = launch();
    ASSERT_TRUE(daemon.wait_for_log(" ready: ")) << daemon.log();
    Wire wire{run_dir};
    const auto made = wire.call({"SB.CREATE", "links", "CAPACITY", "1000", "FPR", "0.001", "NOTHING-EXISTS-YET"});
    ASSERT_FALSE(made.is_error()) << made.text;
    Worker worker{run_dir};
    worker.open("links");
    EXPECT_EQ(worker.tell("put zero"), "0"); // the journal's file is made and named

    ASSERT_EQ(::chmod(state_dir.c_str(), 0500), 0);
    const auto refused = wire.call({"SB.CREATE", "more", "CAPACITY", "1000", "FPR", "0.001"});
    EXPECT_EQ(refused.word(), "IO");
    EXPECT_NE(refused.text.find("Permission denied"), std::string::npos) << refused.text;
    EXPECT_EQ(worker.tell("put one"), "0");
    daemon.signal(SIGKILL);
    daemon.wait();
    Process failed = launch();
    EXPECT_EQ(failed.wait().code, 1);
    EXPECT_NE(failed.log().find("registry.json.new': Permission denied"), std::string::npos) << failed.log();
    EXPECT_EQ(worker.tell("ask one"), "1");

    ASSERT_EQ(::chmod(state_dir.c_str(), 0700), 0);
    Process again = launch();
    ASSERT_TRUE(again.wait_for_log(" ready: ")) << again.log();
    EXPECT_EQ(worker.tell("put two"), "0");
    EXPECT_EQ(worker.tell("ask one"), "1");
    EXPECT_EQ(Wire{run_dir}.call({"SB.DROP", "links"}).text, "OK"); // leaves no segment behind
}

} // namespace
} // namespace shmbloom::test
