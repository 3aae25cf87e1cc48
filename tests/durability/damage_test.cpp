// What a start makes of a journal, snapshots and a registry that are damaged, mixed up or old: it never crashes, what is live
// has every acknowledged key, and a doubt says which file it is about.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "disk/journal_format.h"
#include "disk/snapshot.h"
#include "machine.h"
#include "shmbloom/key.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;
namespace format = journal_format;

constexpr auto kDurable = SHMBLOOM_DURABILITY_DURABLE;

std::string slurp(const std::string &path) {
    return read_file(path).value();
}

void put(const std::string &path, const std::string &content) {
    std::ofstream{path, std::ios::binary | std::ios::trunc} << content;
}

struct FrameAt {
    std::size_t offset, bytes;
    format::FrameHeader header;
    std::size_t end() const { return offset + bytes; }
    Lsn end_lsn() const { return header.first_lsn + header.count; }
};

std::vector<FrameAt> frames_of(const std::string &file) {
    std::vector<FrameAt> frames;
    for (std::size_t at = format::kHeaderBytes; at + sizeof(format::FrameHeader) <= file.size();) {
        FrameAt frame{at, 0, {}};
        std::memcpy(&frame.header, &file[at], sizeof frame.header);
        if (frame.header.magic != format::kFrameMagic)
            break;
        frame.bytes = sizeof frame.header + 8 * std::size_t{frame.header.count};
        at = frame.end();
        frames.push_back(frame);
    }
    return frames;
}

// A tree on the disk from which starts are made, again and again, each of another boot.
class Damage : public testing::Test {
  protected:
    void run(std::uint64_t file_bytes = 64 << 10) {
        machine.file_bytes = file_bytes;
        machine.start();
        create("links");
    }
    void create(const std::string &name, std::uint32_t durability = kDurable) {
        ASSERT_FALSE(machine.wait(machine.create(name, durability)).failure);
    }
    void add(const std::string &name, std::size_t count) {
        ASSERT_FALSE(machine.wait(machine.add(name, machine.fresh(count))).failure);
    }
    void snapshot(const std::string &name) { ASSERT_FALSE(machine.wait(machine.snapshot(name)).failure); }
    void idle() { // until the newest frame says that all before it is durable
        EXPECT_TRUE(machine.beat_until([&] {
            const auto frames = frames_of(slurp(newest_file()));
            return !frames.empty() && frames.back().header.durable_lsn == machine.instance().journal().next();
        }));
    }
    void keep() {
        machine.reboot();
        origin = machine.state_path() + ".origin";
        fs::copy(machine.state_path(), origin, fs::copy_options::recursive);
    }
    ~Damage() override {
        if (!origin.empty())
            fs::remove_all(origin);
    }
    std::string newest_file() const {
        std::uint64_t newest = 0;
        for (const auto &entry : fs::directory_iterator{machine.journal_path()})
            if (const auto number = std::stoull(entry.path().filename().string());
                number > newest && !frames_of(slurp(entry.path())).empty())
                newest = number;
        return machine.journal_path() + "/" + std::to_string(newest);
    }

