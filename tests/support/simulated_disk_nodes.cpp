// How a SimulatedDisk knows inodes, and what it makes of those that came past it.
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>

#include "simulated_disk.h"
#include "sys/os_error.h"

namespace shmbloom::test {
namespace {

std::string proc_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

struct stat status_of(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw_errno("look at", proc_path(fd));
    return status;
}

std::vector<std::string> names_in(const Node &folder) {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator{proc_path(folder.pin.get()) + "/."})
        names.push_back(entry.path().filename().string());
    return names;
}

UniqueFd look_up(const Node &folder, const std::string &name) {
    return UniqueFd{::openat(folder.pin.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
}

std::string content_of(const Node &node) {
    return read_file(proc_path(node.pin.get())).value_or("");
}

} // namespace

SimulatedDisk::SimulatedDisk(const std::string &root, Lies lies) : lies_{lies} {
    adopt_tree(node_of(open_folder(root).get()));
}

// Now and not when it is first used: else what is made past us in between would count as durable.
void SimulatedDisk::adopt_tree(const NodePtr &folder) {
    load(folder);
    for (const auto &[name, node] : folder->folder.current())
        if (node->is_folder())
            adopt_tree(node);
}

NodePtr SimulatedDisk::new_node(int fd) {
    const struct stat status = status_of(fd);
    auto node = std::make_shared<Node>();
    node->pin = UniqueFd{::open(proc_path(fd).c_str(), O_PATH | O_CLOEXEC)};
    if (!node->pin)
        throw_errno("pin", proc_path(fd));
    node->mode = status.st_mode & S_IFMT;
    return nodes_[{status.st_dev, status.st_ino}] = node;
}

NodePtr SimulatedDisk::node_of(int fd) {
    const struct stat status = status_of(fd);
    const auto found = nodes_.find({status.st_dev, status.st_ino});
    return found != nodes_.end() ? found->second : new_node(fd);
}

void SimulatedDisk::load(const NodePtr &node) {
    if (node->loaded)
        return;
    node->loaded = true;
    if (node->is_folder()) {
        for (const std::string &name : names_in(*node))
            if (const UniqueFd fd = look_up(*node, name))
                node->folder.adopt(name, node_of(fd.get()));
    } else if (S_ISREG(node->mode)) {
        node->file.adopt(content_of(*node));
    }
}

void SimulatedDisk::load_as_unsynced(const NodePtr &node) {
    node->loaded = true;
    if (node->is_folder())
        refresh(*node);
    else if (S_ISREG(node->mode))
        node->file.write(0, content_of(*node), ++now_);
}

// A file that nobody has opened or named through us was made past us.
NodePtr SimulatedDisk::known_node_of(int fd) {
    const std::size_t known = nodes_.size();
    const NodePtr node = node_of(fd);
    if (node->is_folder())
        load(node);
    else if (nodes_.size() > known)
        load_as_unsynced(node);
    return node;
}

void SimulatedDisk::refresh(Node &folder) {
    Names there;
    for (const std::string &name : names_in(folder)) {
        const UniqueFd fd = look_up(folder, name);
        if (!fd)
            continue;
        const std::size_t known = nodes_.size();
        there[name] = node_of(fd.get());
        if (nodes_.size() > known)
            load_as_unsynced(there[name]);
    }
    const Names before = folder.folder.current();
    for (const auto &[name, node] : before)
        if (const auto found = there.find(name); found == there.end() || found->second != node)
            folder.folder.change(name, "", node, ++now_);
    for (const auto &[name, node] : there)
        if (folder.folder.find(name) != node)
            folder.folder.change("", name, node, ++now_);
}

void SimulatedDisk::refresh_tree(Node &folder) {
    refresh(folder);
    for (const auto &[name, node] : folder.folder.current())
        if (node->is_folder() && node->loaded)
            refresh_tree(*node);
}

SimulatedDisk::Place SimulatedDisk::place_of(int folder, const char *name) {
    const std::filesystem::path path{name};
    const std::string last = path.filename().string();
    if (last.empty() || last == "." || last == "..")
        return {};
    const std::string above = path.parent_path().string();
    const UniqueFd fd{::openat(folder, above.empty() ? "." : above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
    if (!fd)
        return {}; // the operation fails for the same reason
    const NodePtr node = node_of(fd.get());
    load(node);
    refresh(*node);
    return {node, last};
}

// No name leads to them, nor would one after power loss.
void SimulatedDisk::forget_the_gone() {
    std::erase_if(nodes_, [](const auto &entry) {
        return entry.second.use_count() == 1 && status_of(entry.second->pin.get()).st_nlink == 0;
    });
}

} // namespace shmbloom::test
