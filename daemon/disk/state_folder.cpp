#include "disk/state_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include "sys/crash_point.h"
#include "sys/disk.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

constexpr const char *kRegistry = "registry.json";
constexpr const char *kSeed = "seed";
constexpr std::string_view kSeedWord = "shmbloom-seed-1 ";

std::string check_mode(const std::string &path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw_errno("look at", path);
    if (status.st_uid != ::geteuid())
        throw Refusal{"the state folder '" + path + "' belongs to user " + std::to_string(status.st_uid) +
                      ", not to this one (" + std::to_string(::geteuid()) + "); run as its owner, or chown it"};
    if ((status.st_mode & 077) != 0 && ::chmod(path.c_str(), 0700) != 0)
        throw_errno("set the mode 0700 of", path);
    return path;
}

} // namespace

StateFolder::StateFolder(const std::string &path, const std::string &instance)
    : path_{path}, is_new_{make_folder(path, 0700)}, folder_{open_folder(check_mode(path))},
      lock_{take_lock(instance)} {}

LockFile StateFolder::take_lock(const std::string &instance) const {
    try {
        return LockFile{path_ + "/lock", "instance '" + instance + "'"};
    } catch (const std::system_error &) {
        remove_if_unused();
        throw;
    }
}

// Nothing in it was of use to anybody yet: not even the seed, which no key has met.
void StateFolder::remove_if_unused() const {
    if (!is_new_ || ::faccessat(folder_.get(), kRegistry, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
        return;
    for (const char *name : {"registry.json.new", "seed.new", kSeed, "lock"})
        ::unlinkat(folder_.get(), name, 0);
    remove_subfolder("journal");
    ::rmdir(path_.c_str());
}

bool StateFolder::holds_lock() const {
    struct stat status {};
    if (::fstatat(folder_.get(), "lock", &status, AT_SYMLINK_NOFOLLOW) == 0)
        return FileId{status.st_dev, status.st_ino} == lock_.id();
    // A disk that fails gives the lock to nobody, and a folder that was removed as a whole is found by nobody.
    return errno != ENOENT || (::fstat(folder_.get(), &status) == 0 && status.st_nlink == 0);
}

StateFolder::Place StateFolder::place() const {
    struct stat mine {}, found {};
    if (::fstat(folder_.get(), &mine) != 0)
        return Place::here;
    if (mine.st_nlink == 0)
        return Place::removed;
    if (::stat(path_.c_str(), &found) != 0)
        return errno == ENOENT || errno == ENOTDIR ? Place::elsewhere : Place::here;
    return mine.st_dev == found.st_dev && mine.st_ino == found.st_ino ? Place::here : Place::elsewhere;
}

bool StateFolder::leads_to(const std::string &name, int folder) const {
    struct stat mine {}, found {};
    if (::fstat(folder, &mine) != 0)
        return true;
    if (::fstatat(folder_.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0)
        return errno != ENOENT;
    return mine.st_dev == found.st_dev && mine.st_ino == found.st_ino;
}

std::optional<Registry> StateFolder::read_registry() const {
    std::optional<std::string> text;
    try {
        text = read_file_at(folder_.get(), kRegistry, path_);
    } catch (const std::system_error &error) {
        if (error.code().value() == EISDIR)
            throw Refusal{"the registry '" + path_ + "/" + kRegistry + "' is a folder; put a good copy of the file back, or start "
                          "over with an empty state folder and load every filter again"};
        throw;
    }
    if (!text)
        return std::nullopt;
    return decode_registry(*text, path_ + "/" + kRegistry);
}

void StateFolder::write_registry(const Registry &registry) const {
    crash_point("registry.before");
    replace_file(folder_.get(), kRegistry, encode_registry(registry), 0600, path_);
    crash_point("registry.durable");
}

UniqueFd StateFolder::open_subfolder(const std::string &name) const {
    const std::string path = path_ + "/" + name;
    if (disk().make_folder(folder_.get(), name.c_str(), 0700) == 0)
        sync_to_disk(folder_.get(), path_);
    else if (errno != EEXIST)
        throw_errno("make the folder", path);
    return open_on_disk(folder_.get(), name, O_RDONLY | O_DIRECTORY, 0, path);
}

void StateFolder::remove_subfolder(const std::string &name) const {
    ::unlinkat(folder_.get(), name.c_str(), AT_REMOVEDIR);
}

std::optional<StateFolder::Seed> StateFolder::read_seed(const std::string &seed_file) const {
    const std::string path = seed_file.empty() ? path_ + "/" + kSeed : seed_file;
    const auto text = read_file(path);
    if (!text && seed_file.empty())
        return std::nullopt;
    if (!text)
        throw Refusal{"the seed file '" + path + "' does not exist; copy it from the machine that has it, or leave "
                      "--seed-file out and one is made"};
    std::string_view line = *text;
    if (line.ends_with('\n'))
        line.remove_suffix(1);
    // The text itself is never shown: the seed is secret.
    if (line.size() == kSeedWord.size() + 33 && line.starts_with(kSeedWord) && line[kSeedWord.size() + 16] == ' ') {
        const auto seed = parse_hex(line.substr(kSeedWord.size(), 16));
        const auto domain = parse_hex(line.substr(kSeedWord.size() + 17));
        if (seed && domain)
            return Seed{*seed, *domain};
    }
    throw Refusal{"the seed file '" + path + "' is not one line 'shmbloom-seed-1 <16 hex digits> <16 hex digits>'"};
}

StateFolder::Seed StateFolder::make_seed() const {
    const Seed made{random_u64(), random_u64()};
    const std::string line = std::string{kSeedWord} + to_hex(made.seed) + " " + to_hex(made.domain) + "\n";
    replace_file(folder_.get(), kSeed, line, 0600, path_);
    return made;
}

} // namespace shmbloom
