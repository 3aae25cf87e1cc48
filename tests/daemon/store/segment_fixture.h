// A segment under a name of this test's own, which is gone with the fixture.
#pragma once

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <variant>

#include "store/segment.h"

namespace shmbloom {

inline SegmentIdentity some_identity(std::uint64_t n = 1000, double p = 0.01) {
    const auto geometry = std::get<geometry::Geometry>(geometry::plan(n, p, geometry::LayoutChoice::classic));
    return {.state_uuid = Uuid::random(),
            .filter_uuid = Uuid::random(),
            .generation = 7,
            .lineage = 5,
            .seed = 0x1234567890ABCDEF,
            .domain = 0xFEDCBA0987654321,
            .normalization = SHMBLOOM_NORMALIZE_TRIM,
            .key_type = SHMBLOOM_KEY_TYPE_BYTES,
            .capacity = n,
            .fpr = p,
            .shape = geometry.shape};
}

class SegmentFixture : public testing::Test {
  protected:
    ~SegmentFixture() override { ::shm_unlink(name.c_str()); }

    static std::string name_of(const SegmentIdentity &identity) {
        return segment_name(identity.state_uuid, identity.filter_uuid, identity.generation);
    }

    // As another process sees it, by its name.
    struct stat status() const {
        const UniqueFd fd{::shm_open(name.c_str(), O_RDONLY, 0)};
        struct stat result {};
        EXPECT_TRUE(fd && ::fstat(fd.get(), &result) == 0);
        return result;
    }

    std::string read(std::size_t offset, std::size_t size) const {
        const UniqueFd fd{::shm_open(name.c_str(), O_RDONLY, 0)};
        std::string bytes(size, '\0');
        EXPECT_EQ(::pread(fd.get(), bytes.data(), size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
        return bytes;
    }

    void flip_bit(std::size_t offset, unsigned bit = 0) const {
        const UniqueFd fd{::shm_open(name.c_str(), O_RDWR, 0)};
        unsigned char byte = 0;
        EXPECT_EQ(::pread(fd.get(), &byte, 1, static_cast<off_t>(offset)), 1);
        byte = static_cast<unsigned char>(byte ^ 1u << bit);
        EXPECT_EQ(::pwrite(fd.get(), &byte, 1, static_cast<off_t>(offset)), 1);
    }

    void resize(std::size_t size) const {
        const UniqueFd fd{::shm_open(name.c_str(), O_RDWR, 0)};
        EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(size)), 0);
    }

    const SegmentIdentity identity = some_identity();
    const std::string name = name_of(identity);
};

} // namespace shmbloom
