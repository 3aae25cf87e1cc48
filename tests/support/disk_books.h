// The books of a SimulatedDisk: what of a file or a folder is durable, and what came since. No locks here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "sys/unique_fd.h"

namespace shmbloom::test {

constexpr std::size_t kSectorBytes = 512; // a disk writes one whole or not at all

using Sector = std::array<char, kSectorBytes>;
using Moment = std::uint64_t; // each change has one of its own, growing
using Random = std::mt19937_64;

// 0 to n - 1. Not a distribution of the library: the same seed is to mean the same loss everywhere.
inline std::uint64_t below(Random &random, std::uint64_t n) {
    return random() % n;
}

// What a file is after the loss. Sectors that are not here are zeros; the last one may reach beyond the size.
struct FileImage {
    std::uint64_t size = 0;
    std::vector<std::pair<std::uint64_t, const Sector *>> sectors; // by number; they live in the book
};

// A sector is what it was at the last sync, or what it was after any write since. Absent: zeros.
class FileBook {
  public:
    void adopt(std::string_view content); // was there, and is durable
    void write(std::uint64_t offset, std::string_view bytes, Moment now);
    void resize(std::uint64_t size, Moment now); // truncated or allocated
    void sync(Moment before);                    // what came before it is durable now
    // A sync failed: the kernel takes what it could not write for clean, so that no later sync writes it. It may or may
    // not be on the disk until its sector is written again.
    void forget(Moment before);
    std::uint64_t size() const { return sizes_.empty() ? durable_size_ : sizes_.back().size; }

    FileImage durable() const;
    FileImage some_of_it(Random &random) const;

  private:
    struct Version {
        Moment when;
        bool forgotten;
        Sector bytes;
    };
    struct History {
        Sector durable{};
        std::vector<Version> later;

        const Sector &current() const { return later.empty() ? durable : later.back().bytes; }
    };
    struct Size {
        Moment when;
        std::uint64_t size;
    };
    void set_sector(std::uint64_t number, const Sector &bytes, Moment now);
    std::uint64_t some_size(Random &random) const;

    std::map<std::uint64_t, History> sectors_;
    std::set<std::uint64_t> dirty_; // of them: a sync must not cost as much as the file is long
    std::uint64_t durable_size_ = 0;
    std::vector<Size> sizes_; // since
};

struct Node;
using NodePtr = std::shared_ptr<Node>;
using Names = std::map<std::string, NodePtr>;

class FolderBook {
  public:
    // A new name (`from` empty), a removed one (`to` empty), or a rename, which is whole or not at all.
    void change(const std::string &from, const std::string &to, const NodePtr &node, Moment now);
    void sync(Moment before);
    void adopt(const std::string &name, const NodePtr &node); // was there, and is durable

    NodePtr find(const std::string &name) const;
    const Names &current() const { return current_; }
    const Names &durable() const { return durable_; }
    Names some_of_it(Random &random) const;

  private:
    struct Change {
        std::string from, to;
        NodePtr node;
        Moment when;
    };
    static void apply(Names &names, const Change &change);

    Names durable_, current_;
    std::vector<Change> changes_; // from the one to the other
};

// An inode.
struct Node {
    UniqueFd pin; // O_PATH: while it is held no other file gets the inode's number, and an unlinked one has a mode still
    mode_t mode = 0;     // its type only
    bool loaded = false; // false: nothing was done to it yet, it is durable as it is
    FileBook file;
    FolderBook folder;

    bool is_folder() const { return S_ISDIR(mode); }
};

} // namespace shmbloom::test
