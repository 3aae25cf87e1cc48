// Files of the state folder that are swapped with each other, gone, another's, or older than what names them: a start
// never crashes, what is live has every acknowledged key, and a doubt says which file it is about.
#include "damage.h"
#include "support/seal_snapshot.h"

namespace shmbloom::test {
namespace {

class MixedUp : public Damage {
  protected:
    // Two filters, each with two snapshots, a journal of several files; what was before it in the same lineage and
    // state.
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
    std::string snapshot_path(const FilterRecord &record, std::size_t which) const {
        return machine.state_path() + "/" + to_string(record.uuid) + "/" +
               snapshot_name(record.snapshots[which].number);
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
    ASSERT_TRUE(start_changed(
        [&] { fs::copy(snapshots["links"][0], snapshots["links"][1], fs::copy_options::overwrite_existing); }));
    expect_whole();
    ASSERT_TRUE(start_changed(
        [&] { fs::copy(snapshots["links"][1], snapshots["links"][0], fs::copy_options::overwrite_existing); }));
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

// Another content with the same geometry: its bits alone would be live with keys missing.
TEST_F(MixedUp, SnapshotOfAnOlderLineageInPlaceOfANewer) {
    run(6144);
    add("links", 20);
    snapshot("links");
    const FilterRecord before = machine.instance().find("links")->record;
    const std::string older = machine.state_path() + ".older";
    fs::copy(snapshot_path(before, 0), older);
    ASSERT_FALSE(machine.wait(machine.drop("links")).failure);
    create("links");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 40; i++)
            add("links", 5);
        snapshot("links");
    }
    const FilterRecord now = machine.instance().find("links")->record;
    ASSERT_NE(now.lineage, before.lineage);
    ASSERT_EQ(now.snapshots.size(), 2u);
    // So that the journal alone does not do.
    ASSERT_TRUE(
        machine.beat_until([&] { return machine.instance().journal().files().all().front().first > now.created; }));
    keep();

    const auto put_older_in_place_of = [&](std::size_t which, bool is_made_to_fit) {
        std::string bytes = slurp(older);
        auto header = read_as<SnapshotHeader>(bytes, 0);
        header.number = now.snapshots[which].number;
        header.s = now.snapshots[which].s;
        std::ranges::copy(now.uuid.bytes, header.filter_uuid);
        if (is_made_to_fit) { // all that is not its lineage
            std::memcpy(bytes.data(), &header, sizeof header);
            seal_snapshot(bytes);
        }
        put(snapshot_path(now, which), bytes);
    };
    for (const bool is_made_to_fit : {false, true}) {
        ASSERT_TRUE(start_changed([&] { put_older_in_place_of(1, is_made_to_fit); })) << refused;
        expect_whole(); // the one before does
        ASSERT_TRUE(start_changed([&] {
            put_older_in_place_of(0, is_made_to_fit);
            put_older_in_place_of(1, is_made_to_fit);
        })) << refused;
        expect_damaged(is_made_to_fit ? "is of another lineage" : "is another snapshot than the registry names");
    }
    fs::remove(older);
}

} // namespace
} // namespace shmbloom::test
