#include "service/service.h"

#include "net/asio.h"

#include <boost/asio/signal_set.hpp>
#include "net/server.h"
#include "service/dispatcher.h"
#include "service/instance.h"
#include "service/start.h"
#include "shmbloom/version.h"
#include "sys/lock_file.h"
#include "sys/log.h"
#include "sys/os_error.h"

#include <algorithm>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <systemd/sd-daemon.h>

namespace shmbloom {
namespace {

namespace asio = boost::asio;

// Whoever can write here decides what workers read.
std::string trusted_runtime_folder(const std::string &path) {
    make_folder(path, 0750);
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0)
        throw_errno("look at", path);
    if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0)
        throw Refusal{"the runtime folder '" + path + "' must belong to user " + std::to_string(::geteuid()) +
                      " and be writable by nobody else; chown and chmod 0750 it, or give another --runtime-dir"};
    struct statfs fs {};
    if (::statfs(path.c_str(), &fs) == 0 && fs.f_type != TMPFS_MAGIC)
        log::warning("the runtime folder '" + path + "' is not on a tmpfs: a lookup may wait for the disk; for development only");
    return path;
}

// Descriptors that files, segments and the next connection's refusal need.
constexpr std::size_t kDescriptorReserve = 64;
// A peer that does not read its replies must not hold up the stop.
constexpr auto kDrainTime = std::chrono::seconds{5};

// As many connections as there may be descriptors, less the reserve and one for each filter.
net::Limits connection_limits(const Options &options) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const auto reserve = kDescriptorReserve + SHMBLOOM_SLOT_COUNT;
    return {.input_memory_bytes = options.max_input_memory_bytes,
            .connections = limit.rlim_cur > 2 * reserve ? limit.rlim_cur - reserve : limit.rlim_cur / 2};
}

class Service {
  public:
    explicit Service(const Options &options)
        : options_{options}, runtime_lock_{trusted_runtime_folder(options.runtime_dir) + "/lock", "instance '" + options.instance + "'"},
          state_{options.state_dir, options.instance}, boot_{boot_id()},
          instance_{options_, state_, boot_, start_instance(options_, state_, boot_), [this](std::function<void()> job) { asio::post(io_, std::move(job)); }},
          dispatcher_{instance_, options_},
          server_{io_, options_.runtime_dir + "/socket", dispatcher_, connection_limits(options_)} {}

    int run() {
        signals_.async_wait([this](const boost::system::error_code &error, int signal) {
            if (!error)
                stop(signal);
        });
        beat();
        log::info("shmbloomd " SHMBLOOM_VERSION " ready: instance '" + options_.instance + "', " +
                  std::to_string(instance_.filters().size()) + " filters, runtime folder '" + options_.runtime_dir +
                  "', state folder '" + options_.state_dir + "'");
        ::sd_notify(0, "READY=1");
        io_.run();
        return status_;
    }

  private:
    void beat() {
        if (stopping_)
            return;
        if (!runtime_lock_.is_in_place())
            return give_up();
        instance_.beat();
        timer_.expires_after(std::chrono::seconds{1});
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                beat();
        });
    }

    // Another daemon may own the folder by now: no more acknowledgements, no reader goes on by what we fed.
    void give_up() {
        server_.abandon();
        instance_.end_all_segments();
        log::critical("the lock '" + runtime_lock_.path() + "' is gone, so another shmbloomd may run here: every filter answers "
                      "unverified and this daemon ends; keep cleaners away from the runtime folder and start it again");
        status_ = 1;
        io_.stop();
    }

    void stop(int signal) {
        stopping_ = true;
        log::info(std::string{"stopping ("} + (signal == SIGTERM ? "SIGTERM" : "SIGINT") + "): segments stay, workers go on");
        ::sd_notify(0, "STOPPING=1");
        timer_.expires_after(kDrainTime); // ends the heartbeats too
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                server_.abandon();
        });
        server_.drain([this] {
            instance_.stop([this](const std::string &error) {
                if (!error.empty())
                    log::error("the clean stop could not be noted: " + error);
                status_ = error.empty() ? 0 : 1;
                io_.stop();
            });
        });
    }

    const Options &options_;
    const LockFile runtime_lock_;
    const StateFolder state_;
    const Uuid boot_;
    asio::io_context io_{1};
    asio::signal_set signals_{io_, SIGTERM, SIGINT};
    asio::steady_timer timer_{io_};
    Instance instance_;
    Dispatcher dispatcher_;
    net::Server server_;
    bool stopping_ = false;
    int status_ = 0;
};

} // namespace

int serve(const Options &options) {
    ::signal(SIGPIPE, SIG_IGN);
    return Service{options}.run();
}

} // namespace shmbloom
