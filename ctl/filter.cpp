#include "filter.h"

#include <array>
#include <cerrno>

#include "handle.h"

namespace shmbloom::ctl {

namespace {

// Options for the library, and the place for its line of text about a failure.
struct Library {
    explicit Library(const Where &where) {
        options.struct_size = sizeof options;
        options.instance = where.instance ? where.instance->c_str() : nullptr;
        options.runtime_dir = where.runtime_dir ? where.runtime_dir->c_str() : nullptr;
        options.error_text = text.data();
        options.error_text_size = text.size();
    }

    Failure failure(int r) const { return {exit_of(r), text.front() != '\0' ? text.data() : shmbloom_strerror(r)}; }

    std::array<char, 1024> text{};
    shmbloom_options options{};
};

} // namespace

Exit exit_of(int negative_errno) {
    switch (-negative_errno) {
    case ENOENT:
        return Exit::not_found;
    case EACCES:
    case EPERM:
        return Exit::no_permission;
    case EINVAL:
    case E2BIG:
    case EPROTOTYPE:
    case ERANGE:
        return Exit::usage;
    case ETIMEDOUT:
    case EINPROGRESS:
        return Exit::timeout;
    case ENOMEM:
    case ENOSPC:
    case EIO:
    case EMFILE:
    case ENFILE:
        return Exit::no_space;
    case EBUSY:
    case EDQUOT:
    case EEXIST:
    case ESTALE:
        return Exit::refused;
    case EPROTONOSUPPORT: // control or segment is a newer daemon's, not what it should be, or gone: nothing can be said
    case EBADMSG:
    case ENOLINK:
        return Exit::unverified;
    default: // ENXIO, ECONNREFUSED, ECONNRESET, EPROTO ...: no daemon to speak to
        return Exit::unreachable;
    }
}

Result<Filter> open_filter(const Where &where, const std::string &name) {
    Library library{where};
    shmbloom_filter *f = nullptr;
    const int r = shmbloom_open(&f, name.c_str(), &library.options);
    if (r < 0)
        return library.failure(r);
    return Filter{f};
}

shmbloom_info get_info(shmbloom_filter *f) {
    shmbloom_info info{};
    info.struct_size = sizeof info;
    shmbloom_get_info(f, &info); // fails for a NULL handle or a wrong size only
    return info;
}

std::uint64_t wrong_absents_of(const shmbloom_filter *f) {
    shmbloom_slot slot{};
    return shmbloom__copy_slot(f, &slot) ? slot.wrong_absents : SHMBLOOM_UNKNOWN;
}

Result<shmbloom__hashing> get_hashing(shmbloom_filter *f, const std::string &name) {
    shmbloom__hashing hashing{};
    const int r = shmbloom__get_hashing(f, &hashing);
    if (r < 0)
        return Failure{exit_of(r), "'" + name + "': " + shmbloom_strerror(r)};
    return hashing;
}

Result<Listing> list_filters(const Where &where) {
    Library library{where};
    Listing listing;
    shmbloom__daemon daemon{};
    const auto visit = [](void *context, const char *name) {
        static_cast<Listing *>(context)->names.emplace_back(name);
        return 0;
    };
    const int r = shmbloom__list_of(&library.options, visit, &listing, &daemon);
    if (r < 0)
        return library.failure(r);
    listing.runtime_dir = daemon.runtime_dir;
    listing.heartbeat_age_ms = daemon.heartbeat_age_ms;
    listing.stopped = daemon.pid == 0;
    return listing;
}

} // namespace shmbloom::ctl
