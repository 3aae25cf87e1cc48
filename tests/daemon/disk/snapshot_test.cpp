#include "disk/snapshot.h"

#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

#include "shmbloom/version.h"
#include "snapshot_fixture.h"
#include "sys/disk.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

std::uint64_t count_bits(const Words &words) {
    std::uint64_t count = 0;
    for (const std::uint64_t word : words)
        count += static_cast<std::uint64_t>(std::popcount(word));
    return count;
}

std::string hex(std::string_view bytes) {
    static const char digits[] = "0123456789abcdef";
    std::string text;
    for (const char c : bytes)
        text += {digits[static_cast<unsigned char>(c) / 16], digits[static_cast<unsigned char>(c) % 16]};
    return text;
}

std::string from_hex(std::string_view text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string{text.substr(i, 2)}, nullptr, 16));
    return bytes;
}

// While it lives, all changes of the disk go through it.
class TestDisk : public Disk {
  public:
    TestDisk() { set_disk(this); }
    ~TestDisk() override { set_disk(nullptr); }
};

class Snapshot : public SnapshotFixture {};

TEST_F(Snapshot, GivesBackWhatWasWrittenInEverySizeAndLayout) {
    const shmbloom_shape shapes[] = {{SHMBLOOM_LAYOUT_CLASSIC, 1, 64},
                                     {SHMBLOOM_LAYOUT_CLASSIC, 64, 4097},
                                     {SHMBLOOM_LAYOUT_CLASSIC, 7, 1u << 23},       // one chunk
                                     {SHMBLOOM_LAYOUT_CLASSIC, 7, (1u << 23) + 1}, // and a word
                                     {SHMBLOOM_LAYOUT_CLASSIC, 7, (1u << 23) * 3 + 999},
                                     {SHMBLOOM_LAYOUT_BLOCKED, 2, 1},
                                     {SHMBLOOM_LAYOUT_BLOCKED, 2, 16384}, // one chunk
                                     {SHMBLOOM_LAYOUT_BLOCKED, 3, 16384 * 3 + 1},
                                     // More than is written out at once, and more chunks than checksums are kept of.
                                     {SHMBLOOM_LAYOUT_BLOCKED, 3, 16384 * 65 + 1}};
    for (const shmbloom_shape &shape : shapes) {
        SCOPED_TRACE(std::to_string(shape.layout) + ": " + std::to_string(shape.size));
        const Words words = some_words(shape);
        write(shape, words);
        ASSERT_EQ(complaint(), "");
        EXPECT_EQ(scratch, words);
        const auto file = open();
        EXPECT_EQ(file->identity(), some_snapshot(shape));
        EXPECT_EQ(file->end(), kSomeEnd);
        EXPECT_EQ(file->bits_bytes(), words.size() * 8);
        EXPECT_EQ(file->bits_set(), count_bits(words));
    }
}

TEST_F(Snapshot, MergesIntoBitsThatAreThere) {
    const Words words = some_words(kThreeChunks);
    write(kThreeChunks, words);
    Words merged(words.size());
    for (std::size_t i = 0; i < merged.size(); i++)
        merged[i] = i % 3 == 0 ? words[i] : 0x5555ull << i % 7;
    Words expected = merged;
    for (std::size_t i = 0; i < merged.size(); i++)
        expected[i] |= words[i];
    ASSERT_TRUE(open()->merge_into(merged.data(), reason)) << reason;
    EXPECT_EQ(merged, expected);
}

TEST_F(Snapshot, IsForItsOwnerAloneAndExactlyAsLongAsItSays) {
    const mode_t before = ::umask(0);
    SnapshotWriter writer{folder.get(), temp.path(), some_snapshot(kThreeChunks)};
    ::umask(before);
    ASSERT_TRUE(writer.copy(some_words(kThreeChunks).data(), 0, never));
    EXPECT_EQ(names(), std::vector<std::string>{"12.snapshot.new"});
    writer.finish(kSomeEnd);
    EXPECT_EQ(names(), std::vector<std::string>{"12.snapshot"});
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms{0600});
    EXPECT_EQ(std::filesystem::file_size(path), writer.file_bytes());
    EXPECT_EQ(writer.file_bytes(), 4096 + (3u << 20) + 3 * 8 + 64);
    EXPECT_EQ(writer.bits_set(), count_bits(some_words(kThreeChunks)));
}

