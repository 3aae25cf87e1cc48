#include "service/options.h"

#include <boost/program_options.hpp>
#include <fstream>
#include <grp.h>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

#include "service/names.h"
#include "shmbloom/version.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

namespace po = boost::program_options;

po::options_description describe() {
    po::options_description options{"shmbloomd keeps Bloom filters in shared memory\n\nUsage: shmbloomd [OPTIONS]\n"
                                    "       shmbloomd [OPTIONS] --once VERB [ARGUMENT ...]\n\nOptions",
                                    100};
    // A table reads better as one.
    // clang-format off
    options.add_options()
        ("help,h", "show this and exit")
        ("version", "show the version and exit")
        ("config", po::value<std::string>(), "read options from this file too, lines of the form option=value")
        ("instance", po::value<std::string>()->default_value("default"), "name of this instance: 1 to 32 of A-Z a-z 0-9 _ -")
        ("runtime-dir", po::value<std::string>(), "folder of control, socket and lock (default: $SHMBLOOM_RUNTIME_DIR, else "
            "/run/shmbloom/<instance> as root or where it is ours, else $XDG_RUNTIME_DIR/shmbloom/<instance>, else "
            "/tmp/shmbloom-<uid>/<instance>)")
        ("state-dir", po::value<std::string>(), "folder of the registry (default: /var/lib/shmbloom/<instance> as root or "
            "where it is ours, else $XDG_STATE_HOME/shmbloom/<instance>)")
        ("seed-file", po::value<std::string>()->default_value(""), "seed of the hash, read when the registry is made "
            "(default: <state-dir>/seed, made once)")
        ("init", po::bool_switch(), "begin with no filters in a state folder that has no registry")
        ("take-over", po::bool_switch(), "begin with a copy of another state folder: its filters come up lossy")
        ("forget-readers", po::bool_switch(), "take adds again that were refused since a control and a segment were removed: no "
            "worker of before is left")
        ("once", po::bool_switch(), "do one thing without serving, with no daemon running: create, drop, live, pause, resume, "
            "forget-readers (arguments as on the wire: 'SB.' and the verb), or check the state folder")
        ("admin-group", po::value<std::string>(), "members may create, drop and load filters")
        ("shm-reserve", po::value<std::string>()->default_value("256MiB"), "memory that new filters leave free")
        ("max-memory", po::value<std::string>()->default_value("0"), "of all segments together, above which no filter grows "
            "or is rebuilt (0: as much as leaves a quarter of /dev/shm free)")
        ("max-input-memory", po::value<std::string>()->default_value("256MiB"), "for requests of all connections; one "
            "request may take a quarter")
        ("journal-retention", po::value<std::string>()->default_value("3600"), "seconds that adds stay in the journal though "
            "snapshots hold them")
        ("journal-limit", po::value<std::string>()->default_value("4GiB"), "size of the journal above which they stay no "
            "longer; what snapshots do not hold always stays")
        ("pause-on-wrong-absent", po::value<std::string>()->default_value("0"), "pause a filter when workers have reported so "
            "many wrong absents (0: never)")
        ("log-level", po::value<std::string>()->default_value("info"), "critical, error, warning, info or debug");
    // clang-format on
    return options;
}

gid_t find_group(const std::string &name) {
    errno = 0;
    if (const group *entry = ::getgrnam(name.c_str()))
        return entry->gr_gid;
    throw Refusal{"--admin-group '" + name + "' is not a group of this machine; make it with 'groupadd --system " +
                  name + "', or name another"};
}

std::uint64_t size_option(const po::variables_map &values, const char *name) {
    const auto &text = values[name].as<std::string>();
    const auto size = parse_size(text);
    if (!size)
        throw Refusal{std::string{"--"} + name + " '" + text +
                      "' is not a size; allowed: a number of bytes, or with KiB, "
                      "MiB, GiB, kB, MB, GB behind it, as in 256MiB"};
    return *size;
}

