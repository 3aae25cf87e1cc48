#include "simulated_disk.h"

#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>

#include "sys/os_error.h"

namespace shmbloom::test {
namespace {

std::string proc_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

std::uint64_t real_size(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw_errno("look at", proc_path(fd));
    return static_cast<std::uint64_t>(status.st_size);
}

} // namespace

const SimulatedDisk::Fault *SimulatedDisk::fault(Operation operation, int fd, const char *name) {
    const Fault *hit = nullptr;
    for (Fault &fault : faults_) {
        if (fault.operation != operation || fault.count == 0)
            continue;
        if (!fault.part.empty()) {
            char path[PATH_MAX];
            const ssize_t n = ::readlink(proc_path(fd).c_str(), path, sizeof path);
            const std::string whole = std::string{path, static_cast<std::size_t>(n < 0 ? 0 : n)} +
                                      (name == nullptr ? "" : "/" + std::string{name});
            if (whole.find(fault.part) == std::string::npos)
                continue;
        }
        if (fault.nth > 1) {
            fault.nth--;
            continue;
        }
        fault.count--;
        hit = &fault;
    }
    return hit;
}

bool SimulatedDisk::fails(Operation operation, int fd, const char *name) {
    const Fault *const hit = fault(operation, fd, name);
    if (hit != nullptr)
        errno = hit->error;
    return hit != nullptr;
}

void SimulatedDisk::fail(Operation operation, std::uint64_t nth, int error, std::uint64_t count, const std::string &part) {
    const std::lock_guard lock{mutex_};
    if (error == 0 && operation != Operation::write)
        throw std::logic_error{"only a write can be short"};
    faults_.push_back({operation, nth, count, error, part});
}

void SimulatedDisk::end_faults() {
    const std::lock_guard lock{mutex_};
    faults_.clear();
}

int SimulatedDisk::open(int folder, const char *name, int flags, mode_t mode) {
    const std::lock_guard lock{mutex_};
    if (fails(Operation::open, folder, name))
        return -1;
    const Place place = place_of(folder, name);
    const NodePtr existing = place.folder ? place.folder->folder.find(place.name) : nullptr;
    if (existing && (flags & O_TRUNC) != 0)
        load(existing);
    const int fd = Disk::open(folder, name, flags, mode);
    if (fd < 0)
        return -1;
    if (existing && (flags & O_TRUNC) != 0) {
        existing->file.resize(0, ++now_);
    } else if (place.folder && !existing) {
        const NodePtr made = new_node(fd);
        made->loaded = true;
        place.folder->folder.change("", place.name, made, ++now_);
    }
    return fd;
}

ssize_t SimulatedDisk::write(int fd, const void *bytes, std::size_t size, std::uint64_t offset) {
    const std::lock_guard lock{mutex_};
    if (const Fault *const hit = fault(Operation::write, fd)) {
        errno = hit->error;
        if (errno != 0)
            return -1;
        size -= size / 2;
    }
    const NodePtr node = known_node_of(fd);
    load(node);
    const ssize_t n = Disk::write(fd, bytes, size, offset);
    if (n > 0)
        node->file.write(offset, {static_cast<const char *>(bytes), static_cast<std::size_t>(n)}, ++now_);
    return n;
}

// Whether it worked or not, the size is what the disk says: an allocation may fail half-way.
int SimulatedDisk::change_size(int fd, const std::function<int()> &change) {
    const NodePtr node = known_node_of(fd);
    load(node);
    const int result = change();
    const int error = errno;
    node->file.resize(real_size(fd), ++now_);
    errno = error;
    return result;
}

int SimulatedDisk::allocate(int fd, std::uint64_t bytes) {
    const std::lock_guard lock{mutex_};
    return fails(Operation::allocate, fd) ? -1 : change_size(fd, [&] { return Disk::allocate(fd, bytes); });
}

int SimulatedDisk::truncate(int fd, std::uint64_t bytes) {
    const std::lock_guard lock{mutex_};
    return fails(Operation::truncate, fd) ? -1 : change_size(fd, [&] { return Disk::truncate(fd, bytes); });
}

int SimulatedDisk::rename(int folder, const char *from, const char *to) {
    const std::lock_guard lock{mutex_};
    if (fails(Operation::rename, folder, to))
        return -1;
    const Place old_place = place_of(folder, from);
    const Place new_place = place_of(folder, to);
    if (old_place.folder != new_place.folder)
        throw std::logic_error{"a rename from one folder to another: the books have no such thing"};
    const NodePtr node = old_place.folder ? old_place.folder->folder.find(old_place.name) : nullptr;
    if (Disk::rename(folder, from, to) != 0)
        return -1;
    if (node)
        old_place.folder->folder.change(old_place.name, new_place.name, node, ++now_);
    return 0;
}

int SimulatedDisk::unlink(int folder, const char *name) {
    const std::lock_guard lock{mutex_};
    if (fails(Operation::unlink, folder, name))
        return -1;
    const Place place = place_of(folder, name);
    const NodePtr node = place.folder ? place.folder->folder.find(place.name) : nullptr;
    if (Disk::unlink(folder, name) != 0)
        return -1;
    if (node)
        place.folder->folder.change(place.name, "", node, ++now_);
    return 0;
}

int SimulatedDisk::make_folder(int folder, const char *name, mode_t mode) {
    const std::lock_guard lock{mutex_};
    if (fails(Operation::make_folder, folder, name))
        return -1;
    const Place place = place_of(folder, name);
    if (Disk::make_folder(folder, name, mode) != 0)
        return -1;
    if (place.folder) {
        const UniqueFd fd{::openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
        const NodePtr made = new_node(fd.get());
        made->loaded = true;
        place.folder->folder.change("", place.name, made, ++now_);
    }
    return 0;
}

std::uint64_t SimulatedDisk::syncs() const {
    const std::lock_guard lock{mutex_};
    return syncs_;
}

void SimulatedDisk::stop_at_sync(std::uint64_t nth, std::function<void()> at, std::function<void()> after) {
    const std::lock_guard lock{mutex_};
    stop_ = {nth, std::move(at), std::move(after)};
}

// Counts this sync, and takes what is to be called at it.
SimulatedDisk::Stop SimulatedDisk::next_stop() {
    const std::lock_guard lock{mutex_};
    syncs_++;
    return stop_.nth != 0 && --stop_.nth == 0 ? std::exchange(stop_, {}) : Stop{};
}

int SimulatedDisk::sync(int fd) {
    const Stop stop = next_stop();
    if (stop.at)
        stop.at();
    // Without the lock while the disk works: others go on, and what they write meanwhile is not promised by this sync.
    std::unique_lock lock{mutex_};
    const NodePtr node = known_node_of(fd); // a file that is not loaded has nothing to be synced
    if (node->is_folder())
        refresh(*node);
    const Moment begun = ++now_;
    const bool lie = lies_ == Lies::about_all || lies_ == (node->is_folder() ? Lies::about_folders : Lies::about_files);
    int result = fails(Operation::sync, fd) ? -1 : 0;
    int error = errno;
    if (result == 0 && !lie) {
        lock.unlock();
        result = Disk::sync(fd);
        error = errno;
        lock.lock();
        if (result == 0) {
            node->file.sync(begun);
            node->folder.sync(begun);
            forget_the_gone();
        }
    }
    // Of a folder the names stay: the file system keeps them for its next commit, or takes no more of any.
    if (result != 0)
        node->file.forget(begun);
    lock.unlock();
    if (stop.after)
        stop.after();
    errno = error;
    return result;
}

} // namespace shmbloom::test
