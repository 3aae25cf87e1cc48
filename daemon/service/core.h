// Locks, state and filters: what serving and --once have in common.
#pragma once

#include "net/asio.h"
#include "service/dispatcher.h"
#include "service/start.h"
#include "sys/lock_file.h"

namespace shmbloom {

// Makes the runtime folder, or checks that nobody else can write there: whoever can decides what workers read. Returns
// the path. Throws Refusal or std::system_error.
std::string trusted_runtime_folder(const std::string &path);

struct Core {
    explicit Core(const Options &given)
        : options{given}, runtime_lock{trusted_runtime_folder(options.runtime_dir) + "/lock",
                                       "instance '" + options.instance + "'"},
          state{options.state_dir, options.instance}, boot{boot_id()}, instance{options, state, boot,
                                                                                start_instance(options, state, boot),
                                                                                [this](std::function<void()> job) {
                                                                                    boost::asio::post(io,
                                                                                                      std::move(job));
                                                                                },
                                                                                [this](std::chrono::nanoseconds after,
                                                                                       std::function<void()> job) {
                                                                                    run_later(after, std::move(job));
                                                                                }},
          dispatcher{instance, options} {}

    void run_later(std::chrono::nanoseconds after, std::function<void()> job) {
        const auto timer = std::make_shared<boost::asio::steady_timer>(io, after);
        timer->async_wait([timer, job = std::move(job)](const boost::system::error_code &error) {
            if (!error)
                job();
        });
    }

    const Options &options;
    const LockFile runtime_lock;
    const StateFolder state;
    const Uuid boot;
    boost::asio::io_context io{1};
    Instance instance;
    Dispatcher dispatcher;
};

} // namespace shmbloom
