// The state folder: lock, registry, seed. Held open, so that a folder moved under us is not mixed with a new one.
#pragma once

#include <optional>
#include <string>

#include "disk/registry.h"
#include "sys/lock_file.h"

namespace shmbloom {

class StateFolder {
  public:
    // Makes the folder (0700) when it is missing, and locks it. Throws Refusal or std::system_error.
    StateFolder(const std::string &path, const std::string &instance);

    const std::string &path() const { return path_; }
    bool is_new() const { return is_new_; } // made by this call
    void remove_if_unused() const;           // when it is new and no registry has come into it
    FileId id() const { return file_id(folder_.get()); }
    // The lock in this very folder, wherever it was moved to, is still the one that is held.
    bool holds_lock() const;
    // Whether path() still leads to this very folder. When that cannot be seen: yes.
    enum class Place { here, elsewhere, removed };
    Place place() const;
    bool leads_to(const std::string &name, int folder) const; // the same of `<state folder>/<name>`, wherever this one is

    std::optional<Registry> read_registry() const; // nullopt: there is none
    void write_registry(const Registry &registry) const; // durable on return; throws std::system_error

    // `<state folder>/<name>`, made (0700, durable) when it is missing. Throws std::system_error.
    UniqueFd open_subfolder(const std::string &name) const;
    void remove_subfolder(const std::string &name) const; // when it is empty

    struct Seed {
        std::uint64_t seed;
        std::uint64_t domain;

        friend bool operator==(const Seed &, const Seed &) = default;
    };
    // From `seed_file`, or when that is empty from `<state folder>/seed` (nullopt: not there). Throws Refusal.
    std::optional<Seed> read_seed(const std::string &seed_file) const;
    Seed make_seed() const; // from the system's random source, kept in `<state folder>/seed`, 0600

  private:
    LockFile take_lock(const std::string &instance) const;

    std::string path_;
    bool is_new_;
    UniqueFd folder_;
    LockFile lock_;
};

} // namespace shmbloom
