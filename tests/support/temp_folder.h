// A folder of this test's own, with the pid in its name; gone with the object, also when the test fails.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace shmbloom::test {

class TempFolder {
  public:
    TempFolder() {
        static std::atomic<int> count{0};
        path_ = std::filesystem::temp_directory_path() /
                ("shmbloom-test-" + std::to_string(::getpid()) + "-" + std::to_string(count++));
        std::filesystem::create_directories(path_);
        std::filesystem::permissions(path_, std::filesystem::perms{0755});
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder &) = delete;
    TempFolder &operator=(const TempFolder &) = delete;

    std::string path() const { return path_.string(); }
    std::string operator/(const std::string &name) const { return (path_ / name).string(); }

  private:
    std::filesystem::path path_;
};

} // namespace shmbloom::test
