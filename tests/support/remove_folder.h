// Removes a folder of a running daemon, which may make a file in it meanwhile.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace shmbloom::test {

inline void remove_folder(const std::string &path) {
    std::error_code failed;
    do
        std::filesystem::remove_all(path, failed);
    while (failed == std::errc::directory_not_empty);
    if (failed)
        throw std::filesystem::filesystem_error("cannot remove", path, failed);
}

} // namespace shmbloom::test