TEST_F(Snapshot, BeginsAnewOverWhatACrashHasLeft) {
    std::filesystem::create_symlink("elsewhere", temp / "12.snapshot.new");
    write(kTiny, some_words(kTiny));
    EXPECT_EQ(complaint(), "");
    EXPECT_EQ(names(), std::vector<std::string>{"12.snapshot"});
}

TEST_F(Snapshot, LeavesNoFileWhenItIsNotFinished) {
    {
        SnapshotWriter writer{folder.get(), temp.path(), some_snapshot(kTiny)};
        ASSERT_TRUE(writer.copy(some_words(kTiny).data(), 0, never));
    }
    EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(Snapshot, StopsAtTheNextChunkWhenItIsCancelled) {
    struct Cancelling : TestDisk {
        ssize_t write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) override {
            writes++;
            cancelled = offset > 0;
            return Disk::write(fd, bytes, size, offset);
        }
        int writes = 0;
        std::atomic<bool> cancelled{false};
    };
    {
        Cancelling disk;
        SnapshotWriter writer{folder.get(), temp.path(), some_snapshot(kThreeChunks)};
        EXPECT_FALSE(writer.copy(some_words(kThreeChunks).data(), 0, disk.cancelled));
        EXPECT_EQ(disk.writes, 2) << "the header and one chunk";
    }
    EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(Snapshot, IsCancelledWhileItWaits) {
    std::atomic<bool> cancelled{false};
    struct Waking : TestDisk {
        ssize_t write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) override {
            if (offset > 0)
                other = std::thread{[this] { *flag = true; }};
            return Disk::write(fd, bytes, size, offset);
        }
        std::atomic<bool> *flag = nullptr;
        std::thread other;
    } disk;
    disk.flag = &cancelled;
    SnapshotWriter writer{folder.get(), temp.path(), some_snapshot(kThreeChunks)};
    EXPECT_FALSE(writer.copy(some_words(kThreeChunks).data(), 1, cancelled)) << "a chunk a fortnight";
    disk.other.join();
}

TEST_F(Snapshot, IsCopiedNoFasterThanAsked) {
    const Words words = some_words(kThreeChunks);
    SnapshotWriter writer{folder.get(), temp.path(), some_snapshot(kThreeChunks)};
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_TRUE(writer.copy(words.data(), 30u << 20, never));
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds{100});
}

TEST_F(Snapshot, IsWholeWhenTheDiskTakesAPartOfEachWrite) {
    struct Partial : TestDisk {
        ssize_t write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) override {
            if (size > 1 && ++calls % 3 == 0)
                return errno = EINTR, -1;
            return Disk::write(fd, bytes, size > 1 ? size / 2 : size, offset);
        }
        int calls = 0;
    } disk;
    write(kThreeChunks, some_words(kThreeChunks));
    EXPECT_EQ(complaint(), "");
    EXPECT_EQ(scratch, some_words(kThreeChunks));
}

// The n-th change of the disk fails, for every n.
class FailingDisk : public TestDisk {
  public:
    FailingDisk(int nth, int error) : left_{nth}, error_{error} {}

    int open(int in_folder, const char *name, int flags, mode_t mode) override {
        return fails() ? -1 : Disk::open(in_folder, name, flags, mode);
    }
    ssize_t write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) override {
        return fails() ? -1 : Disk::write(fd, bytes, size, offset);
    }
    int sync(int fd) override { return fails() ? -1 : Disk::sync(fd); }
    int rename(int in_folder, const char *from, const char *to) override {
        return fails() ? -1 : Disk::rename(in_folder, from, to);
    }
    bool has_failed() const { return left_ <= 0; }

  private:
    bool fails() {
        if (--left_ != 0)
            return false;
        errno = error_;
        return true;
    }

    int left_;
    const int error_;
};

