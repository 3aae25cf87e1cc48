// A folder on a disk that loses power, and what is found in it afterwards.
#pragma once

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>

#include "simulated_disk.h"
#include "temp_folder.h"

namespace shmbloom::test {

// Every name below a folder; a file's content, "/" for a folder.
using Tree = std::map<std::string, std::string>;

inline Tree tree_at(const std::string &path) {
    Tree tree;
    for (const auto &entry : std::filesystem::recursive_directory_iterator{path})
        tree[entry.path().lexically_relative(path).string()] =
            entry.is_directory() ? "/" : read_file(entry.path().string()).value_or("");
    return tree;
}

template <typename SomeDisk = SimulatedDisk>
struct SimulatedFolder {
    TempFolder temp;
    std::string path = make(temp / "root");
    SomeDisk disk{path};
    InstalledDisk installed{disk};
    UniqueFd folder = open_folder(path);
    int lost = 0; // how often power was

    static std::string make(const std::string &path) {
        std::filesystem::create_directory(path);
        return path;
    }

    UniqueFd open(const std::string &name, int flags = O_RDWR | O_CREAT) {
        return open_on_disk(folder.get(), name, flags, 0600, name);
    }
    UniqueFd write(const std::string &name, std::string_view content, std::uint64_t offset = 0) {
        UniqueFd fd = open(name);
        write_at(fd.get(), bytes_of(content), offset, name);
        return fd;
    }
    void write_and_sync(const std::string &name, std::string_view content) {
        sync_to_disk(write(name, content).get(), name);
        sync();
    }
    void sync() { sync_to_disk(folder.get(), path); }
    void rename(const char *from, const char *to) { ASSERT_EQ(shmbloom::disk().rename(folder.get(), from, to), 0); }

    Tree after(const Loss &loss) {
        const std::string to = temp / ("lost-" + std::to_string(lost++));
        disk.lose_power(path, to, loss);
        Tree tree = tree_at(to);
        std::filesystem::remove_all(to);
        return tree;
    }
    Tree durable() { return after({.seed = 0, .keep_nothing = true}); }
    // How many of the seeds leave each tree.
    std::map<Tree, int> outcomes(std::uint64_t seeds) {
        std::map<Tree, int> counts;
        for (std::uint64_t seed = 0; seed < seeds; seed++)
            counts[after({.seed = seed})]++;
        return counts;
    }
};

} // namespace shmbloom::test
