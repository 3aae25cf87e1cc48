// Snapshots in a folder of this test's own, and ways to spoil them.
#pragma once

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "disk/snapshot.h"
#include "disk/snapshot_format.h"
#include "geometry/geometry.h"
#include "seal_snapshot.h"
#include "sys/files.h"
#include "temp_folder.h"

namespace shmbloom {

using Words = std::vector<std::uint64_t>;

// Every field says something else, so that an exchange shows.
inline SnapshotIdentity some_snapshot(const shmbloom_shape &shape) {
    SnapshotIdentity identity;
    identity.filter_number = 3;
    identity.number = 12;
    identity.generation = 0x0000A1A2A3A4A5A6;
    identity.lineage = 0x00000102B3B4B5B6;
    identity.s = 0xC1C2C3C4C5C6C7C8;
    identity.begun = 1'800'000'000;
    identity.source_begun = 1'700'000'000;
    identity.bulk_acts = 5;
    identity.hash_list_complete = true;
    identity.hash_domain = 0xD1D2D3D4D5D6D7D8;
    identity.normalization = SHMBLOOM_NORMALIZE_TRIM;
    identity.key_type = SHMBLOOM_KEY_TYPE_U64;
    identity.capacity = 427;
    identity.fpr = 0.01;
    identity.shape = shape;
    for (std::uint8_t i = 0; i < 16; i++) {
        identity.state_uuid.bytes[i] = static_cast<std::uint8_t>(0x10 + i);
        identity.filter_uuid.bytes[i] = static_cast<std::uint8_t>(0x30 + i);
    }
    return identity;
}

inline constexpr SnapshotEnd kSomeEnd{0xE1E2E3E4E5E6E7E8, 1000, 400};
inline constexpr shmbloom_shape kTiny{SHMBLOOM_LAYOUT_CLASSIC, 7, 4096};             // 512 bytes
inline constexpr shmbloom_shape kSmall{SHMBLOOM_LAYOUT_BLOCKED, 2, 64};              // 4 KiB
inline constexpr shmbloom_shape kThreeChunks{SHMBLOOM_LAYOUT_BLOCKED, 3, 3 * 16384}; // 3 MiB

inline Words some_words(const shmbloom_shape &shape) {
    Words words(geometry::place(shape).bits_bytes / 8);
    std::mt19937_64 random{shape.size};
    for (std::uint64_t &word : words)
        word = random() & random();
    return words;
}

class SnapshotFixture : public testing::Test {
  protected:
    static SnapshotPlaces places_of(const shmbloom_shape &shape) {
        return {geometry::place(shape).bits_bytes, kSnapshotChunkBytes};
    }

    // Of `some_snapshot(shape)`, under its name.
    void write(const shmbloom_shape &shape, const Words &words) const {
        SnapshotWriter writer{folder.get(), temp.path(), some_snapshot(shape)};
        ASSERT_TRUE(writer.copy(words.data(), 0, never));
        writer.finish(kSomeEnd);
    }

    std::unique_ptr<SnapshotFile> open() { return SnapshotFile::open(folder.get(), name, temp.path(), reason); }

    // What it says when it is opened and read as a whole; empty when nothing is wrong.
    std::string complaint() {
        reason.clear();
        const auto file = open();
        EXPECT_EQ(file == nullptr, !reason.empty());
        if (file == nullptr)
            return reason;
        scratch.resize(file->bits_bytes() / 8);
        const bool is_read = file->read_into(scratch.data(), reason);
        EXPECT_EQ(is_read, reason.empty());
        return reason;
    }

    void expect_refused(const std::string &why = "") {
        const std::string said = complaint();
        EXPECT_TRUE(said.starts_with("the snapshot '" + path + "' ")) << said;
        EXPECT_NE(said.find(why), std::string::npos) << said;
    }

    std::string content() const { return read_file(path).value_or(""); }

    void put(const std::string &bytes) const {
        const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
        ASSERT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }

    void flip_bit(std::uint64_t offset) const {
        const UniqueFd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
        unsigned char byte = 0;
        ASSERT_EQ(::pread(fd.get(), &byte, 1, static_cast<off_t>(offset)), 1);
        byte = static_cast<unsigned char>(byte ^ 1u << offset % 8);
        ASSERT_EQ(::pwrite(fd.get(), &byte, 1, static_cast<off_t>(offset)), 1);
    }

    void truncate_to(std::uint64_t size) const { ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0); }

    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::directory_iterator{temp.path()})
            found.push_back(entry.path().filename());
        return found;
    }

    const test::TempFolder temp;
    const UniqueFd folder = open_folder(temp.path());
    const std::string name = "12.snapshot";
    const std::string path = temp / name;
    const std::atomic<bool> never{false};
    std::string reason;
    Words scratch;
};

} // namespace shmbloom