    // From the kept tree, changed; nullopt: the start was refused, which says why.
    bool start_changed(const std::function<void()> &change) {
        machine.reboot();
        for (const auto &entry : fs::directory_iterator{machine.state_path()})
            fs::remove_all(entry.path());
        for (const auto &entry : fs::directory_iterator{origin})
            fs::copy(entry.path(), fs::path{machine.state_path()} / entry.path().filename(), fs::copy_options::recursive);
        change();
        machine.disk().come_back(machine.state_path(), copy_of_state());
        refused.clear();
        try {
            machine.start();
        } catch (const std::exception &error) {
            refused = error.what();
            return false;
        }
        return true;
    }
    std::string copy_of_state() {
        const std::string copy = machine.state_path() + ".copy";
        fs::remove_all(copy);
        fs::copy(machine.state_path(), copy, fs::copy_options::recursive);
        return copy;
    }
    void expect_damaged(const std::string &named_in_text, const std::string &name = "links") {
        ASSERT_TRUE(refused.empty()) << refused;
        EXPECT_EQ(machine.doubts(name), SHMBLOOM_DOUBT_DAMAGED);
        EXPECT_NE(machine.doubt_text(name).find(named_in_text), std::string::npos)
            << named_in_text << " is not in: " << machine.doubt_text(name);
    }
    void expect_whole() {
        ASSERT_TRUE(refused.empty()) << refused;
        EXPECT_EQ(lines(machine.broken(machine.promises())), "");
    }
    std::string file(std::uint64_t number) const { return machine.journal_path() + "/" + std::to_string(number); }
    static void flip(const std::string &path, std::size_t at) {
        std::string content = slurp(path);
        content.at(at) = static_cast<char>(content.at(at) ^ 0x41);
        put(path, content);
    }

    Machine machine;
    std::string origin, refused;
};

// (a)
TEST_F(Damage, CutAtEachByteOfTheLastTwoFramesIsDamageBelowWhatIsKnownToBeDurable) {
    run();
    for (int i = 0; i < 3; i++)
        add("links", 2);
    const std::string path = newest_file();
    keep();
    const auto frames = frames_of(slurp(path));
    ASSERT_GE(frames.size(), 3u);
    for (std::size_t cut = frames[frames.size() - 2].offset; cut < frames.back().end(); cut++) {
        ASSERT_TRUE(start_changed([&] { fs::resize_file(path, cut); })) << refused;
        // The frames that are left say what was durable: all but the last, as the last one that is left says.
        Lsn end = 1, durable = 1;
        for (const FrameAt &frame : frames)
            if (frame.end() <= cut) {
                end = frame.end_lsn();
                durable = std::max(durable, frame.header.durable_lsn);
            }
        ASSERT_LE(durable, end);
        ASSERT_EQ(machine.doubts("links"), 0u) << cut << machine.doubt_text("links");
        const Filter *const filter = machine.instance().find("links");
        ASSERT_GE(filter->segment->count_bits(), (end - 1) * (filter->record.shape.probes - 2)) << cut;
    }
    // Proven from elsewhere.
    auto proven = [&](const std::function<void(Registry &)> &by) {
        for (std::size_t cut = frames[frames.size() - 2].offset; cut < frames.back().end(); cut++) {
            ASSERT_TRUE(start_changed([&] {
                fs::resize_file(path, cut);
                Registry registry = machine.registry_on_disk();
                by(registry);
                machine.write_registry(registry);
            })) << refused;
            ASSERT_EQ(machine.doubts("links"), SHMBLOOM_DOUBT_DAMAGED) << cut;
            ASSERT_NE(machine.doubt_text("links").find("LSN"), std::string::npos);
        }
    };
    const Lsn all = frames.back().end_lsn();
    proven([&](Registry &registry) { registry.journal.end = all; });
    proven([&](Registry &registry) {
        FilterRecord other = registry.filters.front(); // of which a snapshot says it
        other.name = "other";
        other.uuid = Uuid::random();
        other.number = registry.next_filter_number++;
        other.snapshots = {{.number = 1, .s = all, .end = all, .begun = 1, .lineage = other.lineage, .bulk_acts = 0, .bytes = 1}};
        registry.filters.push_back(other);
    });
}

TEST_F(Damage, CutBelowALaterMarkerIsDamage) {
    run(6144);
    for (int i = 0; i < 30; i++)
        add("links", 5);
    idle();
    const std::string newest = newest_file();
    const std::string before = file(std::stoull(fs::path{newest}.filename()) - 1);
    keep();
    const auto frames = frames_of(slurp(before));
    ASSERT_GE(frames.size(), 2u);
    for (std::size_t cut = frames[frames.size() - 2].offset; cut < frames.back().end(); cut++) {
        ASSERT_TRUE(start_changed([&] { fs::resize_file(before, cut); })) << refused;
        ASSERT_EQ(machine.doubts("links"), SHMBLOOM_DOUBT_DAMAGED) << cut;
        ASSERT_EQ(lines(machine.wrong_absents(machine.promises())), "");
        if (cut != frames[frames.size() - 2].offset && cut != frames.back().offset) { // else there is no bad byte to name
            expect_damaged(before);
        }
    }
}

