#include "place.h"

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include "shared_gates.h"
#include "words.h"

namespace shmbloom::ctl {

namespace {

std::string environment(const char *name) {
    const char *value = ::secure_getenv(name);
    return value == nullptr ? "" : value;
}

std::string instance_of(const Where &where) {
    const std::string given = where.instance.value_or(environment("SHMBLOOM_INSTANCE"));
    return given.empty() ? "default" : given;
}

void look_at_owner(Place &place) {
    struct stat status {};
    place.owner = ::geteuid();
    place.group = ::getegid();
    if (!place.runtime_dir.empty() && ::stat(place.runtime_dir.c_str(), &status) == 0) {
        place.owner = status.st_uid;
        place.group = status.st_gid;
    }
}

void find_control(const Where &where, Place &place) {
    auto listed = list_filters(where);
    if (const Failure *failure = failure_of(listed)) {
        place.no_control = *failure;
        place.runtime_dir = where.runtime_dir.value_or(environment("SHMBLOOM_RUNTIME_DIR"));
    } else {
        place.runtime_dir = std::get<Listing>(listed).runtime_dir;
        place.has_control = true;
    }
}

// A registry of another daemon would have shmbloomd --once end every filter of this one.
bool agrees(const Place &place, const RegistryView &registry) {
    if (place.has_control)
        return state_uuid_of_control(place.runtime_dir) == registry.state_uuid;
    return place.runtime_dir.empty() || registry.runtime_dir.empty() || place.runtime_dir == registry.runtime_dir;
}

void find_registry(const Where &where, Place &place) {
    auto read = read_registry(where.state_dir.value_or(default_state_dir(place.instance, place.owner)));
    if (const Failure *failure = failure_of(read)) {
        place.no_registry = *failure;
        if (!where.state_dir)
            place.no_registry.text += "; if it is elsewhere, name it with --state-dir";
        return;
    }
    RegistryView registry = take(std::move(read));
    if (!agrees(place, registry)) {
        place.no_registry = {Exit::refused,
                             "the state folder '" + registry.state_dir + "' is not that of the daemon in '" +
                                 place.runtime_dir + "'; name the right one with --state-dir",
                             word::kDisagree};
        return;
    }
    if (place.runtime_dir.empty()) {
        place.runtime_dir = registry.runtime_dir;
        look_at_owner(place);
    }
    place.registry = std::move(registry);
}

} // namespace

Place find_place(const Where &where) {
    Place place;
    place.instance = instance_of(where);
    find_control(where, place);
    look_at_owner(place);
    find_registry(where, place);
    return place;
}

} // namespace shmbloom::ctl
