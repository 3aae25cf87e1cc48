#include "files_in_hand.h"

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <sanitizer/asan_interface.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <vector>

#include "choices.h"

// The kernel's own, by the linker.
extern "C" {
int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *name, int flags, ...);
int __real_shm_open(const char *name, int flags, mode_t mode);
int __real_stat(const char *path, struct stat *status);
int __real_fstat(int fd, struct stat *status);
ssize_t __real_pread(int fd, void *bytes, size_t size, off_t offset);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *address, size_t size);
int __real_close(int fd);
int __real_connect(int fd, const sockaddr *address, socklen_t size);
}

namespace shmbloom::files_in_hand {
namespace {

constexpr int kFirst = 1 << 20;       // a descriptor from here on is one of ours
constexpr std::size_t kMappings = 16; // of one file: more than the library holds at a time, so that a gone one stays so

struct File {
    struct stat status {};
    const char *content = nullptr; // null: a folder
    std::string control;           // of a folder: its path
    struct Mapping {
        void *address = nullptr;
        std::size_t size = 0; // 0: not mapped
    };
    std::array<Mapping, kMappings> mappings{};
    std::size_t next = 0; // the one that is free the longest
};
using FilePtr = std::shared_ptr<File>;

struct Books {
    std::map<std::string, FilePtr, std::less<>> files; // by path or name
    std::vector<File *> open;                          // by descriptor; null: free
    std::map<const void *, File::Mapping *> mappings;  // by address
};

Books &books() {
    static Books all;
    return all;
}

File *find(std::string_view path) {
    const auto found = books().files.find(path);
    return found == books().files.end() ? nullptr : found->second.get();
}

File *find(int fd) {
    if (fd < kFirst)
        return nullptr;
    const auto i = static_cast<std::size_t>(fd - kFirst);
    require(i < books().open.size() && books().open[i] != nullptr, "a descriptor is used while it is open");
    return books().open[i];
}

int open(File *file) {
    std::vector<File *> &open = books().open;
    std::size_t i = 0;
    while (i < open.size() && open[i] != nullptr)
        i++;
    if (i == open.size())
        open.push_back(nullptr);
    open[i] = file;
    return kFirst + static_cast<int>(i);
}

void *map_whole(int fd, std::size_t size) {
    void *const address = __real_mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    require(address != MAP_FAILED, "a file can be mapped");
    return address;
}

FilePtr take(int fd) {
    require(fd >= 0, "what is named is there");
    const auto file = std::make_shared<File>();
    require(__real_fstat(fd, &file->status) == 0, "it can be looked at");
    const auto size = static_cast<std::size_t>(file->status.st_size);
    if (S_ISREG(file->status.st_mode)) {
        file->content = static_cast<const char *>(map_whole(fd, size));
        for (File::Mapping &mapping : file->mappings) {
            mapping.address = map_whole(fd, size);
            __asan_poison_memory_region(mapping.address, size);
            books().mappings[mapping.address] = &mapping;
        }
    }
    __real_close(fd);
    return file;
}

void *map(File &file, std::size_t size) {
    File::Mapping &mapping = file.mappings[file.next++ % kMappings];
    require(mapping.size == 0, "no more mappings than are used");
    require(size > 0 && size <= static_cast<std::size_t>(file.status.st_size), "nothing behind a file's end is mapped");
    mapping.size = size;
    __asan_unpoison_memory_region(mapping.address, size);
    return mapping.address;
}

} // namespace

void add_folder(const std::string &path, const std::string &control) {
    const FilePtr folder = take(__real_open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (find(control) == nullptr)
        books().files[control] = take(__real_open(control.c_str(), O_RDONLY | O_CLOEXEC));
    folder->control = control;
    books().files[path] = folder;
    books().files[path + "/control"] = books().files[control];
}

void add_shared_memory(const std::string &name) {
    books().files[name] = take(__real_shm_open(name.c_str(), O_RDONLY, 0));
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for (const File *const file : books().open)
        count += file != nullptr ? 1 : 0;
    return count;
}

} // namespace shmbloom::files_in_hand

using namespace shmbloom;
using namespace shmbloom::files_in_hand;

extern "C" {

int __wrap_open(const char *path, int flags, ...) {
    if (File *const file = find(std::string_view{path}))
        return files_in_hand::open(file);
    std::va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return __real_open(path, flags, mode);
}

int __wrap_openat(int folder, const char *name, int flags, ...) {
    require((flags & O_CREAT) == 0, "the library makes no file");
    if (const File *const file = find(folder)) {
        require(std::strcmp(name, "control") == 0, "a folder has one file");
        return files_in_hand::open(find(file->control));
    }
    return __real_openat(folder, name, flags);
}

int __wrap_shm_open(const char *name, int flags, mode_t mode) {
    if ((flags & O_CREAT) != 0)
        return __real_shm_open(name, flags, mode);
    if (File *const file = find(std::string_view{name}))
        return files_in_hand::open(file);
    errno = ENOENT;
    return -1;
}

int __wrap_stat(const char *path, struct stat *status) {
    const File *const file = find(std::string_view{path});
    if (file == nullptr)
        return __real_stat(path, status);
    *status = file->status;
    return 0;
}

int __wrap_fstat(int fd, struct stat *status) {
    const File *const file = find(fd);
    if (file == nullptr)
        return __real_fstat(fd, status);
    *status = file->status;
    return 0;
}

ssize_t __wrap_pread(int fd, void *bytes, size_t size, off_t offset) {
    const File *const file = find(fd);
    if (file == nullptr)
        return __real_pread(fd, bytes, size, offset);
    const auto from = static_cast<std::size_t>(offset);
    require(from + size <= static_cast<std::size_t>(file->status.st_size), "no file here is shorter than a header");
    std::memcpy(bytes, file->content + from, size);
    return static_cast<ssize_t>(size);
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    File *const file = find(fd);
    if (file == nullptr)
        return __real_mmap(address, size, protection, flags, fd, offset);
    require(address == nullptr && protection == PROT_READ && flags == MAP_SHARED && offset == 0,
            "a reader maps a small file from its beginning, and writes nothing");
    return map(*file, size);
}

int __wrap_munmap(void *address, size_t size) {
    const auto found = books().mappings.find(address);
    if (found == books().mappings.end())
        return __real_munmap(address, size);
    require(found->second->size == size, "what was mapped is unmapped, once and as a whole");
    __asan_poison_memory_region(address, size);
    found->second->size = 0;
    return 0;
}

int __wrap_close(int fd) {
    if (find(fd) == nullptr)
        return __real_close(fd);
    books().open[static_cast<std::size_t>(fd - kFirst)] = nullptr;
    return 0;
}

int __wrap_socket(int, int, int) {
    static File nobody;
    return files_in_hand::open(&nobody);
}

int __wrap_connect(int fd, const sockaddr *address, socklen_t size) {
    if (find(fd) == nullptr)
        return __real_connect(fd, address, size);
    errno = ENOENT;
    return -1;
}
}