// (b), (c)
TEST_F(Damage, EachFlippedByteOfAFilesHeaderIsDamageUnlessNothingReadsIt) {
    run();
    add("links", 3);
    idle();
    const std::string path = newest_file();
    keep();
    for (std::size_t at = 0; at < sizeof(format::FileHeader); at++) {
        ASSERT_TRUE(start_changed([&] { flip(path, at); })) << refused;
        expect_damaged(path);
        ASSERT_FALSE(HasFailure()) << "byte " << at;
    }
}

TEST_F(Damage, EachFlippedByteOfAFrameIsDamageWhereALaterOneSaysItWasDurable) {
    run();
    for (int i = 0; i < 4; i++)
        add("links", 2);
    idle();
    const std::string path = newest_file();
    keep();
    const auto frames = frames_of(slurp(path));
    const Lsn durable = frames.back().header.durable_lsn;
    for (const FrameAt &frame : frames)
        for (std::size_t at = frame.offset; at < frame.end(); at++) {
            ASSERT_TRUE(start_changed([&] { flip(path, at); })) << refused;
            ASSERT_EQ(lines(machine.wrong_absents(machine.promises())), "") << "byte " << at;
            // A marker's own loss is none while another says the same.
            if (frame.header.count > 0 && frame.end_lsn() <= durable)
                expect_damaged(path);
            ASSERT_FALSE(HasFailure()) << "byte " << at;
        }
}

TEST_F(Damage, HoleWithGoodFramesBehindIsDamageThatNamesTheLsns) {
    run();
    for (int i = 0; i < 10; i++)
        add("links", 2);
    const std::string path = newest_file();
    keep();
    const auto frames = frames_of(slurp(path));
    ASSERT_GT(frames.size(), 6u);
    ASSERT_TRUE(start_changed([&] {
        std::string content = slurp(path);
        std::memset(&content[frames[3].offset], 0, frames[3].bytes);
        put(path, content);
    }));
    expect_damaged("from LSN " + std::to_string(frames[3].header.first_lsn));
}

TEST_F(Damage, BadFramesAboveWhatIsDurableAreOfNoConsequence) {
    run();
    for (int i = 0; i < 4; i++)
        add("links", 2);
    idle();
    const std::string path = newest_file();
    keep();
    const auto frames = frames_of(slurp(path));
    ASSERT_TRUE(start_changed([&] {
        std::string content = slurp(path);
        for (std::size_t at = frames.back().end(); at < content.size(); at += 3)
            content[at] = static_cast<char>(at * 7);
        put(path, content);
    }));
    expect_whole();
}

TEST_F(Damage, SnapshotMakesDamageBelowItHarmless) {
    run();
    for (int i = 0; i < 4; i++)
        add("links", 2);
    snapshot("links");
    add("links", 2);
    const std::string path = newest_file();
    keep();
    const auto frames = frames_of(slurp(path));
    ASSERT_TRUE(start_changed([&] { flip(path, frames[1].offset + 70); }));
    expect_whole();
    // Without it, it is damage that names both.
    const auto record = machine.instance().find("links")->record;
    const std::string name = machine.state_path() + "/" + to_string(record.uuid) + "/" + snapshot_name(1);
    ASSERT_TRUE(start_changed([&] {
        flip(path, frames[1].offset + 70);
        flip(name, 5000 % fs::file_size(name));
    }));
    expect_damaged(path);
    expect_damaged(name);
    // The journal alone is enough while it is whole.
    ASSERT_TRUE(start_changed([&] { flip(name, 5000 % fs::file_size(name)); }));
    expect_whole();
    ASSERT_TRUE(start_changed([&] { fs::remove(name); }));
    expect_whole();
}

