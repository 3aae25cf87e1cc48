#include "daemon_in_hand.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "choices.h"
#include "clocks_in_hand.h"
#include "helpers_in_hand.h"
#include "service/core.h"
#include "sys/disk.h"
#include "sys/memory.h"

namespace shmbloom {
namespace {

// Hash domains stand in the corpus and in the dictionary, so they must be the same in every run.
constexpr const char *kSeed = "shmbloom-seed-1 0123456789abcdef 1122334455667788\n";

// Power is never lost here, and there are twenty syncs for one filter that comes and goes.
class DiskInHand : public Disk {
  public:
    int sync(int) override { return 0; }
};

DiskInHand disk_in_hand;

} // namespace

// In place of sys/memory.cpp, which looks at the machine: that takes longer than all else a create does.
std::optional<std::string> memory_refusal(std::uint64_t bytes, std::uint64_t reserve_bytes) {
    if (reserve_bytes == 0)
        return std::nullopt;
    return "needs " + std::to_string(bytes) + " bytes, and no room is left";
}

FilesystemRoom shared_memory_room() {
    return {.total = std::uint64_t{1} << 40, .free = std::uint64_t{1} << 40};
}

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
    clocks_in_hand::begin_anew();
    set_disk(&disk_in_hand);
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
    running_ =
        std::make_unique<Running>(options_, [this](std::function<void()> job) { posted_.push_back(std::move(job)); });
}

void DaemonInHand::restart() {
    settle();
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
    options_.shm_reserve_bytes = no ? UINT64_MAX : 0;
}

std::size_t DaemonInHand::under_way() const {
    return (posted_.empty() ? 0 : 1) + helpers_with_work();
}

void DaemonInHand::take_one(std::size_t which) {
    require(which < under_way(), "what is waited for is under way");
    if (posted_.empty())
        return let_work(which);
    if (which > 0)
        return let_work(which - 1);
    const auto job = std::move(posted_.front());
    posted_.pop_front();
    job();
}

void DaemonInHand::settle() {
    while (under_way() > 0)
        take_one();
}

void DaemonInHand::let_pass(long seconds) {
    clocks_in_hand::let_pass(seconds);
    instance().beat();
}

} // namespace shmbloom
