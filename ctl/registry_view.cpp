#include "registry_view.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "shmbloom/key.h"

namespace shmbloom::ctl {

namespace {

using Sorted = nlohmann::json; // keys in the order that the checksum was made in

RecordedFilter read_filter(const Sorted &filter) {
    const Sorted &segment = filter.at("segment");
    RecordedFilter read{filter.at("name"), filter.at("uuid"),   filter.at("generation"),
                        segment.at("dev"), segment.at("inode"), {}, 0};
    for (const auto &[word, doubt] : filter.at("doubts").items())
        read.reasons[word] = doubt.at("text");
    if (filter.contains("snapshots") && !filter["snapshots"].empty())
        read.newest_snapshot = filter["snapshots"].back().at("number");
    return read;
}

RegistryView read_content(const Sorted &content) {
    RegistryView view;
    view.state_uuid = content.at("state_uuid");
    const std::string control = content.at("control").at("path");
    view.runtime_dir =
        control.substr(0, control.find_last_of('/') == std::string::npos ? 0 : control.find_last_of('/'));
    for (const Sorted &filter : content.at("filters"))
        view.filters.push_back(read_filter(filter));
    return view;
}

bool is_whole(const Sorted &file) {
    const std::string text = file.at("registry").dump();
    return file.at("checksum") == hex_text(XXH3_64bits(text.data(), text.size()));
}

std::string environment(const char *name) {
    const char *value = ::secure_getenv(name);
    return value == nullptr ? "" : value;
}

std::string state_home(unsigned owner) {
    if (owner == ::geteuid()) {
        const std::string base = environment("XDG_STATE_HOME"), home = environment("HOME");
        return !base.empty() || home.empty() ? base : home + "/.local/state";
    }
    const passwd *user = ::getpwuid(owner);
    return user == nullptr ? "" : std::string{user->pw_dir} + "/.local/state";
}

} // namespace

Result<RegistryView> read_registry(const std::string &state_dir) {
    const std::string path = state_dir + "/registry.json";
    std::ifstream file{path};
    if (!file)
        return Failure{errno == EACCES ? Exit::no_permission : Exit::unreachable,
                       "the registry '" + path + "' cannot be read: " + std::strerror(errno)};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    try {
        const Sorted json = Sorted::parse(text);
        if (!is_whole(json))
            return Failure{Exit::unreachable, "the registry '" + path + "' fails its checksum"};
        RegistryView view = read_content(json.at("registry"));
        view.state_dir = state_dir;
        return view;
    } catch (const Sorted::exception &) {
        return Failure{Exit::unreachable, "the registry '" + path + "' is not one that this version understands"};
    }
}

std::string default_state_dir(const std::string &instance, unsigned owner) {
    const std::string system = "/var/lib/shmbloom/" + instance;
    struct stat status {};
    if (owner == 0 || (::stat(system.c_str(), &status) == 0 && status.st_uid == owner))
        return system;
    const std::string home = state_home(owner);
    return home.empty() ? system : home + "/shmbloom/" + instance;
}

} // namespace shmbloom::ctl
