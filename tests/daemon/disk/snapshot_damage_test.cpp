// Whatever stands in the place of a snapshot: a reason, never a crash, and no bit of it is believed.
#include <limits>

#include "snapshot_fixture.h"

namespace shmbloom {
namespace {

class DamagedSnapshot : public SnapshotFixture {
  protected:
    void expect_refused_with_a_flip_at(std::uint64_t offset) {
        SCOPED_TRACE("a flipped bit at " + std::to_string(offset));
        flip_bit(offset);
        expect_refused();
        flip_bit(offset);
    }

    // A small one with another header, all checksums right: whoever damages by intent does that.
    void put_with(void (*change)(SnapshotHeader &)) {
        write(kSmall, some_words(kSmall));
        std::string bytes = content();
        auto header = test::read_as<SnapshotHeader>(bytes, 0);
        change(header);
        std::memcpy(bytes.data(), &header, sizeof header);
        test::seal_snapshot(bytes);
        put(bytes);
    }

    void expect_refused_with(void (*change)(SnapshotHeader &), const std::string &why) {
        put_with(change);
        expect_refused(why);
    }
};

TEST_F(DamagedSnapshot, IsRefusedWithAFlipInAnyByte) {
    write(kSmall, some_words(kSmall));
    for (std::uint64_t offset = 0; offset < places_of(kSmall).file_bytes(); offset++)
        expect_refused_with_a_flip_at(offset);
    EXPECT_EQ(complaint(), "");
}

TEST_F(DamagedSnapshot, OfSeveralChunksIsRefusedWithAFlipInAnyByte) {
    write(kThreeChunks, some_words(kThreeChunks));
    const SnapshotPlaces places = places_of(kThreeChunks);
    for (std::uint64_t offset = 0; offset < sizeof(SnapshotHeader); offset++)
        expect_refused_with_a_flip_at(offset);
    for (std::uint64_t offset = places.table_offset(); offset < places.file_bytes(); offset++)
        expect_refused_with_a_flip_at(offset);
    std::mt19937_64 random{1};
    for (int i = 0; i < 512; i++)
        expect_refused_with_a_flip_at(random() % places.file_bytes());
    EXPECT_EQ(complaint(), "");
}

TEST_F(DamagedSnapshot, NamesTheChunk) {
    write(kThreeChunks, some_words(kThreeChunks));
    flip_bit(places_of(kThreeChunks).chunk_offset(1));
    expect_refused("is damaged: chunk 1 fails its checksum");
}

TEST_F(DamagedSnapshot, SetsNoBitOfADamagedChunkWhenItIsMerged) {
    const Words words = some_words(kThreeChunks);
    write(kThreeChunks, words);
    flip_bit(places_of(kThreeChunks).chunk_offset(1));
    Words merged(words.size());
    EXPECT_FALSE(open()->merge_into(merged.data(), reason));
    EXPECT_NE(reason.find("'" + path + "' is damaged: chunk 1"), std::string::npos) << reason;
    std::ptrdiff_t set = 0;
    for (std::size_t i = 0; i < words.size(); i++)
        ASSERT_EQ(merged[i] & ~words[i], 0u);
    for (std::size_t i = kSnapshotChunkBytes / 8; i < words.size(); i++)
        set += merged[i] != 0;
    EXPECT_EQ(set, 0);
}

TEST_F(DamagedSnapshot, IsRefusedWhenChunksChangePlaces) {
    write(kThreeChunks, some_words(kThreeChunks));
    std::string bytes = content();
    const SnapshotPlaces places = places_of(kThreeChunks);
    const auto chunk = [&](std::uint64_t i) {
        return bytes.begin() + static_cast<std::ptrdiff_t>(places.chunk_offset(i));
    };
    std::swap_ranges(chunk(0), chunk(1), chunk(1));
    put(bytes);
    expect_refused("chunk 0 fails its checksum");
}

TEST_F(DamagedSnapshot, IsRefusedWithTheBitsOfAnotherOne) {
    const Words words = some_words(kSmall);
    write(kSmall, words);
    const std::string first = content();
    SnapshotIdentity later = some_snapshot(kSmall);
    later.s++;
    SnapshotWriter writer{folder.get(), temp.path(), later};
    ASSERT_TRUE(writer.copy(Words(words.size()).data(), 0, never));
    writer.finish(kSomeEnd);
    const std::string second = content();
    put(second.substr(0, 4096) + first.substr(4096)); // with their table and footer
    expect_refused("its footer fails the checksum");
    put(second.substr(0, 4096) + first.substr(4096, 4096) + second.substr(8192)); // without
    expect_refused("chunk 0 fails its checksum");
}

TEST_F(DamagedSnapshot, IsRefusedWhenItIsCutAnywhere) {
    write(kThreeChunks, some_words(kThreeChunks));
    const std::uint64_t whole = places_of(kThreeChunks).file_bytes();
    for (std::uint64_t size = whole - 1; size > 0; size = size > whole - 200 ? size - 1 : (size - 1) / 512 * 512) {
        truncate_to(size);
        SCOPED_TRACE(size);
        expect_refused(size < sizeof(SnapshotHeader) ? "fewer than a header" : "instead of 3149912");
    }
    truncate_to(0);
    expect_refused("it has 0 bytes, fewer than a header");
}

TEST_F(DamagedSnapshot, IsRefusedWithAnythingBehindItsEnd) {
    write(kSmall, some_words(kSmall));
    for (const std::uint64_t size : {1u, 8u, 64u, 4096u}) {
        truncate_to(places_of(kSmall).file_bytes() + size);
        expect_refused("bytes instead of 8264");
    }
}

TEST_F(DamagedSnapshot, IsRefusedWhenItIsCutWhileItIsOpen) {
    write(kThreeChunks, some_words(kThreeChunks));
    const auto file = open();
    truncate_to(2u << 20);
    scratch.resize(file->bits_bytes() / 8);
    EXPECT_FALSE(file->read_into(scratch.data(), reason));
    EXPECT_NE(reason.find("'" + path + "' became shorter while it was read"), std::string::npos) << reason;
    EXPECT_FALSE(file->merge_into(scratch.data(), reason));
}

TEST_F(DamagedSnapshot, IsRefusedWhenItIsNotThereOrNoRegularFile) {
    expect_refused("cannot be opened: No such file or directory");
    std::filesystem::create_directory(path);
    expect_refused("is no regular file");
    std::filesystem::remove(path);
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    expect_refused("is no regular file");
    std::filesystem::remove(path);
    write(kSmall, some_words(kSmall));
    std::filesystem::rename(path, temp / "other");
    std::filesystem::create_symlink("other", path);
    expect_refused("is a symbolic link");
}

TEST_F(DamagedSnapshot, OfANewerDaemonNamesThatOne) {
    expect_refused_with([](SnapshotHeader &header) { header.version = 2; }, "is of format 2, written by shmbloomd 0.");
    expect_refused_with(
        [](SnapshotHeader &header) {
            header.incompat = 1;
            std::memcpy(header.writer, "9.9\n\x1b[2J", 9);
        },
        "was written by a newer shmbloomd (9.9??[2J), ");
    expect_refused_with([](SnapshotHeader &header) { header.magic++; }, "is no snapshot");
}

TEST_F(DamagedSnapshot, IsNotWhatCompatBitsOfANewerDaemonMake) {
    put_with([](SnapshotHeader &header) { header.compat = 1, header.zero[0] = 1; });
    EXPECT_EQ(complaint(), "");
}

TEST_F(DamagedSnapshot, IsRefusedWithAnyNumberOutOfRange) {
    void (*const changes[])(SnapshotHeader &) = {
        [](SnapshotHeader &h) { h.header_bytes = 8192; },
        [](SnapshotHeader &h) { h.hash_list_complete = 2; },
        [](SnapshotHeader &h) { h.hash_id = 2; },
        [](SnapshotHeader &h) { h.key_type = 2; },
        [](SnapshotHeader &h) { h.normalization = 4; },
        [](SnapshotHeader &h) { h.normalization = SHMBLOOM_NORMALIZE_LOWER; }, // of numbers
        [](SnapshotHeader &h) { h.generation = 0; },
        [](SnapshotHeader &h) { h.generation = SHMBLOOM_GENERATION_MAX + 1; },
        [](SnapshotHeader &h) { h.lineage = 0; },
        [](SnapshotHeader &h) { h.lineage = h.generation + 1; },
        [](SnapshotHeader &h) { h.capacity = 0; },
        [](SnapshotHeader &h) { h.capacity = geometry::kCapacityMax + 1; },
        [](SnapshotHeader &h) { h.fpr = 0; },
        [](SnapshotHeader &h) { h.fpr = 0.6; },
        [](SnapshotHeader &h) { h.fpr = std::numeric_limits<double>::quiet_NaN(); },
        [](SnapshotHeader &h) { h.layout = 0; },
        [](SnapshotHeader &h) { h.layout = 3; },
        [](SnapshotHeader &h) { h.probes = 1; },
        [](SnapshotHeader &h) { h.probes = 4; },
        [](SnapshotHeader &h) { h.size = 0; },
        [](SnapshotHeader &h) { h.size = 65; },
        [](SnapshotHeader &h) { h.size = (1ull << 37) + 1, h.bits_bytes = h.size * 64; },
        [](SnapshotHeader &h) { h.size = 1ull << 58 | 64; }, // times 64: 4096 again
        [](SnapshotHeader &h) { h.layout = SHMBLOOM_LAYOUT_CLASSIC, h.size = 63; },
        [](SnapshotHeader &h) { h.layout = SHMBLOOM_LAYOUT_CLASSIC, h.size = ~0ull, h.bits_bytes = 1ull << 61; },
        [](SnapshotHeader &h) { h.layout = SHMBLOOM_LAYOUT_CLASSIC, h.size = 32768, h.probes = 0; },
        [](SnapshotHeader &h) { h.layout = SHMBLOOM_LAYOUT_CLASSIC, h.size = 32768, h.probes = 65; },
        [](SnapshotHeader &h) { h.bits_bytes += 8; },
        [](SnapshotHeader &h) { h.chunk_bytes = 0; },
        [](SnapshotHeader &h) { h.chunk_bytes = 4096; },
        [](SnapshotHeader &h) { h.chunk_bytes++; },
        [](SnapshotHeader &h) { h.chunk_bytes *= 32; }};
    for (std::size_t i = 0; i < std::size(changes); i++) {
        SCOPED_TRACE("change " + std::to_string(i));
        expect_refused_with(changes[i], "its header holds a number out of range");
    }
}

TEST_F(DamagedSnapshot, IsRefusedWithAFooterOutOfRange) {
    write(kSmall, some_words(kSmall));
    const std::string bytes = content();
    const std::uint64_t offset = places_of(kSmall).footer_offset();
    void (*const changes[])(SnapshotFooter &) = {[](SnapshotFooter &footer) { footer.chunk_count = 2; },
                                                 [](SnapshotFooter &footer) { footer.bits_set = 4096 * 8 + 1; },
                                                 [](SnapshotFooter &footer) { footer.magic++; }};
    for (const auto change : changes) {
        std::string changed = bytes;
        auto footer = test::read_as<SnapshotFooter>(changed, offset);
        change(footer);
        std::memcpy(&changed[offset], &footer, sizeof footer);
        test::seal_snapshot(changed);
        put(changed);
        expect_refused("its footer");
    }
}

TEST_F(DamagedSnapshot, ThatClaimsEightTebibytesTakesNoMemoryForThem) {
    expect_refused_with([](SnapshotHeader &h) { h.size = 1ull << 37, h.bits_bytes = h.size * 64; },
                        "it has 8264 bytes instead of 8796160135232");
}

class SnapshotOfAnotherWriter : public SnapshotFixture {};

// Each 512 checksums that are read at once end in the middle, or with the last one.
TEST_F(SnapshotOfAnotherWriter, IsReadWithOtherChunkSizesAndLongTables) {
    for (const std::uint64_t chunks : {512u, 513u, 1025u}) {
        const shmbloom_shape shape{SHMBLOOM_LAYOUT_BLOCKED, 2, chunks * 1024};
        const Words words = some_words(shape);
        write(shape, words);
        std::string bytes = content();
        auto header = test::read_as<SnapshotHeader>(bytes, 0);
        auto footer = test::read_as<SnapshotFooter>(bytes, bytes.size() - sizeof(SnapshotFooter));
        header.chunk_bytes = kSnapshotChunkBytesMin;
        const SnapshotPlaces places{header.bits_bytes, header.chunk_bytes};
        footer.chunk_count = chunks;
        bytes.resize(places.file_bytes());
        std::memcpy(bytes.data(), &header, sizeof header);
        std::memcpy(&bytes[places.footer_offset()], &footer, sizeof footer);
        test::seal_snapshot(bytes);
        put(bytes);
        ASSERT_EQ(complaint(), "");
        EXPECT_EQ(scratch, words);
        flip_bit(places.chunk_offset(chunks - 1));
        expect_refused("chunk " + std::to_string(chunks - 1));
    }
}

} // namespace
} // namespace shmbloom