TEST_F(Snapshot, LeavesNoFileWhenTheDiskFailsAtAnyStep) {
    const Words words = some_words(kThreeChunks);
    for (const int error : {ENOSPC, EIO}) {
        int failures = 0;
        for (bool failed = true; failed; failures += failed) {
            FailingDisk disk{failures + 1, error};
            std::error_code thrown;
            try {
                write(kThreeChunks, words);
            } catch (const std::system_error &refused) {
                thrown = refused.code();
                EXPECT_NE(std::string{refused.what()}.find(temp.path()), std::string::npos) << refused.what();
            }
            failed = disk.has_failed();
            EXPECT_EQ(thrown.value(), failed ? error : 0) << "step " << failures + 1;
            EXPECT_EQ(names().empty(), failed) << "step " << failures + 1;
        }
        EXPECT_EQ(failures, 10) << "open, header, three chunks, table, footer, sync, rename, sync of the folder";
        std::filesystem::remove(path);
    }
}

// Frozen: what version 1 writes, from 0.1.0 on, has to stay readable.
const char *const kGoldenHeader = // 32 bytes a line, up to the zeros
    "73686d62736e7031010000000010000000000000000000000000000000000000"
    "101112131415161718191a1b1c1d1e1f303132333435363738393a3b3c3d3e3f"
    "302e312e30000000000000000000000000000000000000000000000000000000"
    "03000000000000000c00000000000000a6a5a4a3a2a10000b6b5b4b302010000"
    "c8c7c6c5c4c3c2c100d2496b0000000000f15365000000000500000000000000"
    "d8d7d6d5d4d3d2d101000000010000000100000001000000ab01000000000000"
    "7b14ae47e17a843f010000000700000000100000000000000002000000000000"
    "0000100000000000";
const char *const kGoldenHeaderChecksum = "30229a7f881341fe";
const char *const kGoldenTableAndFooter = "179f8130a05b0cf4"
                                          "73686d62736e6531e8e7e6e5e4e3e2e1e8030000000000009001000000000000"
                                          "e00800000000000001000000000000000000000000000000a66c61743a24912e";

std::string golden_bits() {
    std::string bits;
    for (std::uint64_t i = 0; i < 512; i++)
        bits += static_cast<char>(i * i * 7);
    return bits;
}

std::string golden_file() {
    return from_hex(kGoldenHeader) + std::string(3856, '\0') + from_hex(kGoldenHeaderChecksum) + golden_bits() +
           from_hex(kGoldenTableAndFooter);
}

TEST_F(Snapshot, OfVersion1IsStillRead) {
    put(golden_file());
    ASSERT_EQ(complaint(), "");
    EXPECT_EQ(std::memcmp(scratch.data(), golden_bits().data(), 512), 0);
    EXPECT_EQ(open()->identity(), some_snapshot(kTiny));
    EXPECT_EQ(open()->end(), kSomeEnd);
}

TEST_F(Snapshot, IsStillWrittenAsInVersion1) {
    Words words(64);
    std::memcpy(words.data(), golden_bits().data(), 512);
    write(kTiny, words);
    const std::string written = content();
    EXPECT_EQ(hex(written.substr(0, 64)), hex(golden_file().substr(0, 64)));
    EXPECT_EQ(hex(written.substr(96, 136)), hex(golden_file().substr(96, 136)));
    EXPECT_EQ(written.substr(64, 32), SHMBLOOM_VERSION + std::string(33 - sizeof SHMBLOOM_VERSION, '\0'));
    EXPECT_EQ(written.substr(232, 3856), std::string(3856, '\0'));
    if (SHMBLOOM_VERSION == std::string_view{"0.1.0"}) {
        EXPECT_EQ(hex(written.substr(4088, 8)), kGoldenHeaderChecksum);
        EXPECT_EQ(hex(written.substr(4096 + 512)), kGoldenTableAndFooter);
    }
}

} // namespace
} // namespace shmbloom
