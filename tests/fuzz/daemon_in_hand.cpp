#include "daemon_in_hand.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "choices.h"
#include "service/core.h"

namespace shmbloom {
namespace {

// Hash domains stand in the corpus and in the dictionary, so they must be the same in every run.
constexpr const char *kSeed = "shmbloom-seed-1 0123456789abcdef 1122334455667788\n";
constexpr std::uint64_t kReserve = std::uint64_t{64} << 20;

} // namespace

struct DaemonInHand::Running {
    Running(const Options &options, const Instance::Post &post)
        : runtime_lock{trusted_runtime_folder(options.runtime_dir) + "/lock", "the fuzzed instance"},
          state{options.state_dir, options.instance}, boot{boot_id()},
          instance{options, state, boot, start_instance(options, state, boot), post}, dispatcher{instance, options} {}

    const LockFile runtime_lock;
    const StateFolder state;
    const Uuid boot;
    Instance instance;
    Dispatcher dispatcher;
};

DaemonInHand::DaemonInHand() : folder_{"/dev/shm/shmbloom-fuzz-" + std::to_string(::getpid())} {
    log::set_level(log::Level::critical); // thousands of refusals a second
    std::filesystem::create_directory(folder_);
    options_.instance = "fuzz";
    options_.runtime_dir = folder_ + "/run";
    options_.state_dir = folder_ + "/state";
    options_.seed_file = folder_ + "/seed";
    options_.pause_on_wrong_absent = 2;
    std::ofstream{options_.seed_file} << kSeed;
    leave_no_room(false);
    start();
}

DaemonInHand::~DaemonInHand() {
    running_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void DaemonInHand::start() {
    running_ = std::make_unique<Running>(options_, [this](std::function<void()> job) { post(std::move(job)); });
}

void DaemonInHand::restart() {
    require(jobs_.empty(), "nothing is under way at a restart");
    running_.reset(); // its locks go with it
    start();
}

Instance &DaemonInHand::instance() {
    return running_->instance;
}

Dispatcher &DaemonInHand::dispatcher() {
    return running_->dispatcher;
}

Registry DaemonInHand::read_registry() const {
    const auto found = running_->state.read_registry();
    require(found.has_value(), "there is a registry");
    return *found;
}

void DaemonInHand::leave_no_room(bool no) {
    options_.shm_reserve_bytes = no ? UINT64_MAX : kReserve;
}

void DaemonInHand::post(std::function<void()> job) {
    const std::lock_guard lock{mutex_};
    jobs_.push_back(std::move(job));
    posted_.notify_one();
}

void DaemonInHand::take_one() {
    std::unique_lock lock{mutex_};
    require(posted_.wait_for(lock, std::chrono::seconds{10}, [this] { return !jobs_.empty(); }),
            "a helper thread hands back what it was given");
    const auto job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
}

} // namespace shmbloom
