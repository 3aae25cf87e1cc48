// A disk that loses power: does everything for real, in a folder of the test's, and keeps books of what is durable, from
// which it builds the tree that a machine could find when it comes back. As strict as POSIX, so stricter than any one file
// system: a file's sync keeps its content and not its name; a folder's sync keeps its names and not their content.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "disk_books.h"
#include "sys/disk.h"
#include "sys/files.h"

namespace shmbloom::test {

struct Loss {
    std::uint64_t seed = 0;
    bool keep_nothing = false; // that was not synced; else a part of it, by the seed
};

class SimulatedDisk : public Disk {
  public:
    enum class Operation { open, write, allocate, truncate, sync, rename, unlink, make_folder };
    enum class Lies { none, about_files, about_folders, about_all };

    // What is in `root` is durable. What comes into it past this object (a lock file, say) counts as made and not synced,
    // but for bytes written past it into a file that it knows: those it never sees.
    explicit SimulatedDisk(const std::string &root, Lies lies = Lies::none);

    int open(int folder, const char *name, int flags, mode_t mode) override;
    ssize_t write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) override;
    int allocate(int fd, std::uint64_t bytes) override;
    int truncate(int fd, std::uint64_t bytes) override;
    int sync(int fd) override;
    int rename(int folder, const char *from, const char *to) override; // both in one folder
    int unlink(int folder, const char *name) override;
    int make_folder(int folder, const char *name, mode_t mode) override;

    // Builds at `to` (not there yet, nor inside `root`) what could be found of `root` if power went now. Modes are kept. Any
    // thread, any time: first note what has been promised, then call this.
    void lose_power(const std::string &root, const std::string &to, const Loss &loss);
    // Puts what lose_power built into `root` in place of what is there; all of it is durable then. The folder itself stays
    // the same inode, without which a state folder is taken for a copy. Nothing in it may be open.
    void come_back(const std::string &root, const std::string &from);

    std::uint64_t syncs() const; // calls, failed ones and lies too
    // At the nth sync from now (1: the next): `at` before it takes effect, `after` when it has, before it returns. On
    // the thread that syncs, with no lock held; may throw.
    void stop_at_sync(std::uint64_t nth, std::function<void()> at, std::function<void()> after = {});
    // The nth operation of this kind from now, and the `count` - 1 after it, fail with `error`; 0: a write takes half of
    // its bytes. `part`: only those count whose path holds it. Several faults count each for themselves.
    void fail(Operation operation, std::uint64_t nth, int error, std::uint64_t count = 1, const std::string &part = "");
    void end_faults(); // the disk is well again

  private:
    struct Place {
        NodePtr folder; // null: nothing to keep books of
        std::string name;
    };
    struct Fault {
        Operation operation;
        std::uint64_t nth, count;
        int error;
        std::string part;
    };
    struct Stop {
        std::uint64_t nth = 0; // 0: none
        std::function<void()> at, after;
    };
    class Rebuild;

    const Fault *fault(Operation operation, int fd, const char *name = nullptr);
    bool fails(Operation operation, int fd, const char *name = nullptr); // with errno
    Place place_of(int folder, const char *name);
    NodePtr node_of(int fd);
    NodePtr new_node(int fd);
    NodePtr known_node_of(int fd);
    void load(const NodePtr &node);         // what was there when the books began
    void load_as_unsynced(const NodePtr &node); // made past us
    void refresh(Node &folder);             // what was done past us
    void refresh_tree(Node &folder);
    void adopt_tree(const NodePtr &folder);
    int change_size(int fd, const std::function<int()> &change);
    Stop next_stop();
    void forget_the_gone();

    mutable std::mutex mutex_; // of all below, and over each operation but sync: the books have the order of the disk
    const Lies lies_;
    std::map<std::pair<std::uint64_t, std::uint64_t>, NodePtr> nodes_; // by device and inode
    Moment now_ = 0;
    std::uint64_t syncs_ = 0;
    Stop stop_;
    std::vector<Fault> faults_;
};

// Says "done" and does nothing: with it the tests of durability must fail.
class LyingDisk : public SimulatedDisk {
  public:
    explicit LyingDisk(const std::string &root, Lies lies = Lies::about_all) : SimulatedDisk{root, lies} {}
};

// Behind disk() as long as this lives.
class InstalledDisk {
  public:
    explicit InstalledDisk(Disk &other) { set_disk(&other); }
    ~InstalledDisk() { set_disk(nullptr); }
    InstalledDisk(const InstalledDisk &) = delete;
    InstalledDisk &operator=(const InstalledDisk &) = delete;
};

} // namespace shmbloom::test
