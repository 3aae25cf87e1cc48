// What a SimulatedDisk's books say, built as a tree.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/stat.h>

#include "simulated_disk.h"
#include "sys/os_error.h"

namespace shmbloom::test {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const Node &node) {
    struct stat status {};
    if (::fstat(node.pin.get(), &status) != 0)
        throw_errno("look at", "a file of the simulated disk");
    return status.st_mode & 07777;
}

std::string proc_path(const Node &node) {
    return "/proc/self/fd/" + std::to_string(node.pin.get());
}

void set_mode(const std::string &path, mode_t mode) {
    if (::chmod(path.c_str(), mode) != 0)
        throw_errno("set the mode of", path);
}

void put(int fd, const char *bytes, std::size_t size, std::uint64_t offset, const std::string &path) {
    if (::pwrite(fd, bytes, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size))
        throw_errno("write", path);
}

void write_image(const FileImage &image, const std::string &path) {
    const UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(image.size)) != 0)
        throw_errno("make", path);
    // Neighbours go in one call: thousands of trees are built.
    std::string run;
    std::uint64_t begin = 0;
    for (const auto &[number, sector] : image.sectors) {
        const std::uint64_t offset = number * kSectorBytes;
        if (offset != begin + run.size() && !run.empty()) {
            put(fd.get(), run.data(), run.size(), begin, path);
            run.clear();
        }
        if (run.empty())
            begin = offset;
        run.append(sector->data(), std::min<std::uint64_t>(kSectorBytes, image.size - offset));
    }
    put(fd.get(), run.data(), run.size(), begin, path);
}

} // namespace

class SimulatedDisk::Rebuild {
  public:
    Rebuild(SimulatedDisk &disk, const Loss &loss) : disk_{disk}, loss_{loss}, random_{loss.seed} {}

    void folder(const NodePtr &node, const std::string &path) {
        disk_.load(node);
        if (::mkdir(path.c_str(), 0700) != 0)
            throw_errno("make the folder", path);
        for (const auto &[name, child] : loss_.keep_nothing ? node->folder.durable() : node->folder.some_of_it(random_)) {
            const std::string below = path + "/" + name;
            if (child->is_folder())
                folder(child, below);
            else if (S_ISREG(child->mode))
                file(*child, below);
            else if (S_ISLNK(child->mode))
                link(*child, below);
        }
        set_mode(path, mode_of(*node));
    }

  private:
    FileImage image_of(const FileBook &book) {
        return loss_.keep_nothing ? book.durable() : book.some_of_it(random_);
    }

    void file(const Node &node, const std::string &path) {
        if (!node.loaded) {
            fs::copy_file(proc_path(node), path);
        } else {
            // Once for each file: two names may lead to it.
            auto found = images_.find(&node);
            if (found == images_.end())
                found = images_.emplace(&node, image_of(node.file)).first;
            write_image(found->second, path);
        }
        set_mode(path, mode_of(node));
    }

    static void link(const Node &node, const std::string &path) {
        char target[4096];
        const ssize_t n = ::readlinkat(node.pin.get(), "", target, sizeof target);
        if (n < 0)
            throw_errno("read the link", path);
        fs::create_symlink(std::string{target, static_cast<std::size_t>(n)}, path);
    }

    SimulatedDisk &disk_;
    const Loss loss_;
    Random random_;
    std::map<const Node *, FileImage> images_;
};

void SimulatedDisk::lose_power(const std::string &root, const std::string &to, const Loss &loss) {
    const std::lock_guard lock{mutex_};
    const NodePtr folder = node_of(open_folder(root).get());
    load(folder);
    refresh_tree(*folder);
    Rebuild{*this, loss}.folder(folder, to);
}

void SimulatedDisk::come_back(const std::string &root, const std::string &from) {
    const std::lock_guard lock{mutex_};
    nodes_.clear();
    for (const auto &entry : fs::directory_iterator{root})
        fs::remove_all(entry.path());
    for (const auto &entry : fs::directory_iterator{from})
        fs::copy(entry.path(), fs::path{root} / entry.path().filename(),
                 fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    adopt_tree(node_of(open_folder(root).get()));
}

} // namespace shmbloom::test