// (d)
class MixedUp : public Damage {
  protected:
    // Two filters, each with two snapshots, a journal of several files; what was before it in the same lineage and state.
    void fill() {
        run(6144);
        create("other");
        for (int round = 0; round < 2; round++) {
            for (int i = 0; i < 20; i++) {
                add("links", 5);
                add("other", 5);
            }
            snapshot("*");
        }
        for (int i = 0; i < 20; i++)
            add("links", 5);
        idle();
        for (const char *name : {"links", "other"}) {
            const auto &record = machine.instance().find(name)->record;
            for (const SnapshotRecord &each : record.snapshots)
                snapshots[name].push_back(machine.state_path() + "/" + to_string(record.uuid) + "/" +
                                          snapshot_name(each.number));
        }
        numbers.clear();
        for (const auto &file : machine.instance().journal().files().all())
            numbers.push_back(file.record.number);
        keep();
        ASSERT_GE(numbers.size(), 2u);
    }
    // Whatever comes of it: no crash, and no wrong absent.
    void expect_honest(const std::function<void()> &change, const std::string &what) {
        if (!start_changed(change)) {
            EXPECT_NE(refused.find(machine.state_path()), std::string::npos) << what << ": " << refused;
            return;
        }
        EXPECT_EQ(lines(machine.wrong_absents(machine.promises())), "") << what;
    }
    static void swap(const std::string &a, const std::string &b) {
        fs::rename(a, a + ".swap");
        fs::rename(b, a);
        fs::rename(a + ".swap", b);
    }

    std::map<std::string, std::vector<std::string>> snapshots;
    std::vector<std::uint64_t> numbers;
};

TEST_F(MixedUp, SnapshotsOfTwoFiltersAreSwapped) {
    fill();
    ASSERT_TRUE(start_changed([&] { swap(snapshots["links"][1], snapshots["other"][1]); }));
    expect_whole(); // the older ones do
    ASSERT_TRUE(start_changed([&] {
        for (int i = 0; i < 2; i++)
            swap(snapshots["links"][static_cast<std::size_t>(i)], snapshots["other"][static_cast<std::size_t>(i)]);
    }));
    expect_honest([] {}, "nothing");
    expect_whole();
    expect_honest(
        [&] {
            for (std::size_t i = 0; i < 2; i++)
                swap(snapshots["links"][i], snapshots["other"][i]);
        },
        "swapped");
}

TEST_F(MixedUp, OlderSnapshotUnderTheNameOfTheNewer) {
    fill();
    ASSERT_TRUE(start_changed([&] { fs::copy(snapshots["links"][0], snapshots["links"][1], fs::copy_options::overwrite_existing); }));
    expect_whole();
    ASSERT_TRUE(start_changed([&] { fs::copy(snapshots["links"][1], snapshots["links"][0], fs::copy_options::overwrite_existing); }));
    expect_whole();
}

TEST_F(MixedUp, FilesOfTheJournalAreSwappedOrGone) {
    fill();
    ASSERT_TRUE(start_changed([&] { swap(file(numbers[numbers.size() - 1]), file(numbers[numbers.size() - 2])); }));
    EXPECT_EQ(machine.doubts("links"), SHMBLOOM_DOUBT_DAMAGED);
    EXPECT_NE(machine.doubt_text("links").find(machine.journal_path()), std::string::npos);
    ASSERT_TRUE(start_changed([&] { fs::remove(file(numbers.back())); }));
    expect_damaged(file(numbers.back()));
    ASSERT_TRUE(start_changed([&] { put(file(numbers.back()), ""); }));
    expect_damaged(file(numbers.back()));
    ASSERT_TRUE(start_changed([&] {
        fs::remove(file(numbers.back()));
        fs::create_directory(file(numbers.back()));
    }));
    expect_damaged(file(numbers.back()));
    ASSERT_TRUE(start_changed([&] { fs::remove_all(machine.journal_path()); }));
    expect_damaged(machine.journal_path());
    for (const std::uint64_t number : numbers)
        expect_honest([&] { fs::remove(file(number)); }, "without " + file(number));
    expect_honest(
        [&] {
            fs::remove_all(machine.journal_path());
            put(machine.journal_path(), "");
        },
        "journal is a file");
}

