// What a start makes of a journal and snapshots that are damaged: it never crashes, what is live has every acknowledged key, and
// a doubt says which file it is about.
#include "damage.h"
#include "shmbloom/key.h"

namespace shmbloom::test {
namespace {

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
