// import: the tool puts the file into the state folder, where the daemon may read, and the daemon decides.
#include <cerrno>
#include <random>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "copy_file.h"
#include "hints.h"
#include "json.h"
#include "numbers.h"
#include "output.h"
#include "place.h"
#include "verbs.h"

namespace shmbloom::ctl {

namespace {

// It reads all of it, and waits for a full snapshot.
constexpr std::chrono::hours kImportTimeout{24};

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

Result<Reply> import_from(const Where &where, const ImportOptions &options) {
    const Place place = find_place(where);
    if (!place.registry) {
        Failure failure = place.no_registry;
        if (failure.code == Exit::no_permission)
            failure.text = "import copies into the state folder, where only root and the daemon's user (" +
                           std::to_string(place.owner) + ") may write; run it as one of them: " + failure.text;
        return failure;
    }
    auto client = Client::connect(where);
    if (const Failure *failure = failure_of(client))
        return *failure;
    const FileOwner owner{place.owner, place.group};
    const std::string folder = place.registry->state_dir + "/import", name = random_name();
    if (auto failure = make_import_folder(folder, owner))
        return *failure;
    const std::string path = folder + "/" + name;
    if (auto failure = copy_file(options.file, path, ::geteuid() == owner.user ? std::optional<FileOwner>{} : owner))
        return *failure;
    auto reply = std::get<Client>(client).call({"SB.IMPORT", options.name, name}, kImportTimeout);
    ::unlink(path.c_str()); // the daemon did, unless it never saw it
    return reply;
}

} // namespace

int run(const Where &where, const ImportOptions &options) {
    auto imported = import_from(where, options);
    const Failure *failure = failure_of(imported);
    Json fields{{"name", options.name}, {"file", options.file}};
    const Reply info = failure == nullptr ? std::get<Reply>(imported) : Reply{};
    fields["live"] = info.field("live") == "1";
    fields["doubts"] = json_words(info.field("doubts"));
    const auto keys = parse_count(info.field("estimated_keys"));
    fields["estimated_keys"] = keys ? Json(*keys) : Json{};
    if (failure != nullptr)
        return conclude(fields, *failure);
    const std::string doubts = info.field("doubts");
    print("imported into " + options.name + ": about " + format_count(keys.value_or(0)) + " keys, " +
          (doubts.empty() ? "live" : doubts) + "\n");
    if (!doubts.empty())
        print("next: " + load_command(where, options.name) + "\n");
    return conclude(fields, {});
}

} // namespace shmbloom::ctl