// A folder of the system's when we are root, or when somebody made it for us; else the user's own.
std::string default_folder(const std::string &system_path, const std::string &user_path) {
    struct stat status {};
    const bool ours = ::stat(system_path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
    return ::geteuid() == 0 || ours ? system_path : user_path;
}

std::string environment(const char *name) {
    const char *const value = ::secure_getenv(name);
    return value == nullptr ? "" : value;
}

std::string default_runtime_dir(const std::string &instance) {
    if (const std::string path = environment("SHMBLOOM_RUNTIME_DIR"); !path.empty())
        return path;
    const std::string base = environment("XDG_RUNTIME_DIR");
    return default_folder("/run/shmbloom/" + instance,
                          base.empty() ? "/tmp/shmbloom-" + std::to_string(::geteuid()) + "/" + instance
                                       : base + "/shmbloom/" + instance);
}

std::string default_state_dir(const std::string &instance) {
    std::string base = environment("XDG_STATE_HOME");
    if (base.empty() && !environment("HOME").empty())
        base = environment("HOME") + "/.local/state";
    const std::string path =
        default_folder("/var/lib/shmbloom/" + instance, base.empty() ? "" : base + "/shmbloom/" + instance);
    if (path.empty())
        throw Refusal{"no place for the state folder: HOME and XDG_STATE_HOME are unset; give --state-dir FOLDER"};
    return path;
}

Options read_values(const po::variables_map &values) {
    Options options;
    options.instance = values["instance"].as<std::string>();
    if (!is_instance_name(options.instance))
        throw Refusal{"--instance '" + options.instance + "' is not allowed: 1 to 32 characters of A-Z a-z 0-9 _ -"};
    options.runtime_dir = values.count("runtime-dir") != 0 ? values["runtime-dir"].as<std::string>()
                                                           : default_runtime_dir(options.instance);
    options.state_dir =
        values.count("state-dir") != 0 ? values["state-dir"].as<std::string>() : default_state_dir(options.instance);
    if (options.runtime_dir.empty() || options.state_dir.empty())
        throw Refusal{"--runtime-dir and --state-dir need the path of a folder"};
    if (!is_utf8(options.runtime_dir) || !is_utf8(options.state_dir))
        throw Refusal{"the paths of --runtime-dir and --state-dir must be UTF-8: the registry is JSON and names them"};
    options.seed_file = values["seed-file"].as<std::string>();
    options.init = values["init"].as<bool>();
    options.take_over = values["take-over"].as<bool>();
    options.forget_readers = values["forget-readers"].as<bool>();
    if (values.count("argument") != 0)
        options.once = values["argument"].as<std::vector<std::string>>();
    if (values["once"].as<bool>() != !options.once.empty())
        throw Refusal{options.once.empty()
                          ? "--once needs a verb: create, drop, live, pause, resume, forget-readers or check"
                          : "'" + options.once[0] + "' is not an option; 'shmbloomd --help' shows what is allowed"};
    if (values.count("admin-group") != 0)
        options.admin_group = find_group(values["admin-group"].as<std::string>());
    options.shm_reserve_bytes = size_option(values, "shm-reserve");
    options.max_memory_bytes = size_option(values, "max-memory");
    options.max_input_memory_bytes = size_option(values, "max-input-memory");
    if (options.max_input_memory_bytes < 1 << 20)
        throw Refusal{"--max-input-memory must be at least 1MiB"};
    options.journal_retention.limit_bytes = size_option(values, "journal-limit");
    const auto &retention = values["journal-retention"].as<std::string>();
    const auto retention_s = parse_unsigned(retention);
    if (!retention_s || *retention_s > UINT32_MAX) // it is added to a time
        throw Refusal{"--journal-retention '" + retention + "' is not a whole number of seconds, 0 to 4294967295"};
    options.journal_retention.seconds = *retention_s;
    const auto &wrong_absents = values["pause-on-wrong-absent"].as<std::string>();
    const auto wrong_absents_allowed = parse_unsigned(wrong_absents); // Boost would take -1 for 2^64 - 1
    if (!wrong_absents_allowed)
        throw Refusal{"--pause-on-wrong-absent '" + wrong_absents + "' is not a whole number; 0 means never"};
    options.pause_on_wrong_absent = *wrong_absents_allowed;
    const auto level = log::parse_level(values["log-level"].as<std::string>());
    if (!level)
        throw Refusal{"--log-level '" + values["log-level"].as<std::string>() +
                      "' is not one of critical, error, warning, info, debug"};
    options.log_level = *level;
    return options;
}

} // namespace

std::optional<Options> parse_options(int argc, const char *const *argv) {
    const po::options_description known = describe();
    po::options_description all;
    all.add(known).add_options()("argument", po::value<std::vector<std::string>>());
    po::positional_options_description positional;
    positional.add("argument", -1);
    try {
        po::variables_map values;
        // No abbreviations: an option added later must not change what a script means.
        constexpr int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
        po::store(po::command_line_parser(argc, argv).options(all).positional(positional).style(style).run(), values);
        if (values.count("help") != 0) {
            std::cout << known << "\nSizes are bytes, or have KiB MiB GiB kB MB GB behind them.\n";
            return std::nullopt;
        }
        if (values.count("version") != 0) {
            std::cout << "shmbloomd " SHMBLOOM_VERSION "\n";
            return std::nullopt;
        }
        if (values.count("config") != 0) {
            const auto &path = values["config"].as<std::string>();
            std::ifstream file{path};
            if (!file)
                throw Refusal{"--config '" + path + "' cannot be read"};
            po::store(po::parse_config_file(file, known), values);
            if (file.bad()) // a folder can be opened, not read
                throw Refusal{"--config '" + path + "' cannot be read"};
        }
        return read_values(values);
    } catch (const po::error &error) {
        throw Refusal{std::string{error.what()} + "; 'shmbloomd --help' shows what is allowed"};
    }
}

} // namespace shmbloom
