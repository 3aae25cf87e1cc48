#include "service/service.h"

#include "net/server.h"
#include "service/core.h"
#include "shmbloom/version.h"
#include "sys/log.h"
#include "sys/unique_fd.h"
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <fcntl.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>

namespace shmbloom {
namespace {

namespace asio = boost::asio;

// Descriptors that files, segments and the next connection's refusal need.
constexpr std::size_t kDescriptorReserve = 64;
// A peer that does not read its replies must not hold up the stop.
constexpr auto kDrainTime = std::chrono::seconds{5};

// As many descriptors as this process may have. Called while there is one thread: the kernel grows the table of
// descriptors by steps, and from a process with threads waits for every processor at each (seen here: seconds without
// an accept at the 256th connection). A descriptor at the far end grows it once, for good.
std::size_t prepare_descriptors() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const UniqueFd last{::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, static_cast<int>(limit.rlim_cur) - 1)};
    return limit.rlim_cur;
}

// So many connections as leave the reserve, and a descriptor for each filter.
net::Limits connection_limits(const Options &options, std::size_t descriptors) {
    const std::size_t reserve = kDescriptorReserve + SHMBLOOM_SLOT_COUNT;
    return {.input_memory_bytes = options.max_input_memory_bytes,
            .connections = descriptors > 2 * reserve ? descriptors - reserve : descriptors / 2};
}

class Service {
  public:
    explicit Service(const Options &options)
        : descriptors_{prepare_descriptors()}, core_{options}, server_{core_.io, options.runtime_dir + "/socket",
                                                                       core_.dispatcher,
                                                                       connection_limits(options, descriptors_)} {}

    int run() {
        signals_.async_wait([this](const boost::system::error_code &error, int signal) {
            if (!error)
                stop(signal);
        });
        beat();
        log::info("shmbloomd " SHMBLOOM_VERSION " ready: instance '" + core_.options.instance + "', " +
                  std::to_string(core_.instance.filters().size()) + " filters, runtime folder '" +
                  core_.options.runtime_dir + "', state folder '" + core_.options.state_dir + "'");
        ::sd_notify(0, "READY=1");
        core_.io.run();
        return status_;
    }

  private:
    void beat() {
        if (stopping_)
            return;
        if (!core_.runtime_lock.is_in_place())
            return give_up(core_.runtime_lock.path());
        if (!core_.state.holds_lock())
            return give_up(core_.state.path() + "/lock");
        core_.instance.beat();
        renew_socket();
        timer_.expires_after(std::chrono::seconds{1});
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                beat();
        });
    }

    void renew_socket() {
        try {
            if (server_.renew_lost_name())
                log::warning("the socket's name was gone: made anew, connections that stood went on");
        } catch (const std::system_error &error) {
            log::error(
                std::string{"the socket's name is gone and cannot be made anew, new connections fail; tried again in a "
                            "second: "} +
                error.what());
        }
    }

    // Another daemon may own the folder by now: no more acknowledgements, no reader goes on by what we fed.
    void give_up(const std::string &lock) {
        server_.abandon();
        core_.instance.end_all_segments();
        log::critical("the lock '" + lock +
                      "' is gone, so another shmbloomd may run here: every filter answers unverified and "
                      "this daemon ends; keep cleaners away from the folder and start it again");
        status_ = 1;
        core_.io.stop();
    }

    void stop(int signal) {
        stopping_ = true;
        log::info(std::string{"stopping ("} + (signal == SIGTERM ? "SIGTERM" : "SIGINT") +
                  "): segments stay, workers go on");
        ::sd_notify(0, "STOPPING=1");
        timer_.expires_after(kDrainTime); // ends the heartbeats too
        timer_.async_wait([this](const boost::system::error_code &error) {
            if (!error)
                server_.abandon();
        });
        server_.drain([this] {
            core_.instance.stop([this](const std::string &error) {
                if (!error.empty())
                    log::error("the clean stop could not be noted: " + error);
                status_ = error.empty() ? 0 : 1;
                core_.io.stop();
            });
        });
    }

    const std::size_t descriptors_; // before the first thread, so before core_
    Core core_;
    asio::signal_set signals_{core_.io, SIGTERM, SIGINT};
    asio::steady_timer timer_{core_.io};
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