TEST_F(MixedUp, SomethingElseWhereAFileShouldBe) {
    fill();
    for (const std::string &path : snapshots["links"]) {
        ASSERT_TRUE(start_changed([&] { put(path, ""); })) << refused;
        expect_whole();
        ASSERT_TRUE(start_changed([&] {
            fs::remove(path);
            fs::create_directory(path);
        })) << refused;
        expect_whole();
    }
    const fs::path folder = fs::path{snapshots["links"][0]}.parent_path();
    expect_honest(
        [&] {
            fs::remove_all(folder);
            put(folder, "");
        },
        "a file instead of a filter's folder");
    expect_honest([&] { fs::remove_all(folder); }, "no folder");
    expect_honest([&] { put(machine.state_path() + "/registry.json", ""); }, "an empty registry");
    EXPECT_NE(refused, "");
    expect_honest([&] { fs::create_directory(machine.state_path() + "/registry.json.new"); }, "a folder in the way");
}

TEST_F(MixedUp, FileOfAnotherInstanceIsNotRead) {
    fill();
    Machine other;
    other.file_bytes = 6144;
    other.start();
    ASSERT_FALSE(other.wait(other.create("links", kDurable)).failure);
    for (int i = 0; i < 10; i++)
        ASSERT_FALSE(other.wait(other.add("links", other.fresh(5))).failure);
    const std::string foreign = other.journal_path() + "/1";
    ASSERT_TRUE(start_changed([&] { fs::copy(foreign, file(numbers.back() + 7)); }));
    expect_whole();
    ASSERT_TRUE(start_changed([&] { fs::copy(foreign, file(numbers.back()), fs::copy_options::overwrite_existing); }));
    expect_damaged(file(numbers.back()));
}

TEST_F(MixedUp, RegistryOfYesterdayIsNoticedByTheFilesItDoesNotName) {
    run(6144);
    for (int i = 0; i < 10; i++)
        add("links", 5);
    const std::string yesterday = slurp(machine.state_path() + "/registry.json");
    for (int i = 0; i < 60; i++)
        add("links", 5);
    const std::string newest = newest_file();
    keep();
    ASSERT_TRUE(start_changed([&] { put(machine.state_path() + "/registry.json", yesterday); })) << refused;
    expect_damaged(newest);
}

// (e)
TEST_F(Damage, WrittenByANewerVersionIsDamageThatSaysSo) {
    run();
    add("links", 3);
    idle();
    const std::string path = newest_file();
    keep();
    auto change_header = [&](const std::function<void(format::FileHeader &)> &change) {
        std::string content = slurp(path);
        format::FileHeader header;
        std::memcpy(&header, content.data(), sizeof header);
        change(header);
        header.checksum = XXH3_64bits(&header, offsetof(format::FileHeader, checksum));
        std::memcpy(content.data(), &header, sizeof header);
        put(path, content);
    };
    ASSERT_TRUE(start_changed([&] { change_header([](auto &header) { header.incompat = 1; }); }));
    expect_damaged("newer");
    expect_damaged(path);
    ASSERT_TRUE(start_changed([&] { change_header([](auto &header) { header.version++; }); }));
    expect_damaged(path);
    ASSERT_TRUE(start_changed([&] { change_header([](auto &header) { header.compat = 1; }); }));
    expect_whole();
    // Another file id: sealed, but not the one that the registry names.
    ASSERT_TRUE(start_changed([&] { change_header([](auto &header) { header.file_id++; }); }));
    expect_damaged(path);
}

} // namespace
} // namespace shmbloom::test
