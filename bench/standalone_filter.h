// A live filter that libshmbloom opens, made without a daemon: a runtime folder with a control file, and a segment.
// For benchmarks and for tests of readers. The caller sets the bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "geometry/geometry.h"
#include "shmbloom/key.h"
#include "shmbloom/layout.h"

namespace shmbloom::bench {

// A new folder below /tmp; removes the control file in it, and itself.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;
    const std::string &path() const { return path_; }

  private:
    std::string path_;
};

// A new file of zeros, fully allocated, mapped where 2 MiB pages can begin. Unmaps it, and leaves its name.
class MappedFile {
  public:
    // Takes the descriptor over.
    MappedFile(int fd, std::size_t size, const std::string &name);
    ~MappedFile();
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;
    std::byte *data() const { return data_; }
    std::uint64_t dev() const { return dev_; }
    std::uint64_t inode() const { return inode_; }

  private:
    std::size_t size_;
    std::byte *data_ = nullptr;
    std::uint64_t dev_ = 0;
    std::uint64_t inode_ = 0;
};

// A new POSIX shared memory object; removes its name.
class SharedObject {
  public:
    SharedObject(std::string name, std::size_t size);
    ~SharedObject();
    SharedObject(const SharedObject &) = delete;
    SharedObject &operator=(const SharedObject &) = delete;
    const std::string &name() const { return name_; }
    const MappedFile &file() const { return file_; }

  private:
    std::string name_;
    MappedFile file_;
};

// Names carry the process id, so that runs at the same time do not meet. Throws std::system_error when the OS refuses,
// std::invalid_argument when n or p is out of range.
class StandaloneFilter {
  public:
    StandaloneFilter(std::uint64_t n, double p, geometry::LayoutChoice layout);

    static constexpr const char *kName = "standalone";
    const std::string &runtime_dir() const { return folder_.path(); }
    const std::string &segment_name() const { return segment_.name(); }
    const geometry::Geometry &geometry() const { return geometry_; }

    std::uint64_t hash(const void *key, std::size_t size) const;
    std::uint64_t hash_domain() const;
    void add(std::uint64_t hash) { shmbloom_set_bits(words(), &geometry_.shape, hash); }
    bool contains(std::uint64_t hash) const { return shmbloom_test_bits(words(), &geometry_.shape, hash) == 1; }
    std::uint64_t *words() const;

    // Sets both gates to the generation with these doubts. As made there is none: live.
    void set_doubts(std::uint64_t doubts);

  private:
    void write_control(std::uint64_t n, double p);
    void write_segment(std::uint64_t n, double p);

    std::uint32_t serial_;
    geometry::Geometry geometry_;
    TemporaryFolder folder_;
    SharedObject segment_;
    MappedFile control_;
};

} // namespace shmbloom::bench
