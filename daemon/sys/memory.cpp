#include "sys/memory.h"

#include <algorithm>
#include <charconv>
#include <sys/statvfs.h>

#include "sys/files.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end != text.data() ? std::optional{value} : std::nullopt;
}

// The number after `key` in a file of lines `key number`.
std::optional<std::uint64_t> find_number(const std::string &path, std::string_view key) {
    const auto text = read_file(path);
    if (!text)
        return std::nullopt;
    auto at = text->find(key);
    if (at == std::string::npos)
        return std::nullopt;
    at = text->find_first_of("0123456789", at + key.size());
    return at == std::string::npos ? std::nullopt : parse_number(std::string_view{*text}.substr(at));
}

std::string mebibytes(std::uint64_t bytes) {
    return std::to_string(bytes >> 20) + " MiB (" + std::to_string(bytes) + " bytes)";
}

void take_least(MemoryRoom &least, std::uint64_t bytes, std::string where) {
    if (bytes < least.bytes)
        least = {bytes, std::move(where)};
}

// cgroup v2: every ancestor's limit counts. The page cache in memory.current can be given back, so it is not counted;
// shared memory cannot, so it is.
void take_cgroup_limits(MemoryRoom &least) {
    const auto self = read_file("/proc/self/cgroup");
    if (!self || !self->starts_with("0::/"))
        return;
    std::string path = self->substr(3, self->find('\n') - 3);
    for (;; path.resize(path.rfind('/'))) {
        const std::string folder = "/sys/fs/cgroup" + (path == "/" ? "" : path);
        const auto limit_text = read_file(folder + "/memory.max");
        const auto limit = limit_text ? parse_number(*limit_text) : std::nullopt;
        const auto current_text = read_file(folder + "/memory.current");
        const auto current = current_text ? parse_number(*current_text) : std::nullopt;
        if (limit && current) {
            const std::uint64_t cache = find_number(folder + "/memory.stat", "\nfile ").value_or(0);
            const std::uint64_t shared = find_number(folder + "/memory.stat", "\nshmem ").value_or(0);
            const std::uint64_t used = *current - std::min(*current, cache - std::min(cache, shared));
            take_least(least, *limit - std::min(*limit, used), "the memory limit of control group '" + path + "'");
        }
        if (path.empty() || path == "/")
            return;
    }
}

} // namespace

FilesystemRoom shared_memory_room() {
    struct statvfs status {};
    if (::statvfs("/dev/shm", &status) != 0)
        throw_errno("look at", "/dev/shm");
    return {static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize,
            static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize};
}

MemoryRoom memory_room() {
    MemoryRoom least{shared_memory_room().free, "/dev/shm"};
    if (const auto available = find_number("/proc/meminfo", "MemAvailable:"))
        take_least(least, *available * 1024, "the machine's available memory");
    take_cgroup_limits(least);
    return least;
}

std::optional<std::string> memory_refusal(std::uint64_t bytes, std::uint64_t reserve_bytes) {
    const MemoryRoom room = memory_room();
    if (room.bytes >= reserve_bytes && bytes <= room.bytes - reserve_bytes)
        return std::nullopt;
    return "needs " + mebibytes(bytes) + " and leaves a reserve of " + mebibytes(reserve_bytes) + ", but " +
           room.where + " has " + mebibytes(room.bytes) +
           "; make room there, or ask for fewer keys, a higher rate or a smaller --shm-reserve";
}

} // namespace shmbloom
