// Control and segments that somebody wrote garbage into, beneath the daemon and workers that have them mapped: an answer is
// "unverified" or right, and nobody crashes. Bits cannot be part of it: a bit that somebody cleared is gone. And names
// and keys of the greatest length.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <random>

#include "kept_filter.h"
#include "memory_view.h"

namespace shmbloom::test {
namespace {

class CorruptedMemory : public ::testing::Test {
  protected:
    static TestInstance &started(TestInstance &instance) {
        instance.start();
        return instance;
    }
    CorruptedMemory() { std::printf("seed %u\n", seed_); }

    std::string control() const { return instance.runtime_dir() + "/control"; }
    std::string segment() const { return "/dev/shm/" + instance.segment_of("links"); }

    static std::string read(const std::string &path, std::size_t at, std::size_t size) {
        std::string bytes(size, '\0');
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        EXPECT_EQ(::pread(fd, bytes.data(), size, static_cast<off_t>(at)), static_cast<ssize_t>(size)) << path;
        ::close(fd);
        return bytes;
    }
    static void write(const std::string &path, std::size_t at, const std::string &bytes) {
        const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        EXPECT_EQ(::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size())) << path;
        ::close(fd);
    }
    std::string garbage(std::size_t size) {
        std::string bytes(size, '\0');
        std::ranges::generate(bytes, [&] { return static_cast<char>(random_()); });
        return bytes;
    }
    // Garbage of at most 256 bytes somewhere in [begin, end).
    void corrupt(const std::string &path, std::size_t begin, std::size_t end) {
        const std::size_t at = begin + random_() % (end - begin);
        write(path, at, garbage(1 + random_() % std::min<std::size_t>(256, end - at)));
    }

    // Those that were there, and one that comes now.
    void expect_never_wrong() {
        links.expect_never_absent();
        Worker fresh = instance.worker();
        const std::string opened = fresh.tell("open links");
        if (opened == "ok") {
            EXPECT_EQ(fresh.count_all("base62", links.acknowledged()).absent, 0u);
        } else {
            EXPECT_TRUE(opened.starts_with("error -")) << opened;
        }
        EXPECT_EQ(instance.wire().call({"BF.MEXISTS", "links", "never-added"}).elements.size(), 1u);
        EXPECT_TRUE(instance.daemon().is_running());
    }
    // The next start sorts it out: what was not whole is lossy, what was is live.
    void expect_restart_sorts_it_out() {
        instance.kill();
        expect_never_wrong_without_daemon();
        instance.start();
        expect_never_wrong();
        instance.must_ctl({"forget-readers", "--all"});
        instance.must_ctl({"resume", "--all"});
        instance.must_ctl({"live", "links", "--force-incomplete"});
        instance.must_ctl({"load", "links", links.write_source()});
        ASSERT_TRUE(links.becomes_live());
        links.expect_goes_on();
    }
    void expect_never_wrong_without_daemon() { links.expect_never_absent(); }

    TestInstance instance;
    KeptFilter links{started(instance), "links", KeptFilter::live(), 200};
    const unsigned seed_ = std::random_device{}();
    std::mt19937 random_{seed_};
};

TEST_F(CorruptedMemory, OfControlsHeader) {
    for (int i = 0; i < 20; i++) {
        corrupt(control(), 0, SHMBLOOM_CONTROL_HEADER_BYTES);
        expect_never_wrong();
    }
    expect_restart_sorts_it_out();
}

TEST_F(CorruptedMemory, OfTheFiltersSlotAndOthers) {
    constexpr std::size_t kSlots = SHMBLOOM_CONTROL_HEADER_BYTES;
    for (int i = 0; i < 40; i++) {
        corrupt(control(), kSlots, i % 2 == 0 ? kSlots + SHMBLOOM_SLOT_BYTES : SHMBLOOM_CONTROL_BYTES);
        expect_never_wrong();
    }
    expect_restart_sorts_it_out();
}

TEST_F(CorruptedMemory, OfTheWholeOfControl) {
    write(control(), 0, garbage(SHMBLOOM_CONTROL_BYTES));
    expect_never_wrong();
    expect_restart_sorts_it_out();
}

TEST_F(CorruptedMemory, OfTheSegmentsHeader) {
    for (int i = 0; i < 20; i++) {
        corrupt(segment(), 0, sizeof(shmbloom_segment_header));
        expect_never_wrong();
    }
    expect_restart_sorts_it_out();
}

TEST_F(CorruptedMemory, OfBothIsSaidAtTheNextStartAndItsAddsAreRefused) {
    write(segment(), 0, garbage(sizeof(shmbloom_segment_header)));
    write(control(), 0, garbage(SHMBLOOM_CONTROL_HEADER_BYTES));
    expect_never_wrong();
    instance.kill();
    instance.start();
    const std::string &log = instance.daemon().log();
    EXPECT_NE(log.find("its format is not this daemon's"), std::string::npos) << log;
    EXPECT_NE(log.find("is not what the registry says"), std::string::npos) << log;
    EXPECT_EQ(instance.info("links").at("warnings"), "adds_refused");
    expect_never_wrong();
}

// Whoever hashes by such a slot makes keys that nobody asks for: an add of them must not be acknowledged.
TEST_F(CorruptedMemory, OfASlotsSeedLosesNoAdd) {
    MemoryView view{instance.runtime_dir()};
    shmbloom_slot &slot = view.slot("links");
    Worker adder = instance.worker();
    slot.seed ^= 1;
    const std::string opened = adder.tell("open links");
    const bool acknowledged = opened == "ok" && !adder.tell("put lost").starts_with("-");
    slot.seed ^= 1;
    EXPECT_TRUE(!acknowledged || links.worker().tell("ask lost") != "0");
}

// The same of how keys are written.
TEST_F(CorruptedMemory, OfASlotsNormalizationLosesNoAdd) {
    MemoryView view{instance.runtime_dir()};
    shmbloom_slot &slot = view.slot("links");
    Worker adder = instance.worker();
    slot.normalization ^= SHMBLOOM_NORMALIZE_LOWER;
    const std::string opened = adder.tell("open links");
    const bool acknowledged = opened == "ok" && !adder.tell("put LOST").starts_with("-");
    slot.normalization ^= SHMBLOOM_NORMALIZE_LOWER;
    EXPECT_TRUE(!acknowledged || links.worker().tell("ask LOST") != "0");
}

class Longest : public ::testing::Test {
  protected:
    void SetUp() override { instance.start(); }
    // More than the pipes of Process hold.
    Finished ctl_from_file(const std::string &verb, const std::string &input) {
        const std::string path = instance.folder() / "input";
        std::ofstream{path} << input;
        return run({"/bin/sh", "-c", R"(exec "$0" --runtime-dir "$1" "$2" links - < "$3")", TestInstance::tool(), instance.runtime_dir(),
                    verb, path});
    }

