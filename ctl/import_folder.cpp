#include "import_folder.h"

#include <cerrno>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "copy_file.h"
#include "json.h"
#include "place.h"

namespace shmbloom::ctl {

namespace {

std::string random_name() {
    std::random_device random;
    return hex_text(std::uint64_t{random()} << 32 | random());
}

Outcome make_import_folder(const std::string &path, const FileOwner &owner) {
    if (::mkdir(path.c_str(), 0700) == 0)
        return ::chown(path.c_str(), owner.user, owner.group) == 0
                   ? Outcome{}
                   : Outcome{failure_of_errno(errno, "cannot give away", path)};
    if (errno == EEXIST)
        return {};
    return failure_of_errno(errno, "cannot make the folder", path);
}

} // namespace

Result<BroughtFile> BroughtFile::bring(const Where &where, const std::string &verb, const std::string &file) {
    const Place place = find_place(where);
    if (!place.registry) {
        Failure failure = place.no_registry;
        if (failure.code == Exit::no_permission)
            failure.text = verb + " copies into the state folder, where only root and the daemon's user (" +
                           std::to_string(place.owner) + ") may write; run it as one of them: " + failure.text;
        return failure;
    }
    const FileOwner owner{place.owner, place.group};
    const std::string folder = place.registry->state_dir + "/import", name = random_name();
    if (auto failure = make_import_folder(folder, owner))
        return *failure;
    const std::string path = folder + "/" + name;
    if (auto failure = copy_file(file, path, ::geteuid() == owner.user ? std::optional<FileOwner>{} : owner))
        return *failure;
    return BroughtFile{path, name};
}

BroughtFile::BroughtFile(BroughtFile &&other) noexcept
    : path_{std::exchange(other.path_, "")}, name_{std::move(other.name_)} {}

BroughtFile::~BroughtFile() {
    if (!path_.empty())
        ::unlink(path_.c_str());
}

} // namespace shmbloom::ctl
