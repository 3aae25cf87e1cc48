#include "sys/files.h"

#include <fcntl.h>
#include <filesystem>

#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

FileId id_of(const struct stat &status) {
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

} // namespace

FileId file_id(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0)
        throw_errno("look at", "an open file");
    return id_of(status);
}

std::optional<FileId> file_id_at(const std::string &path) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) == 0)
        return id_of(status);
    if (errno == ENOENT || errno == ENOTDIR)
        return std::nullopt;
    throw_errno("look at", path);
}

std::optional<std::string> read_file(const std::string &path) {
    return read_file_at(AT_FDCWD, path, "");
}

std::optional<std::string> read_file_at(int folder, const std::string &name, std::string_view folder_path) {
    const std::string path = folder_path.empty() ? name : std::string{folder_path} + "/" + name;
    const UniqueFd fd{::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC)};
    if (!fd) {
        if (errno == ENOENT)
            return std::nullopt;
        throw_errno("open", path);
    }
    std::string content;
    char block[16384];
    for (;;) {
        const ssize_t n = ::read(fd.get(), block, sizeof block);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            throw_errno("read", path);
        if (n == 0)
            return content;
        content.append(block, static_cast<std::size_t>(n));
    }
}

void replace_file(int folder, const std::string &name, std::string_view content, mode_t mode,
                  std::string_view folder_path) {
    const std::string path = std::string{folder_path} + "/" + name;
    const std::string temporary = name + ".new";
    const UniqueFd fd = open_on_disk(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC, mode, path + ".new");
    if (::fchmod(fd.get(), mode) != 0)
        throw_errno("set the mode of", path + ".new");
    write_at(fd.get(), bytes_of(content), 0, path + ".new");
    sync_to_disk(fd.get(), path + ".new");
    crash_point("file.written");
    if (disk().rename(folder, temporary.c_str(), name.c_str()) != 0)
        throw_errno("rename into place", path);
    crash_point("file.renamed");
    sync_to_disk(folder, folder_path);
}

bool make_folder(const std::string &path, mode_t mode) {
    const std::filesystem::path parent = std::filesystem::path{path}.parent_path();
    std::error_code ignored;
    if (!parent.empty() && !std::filesystem::exists(parent, ignored))
        make_folder(parent.string(), 0755);
    if (::mkdir(path.c_str(), mode) == 0) {
        // mkdir's mode is cut by the umask.
        if (::chmod(path.c_str(), mode) != 0)
            throw_errno("set the mode of", path);
        // Else the folder itself, with all that is in it, may be gone after a power loss.
        sync_to_disk(open_folder(parent.empty() ? "." : parent.string()).get(), parent.string());
        return true;
    }
    if (errno != EEXIST)
        throw_errno("make the folder", path);
    if (!std::filesystem::is_directory(path, ignored))
        throw_errno(ENOTDIR, "use as a folder", path);
    return false;
}

UniqueFd open_folder(const std::string &path) {
    UniqueFd fd{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!fd)
        throw_errno("open the folder", path);
    return fd;
}

} // namespace shmbloom