    TestInstance instance;
};

TEST_F(Longest, NamesHave64Characters) {
    const std::string name(64, 'n'), other = std::string(63, 'n') + "m", too_long(65, 'n');
    for (const std::string &each : {name, other})
        instance.must_ctl({"create", each, "--capacity", "1000", "--fpr", "1e-6", "--nothing-exists-yet"});
    Worker worker = instance.worker(), beside = instance.worker();
    worker.open(name);
    beside.open(other);
    EXPECT_EQ(worker.tell("put a"), "0");
    EXPECT_EQ(worker.tell("ask a"), "1");
    EXPECT_EQ(beside.tell("ask a"), "0");
    instance.kill();
    instance.start();
    EXPECT_EQ(worker.tell("ask a"), "1");
    EXPECT_EQ(instance.wire().call({"BF.ADD", name, "b"}).text, "1");

    const Finished created = instance.ctl({"create", too_long, "--capacity", "1000", "--fpr", "1e-3"});
    EXPECT_EQ(created.code, 3);
    EXPECT_NE((created.log + created.output).find("64"), std::string::npos) << created.log;
    const auto refused = instance.wire().call({"SB.CREATE", too_long, "CAPACITY", "1000", "FPR", "0.001"});
    EXPECT_EQ(refused.word(), "RANGE");
    EXPECT_NE(refused.text.find("64"), std::string::npos) << refused.text;
    EXPECT_EQ(instance.wire().call({"BF.ADD", too_long, "a"}).word(), "NOTFOUND");
    const std::string opened = worker.tell("open " + too_long);
    EXPECT_TRUE(opened.starts_with("error -")) << opened;
    EXPECT_NE(opened.find("64"), std::string::npos) << opened;
}

TEST_F(Longest, KeysHaveOneMebibyteOnTheWireAndInTheLibrary) {
    instance.must_ctl({"create", "links", "--capacity", "1000", "--fpr", "1e-6", "--nothing-exists-yet"});
    const std::string key(1 << 20, 'k'), other = key.substr(1) + "x", too_long = key + "k";
    Wire wire = instance.wire();
    EXPECT_EQ(wire.call({"BF.ADD", "links", key}).text, "1");
    EXPECT_EQ(wire.call({"BF.EXISTS", "links", key}).text, "1");
    EXPECT_EQ(wire.call({"BF.EXISTS", "links", other}).text, "0");
    const auto refused = wire.call({"BF.ADD", "links", too_long});
    EXPECT_EQ(refused.word(), "RANGE");
    EXPECT_NE(refused.text.find("1048576"), std::string::npos) << refused.text;

    // The tool's verbs go through the library.
    const Finished contains = ctl_from_file("contains", key + "\n" + other + "\n");
    EXPECT_TRUE(contains.output == key + "\tmaybe\n" + other + "\tabsent\n") << contains.log;
    EXPECT_EQ(ctl_from_file("add", other + "\n").code, 0);
    EXPECT_EQ(wire.call({"BF.EXISTS", "links", other}).text, "1");
    const Finished too_much = ctl_from_file("add", too_long + "\n");
    EXPECT_NE(too_much.code, 0);
    EXPECT_NE(too_much.log.find("longer than 1 MiB"), std::string::npos) << too_much.log.substr(0, 300);
}

} // namespace
} // namespace shmbloom::test
