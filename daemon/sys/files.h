// Files and folders, with the error in words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>

#include "sys/unique_fd.h"

namespace shmbloom {

// Which file this is: a name may lead to another one later, these two never do within a boot.
struct FileId {
    std::uint64_t dev = 0;
    std::uint64_t inode = 0;

    friend bool operator==(const FileId &, const FileId &) = default;
};

FileId file_id(int fd); // throws std::system_error
// What the path leads to (not through a symbolic link); nullopt when there is nothing. Throws on other errors.
std::optional<FileId> file_id_at(const std::string &path);

// The whole file, or nullopt when there is none. Throws on other errors.
std::optional<std::string> read_file(const std::string &path);
std::optional<std::string> read_file_at(int folder, const std::string &name, std::string_view folder_path);

// Replaces `name` so that after a crash either the old or the new content is there, whole: temporary, fsync, rename,
// fsync of the folder. Throws std::system_error; then either version may be found at the next start.
void replace_file(int folder, const std::string &name, std::string_view content, mode_t mode, std::string_view folder_path);

// Makes the folder and what is missing above it. True when this call made the last one. Throws std::system_error.
bool make_folder(const std::string &path, mode_t mode);

UniqueFd open_folder(const std::string &path); // O_PATH is not enough: it is synced

} // namespace shmbloom
