#include "machine.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

#include "support/keys.h"
#include "sys/log.h"

namespace shmbloom::test {

namespace fs = std::filesystem;

MemoryFolder::MemoryFolder() : path_{"/dev/shm/shmbloom-durability-XXXXXX"} {
    if (::mkdtemp(path_.data()) == nullptr)
        throw std::runtime_error{"no room in /dev/shm"};
}

MemoryFolder::~MemoryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

Machine::Machine() {
    log::set_level(std::getenv("SHMBLOOM_TEST_LOG") == nullptr ? log::Level::critical : log::Level::info);
    fs::create_directory(state_path());
    fs::create_directory(folder_ / "images");
    fs::permissions(state_path(), fs::perms{0700});
    options.init = true; // the folder is here already: it is the disk's root
    options.state_dir = state_path();
    options.runtime_dir = runtime_path();
    options.shm_reserve_bytes = 0;
    options.journal_retention.seconds = 0;
    make_folder(options.runtime_dir, 0750);
    use_disk<SimulatedDisk>();
}

Machine::~Machine() {
    kill();
    lose_segments();
    log::set_level(log::Level::info);
}

Machine::Running::Running(const Machine &machine, const Uuid &its_boot)
    : boot{its_boot}, state{machine.options.state_dir, "test"},
      instance{machine.options, state, boot, start(machine, state, boot), loop.post()} {}

Started Machine::Running::start(const Machine &machine, const StateFolder &state, const Uuid &boot) {
    Started started = start_instance(machine.options, state, boot);
    started.journal.first_file_bytes = started.journal.file_bytes_max = machine.file_bytes;
    return started;
}

void Machine::start() {
    make_folder(options.runtime_dir, 0750);
    running_ = std::make_unique<Running>(*this, boot_);
    const std::string name = segment_name(instance().registry().state_uuid, Uuid{}, 0);
    state_prefixes_.insert(name.substr(1, 26)); // "shmbloom.<16 digits>."
}

void Machine::kill() {
    running_.reset();
}

void Machine::lose_segments() {
    std::vector<std::string> names;
    for (const auto &entry : fs::directory_iterator{"/dev/shm"})
        for (const std::string &prefix : state_prefixes_)
            if (const std::string name = entry.path().filename().string(); name.starts_with(prefix))
                names.push_back("/" + name);
    for (const std::string &name : names)
        ::shm_unlink(name.c_str());
}

void Machine::next_boot() {
    boot_ = Uuid::random();
}

void Machine::reboot() {
    kill();
    lose_segments();
    fs::remove_all(options.runtime_dir);
    next_boot();
}

void Machine::reboot_with(const Image &image) {
    reboot();
    disk_->stop_at_sync(0, {});
    disk_->come_back(state_path(), image.path);
    const std::lock_guard lock{mutex_};
    promises_ = image.promises;
}

void Machine::remove(const Image &image) {
    fs::remove_all(image.path);
}

Machine::Image Machine::lose_power(const Loss &loss, const std::string &when) {
    Image image;
    {
        const std::lock_guard lock{mutex_};
        image.promises = promises_;
        image.path = folder_ / ("images/" + std::to_string(images_++));
    }
    image.when = when + (loss.keep_nothing ? ", nothing kept" : ", seed " + std::to_string(loss.seed));
    disk_->lose_power(state_path(), image.path, loss);
    // A drop that was asked for meanwhile may have taken effect; and a stop is none if adds came behind it.
    const std::lock_guard lock{mutex_};
    std::erase_if(image.promises.filters, [&](const auto &entry) { return !promises_.filters.contains(entry.first); });
    image.promises.clean_stop &= promises_.clean_stop;
    return image;
}

AnswerPtr Machine::create(const std::string &name, std::uint32_t durability, std::uint64_t capacity) {
    const auto answer = std::make_shared<Answer>();
    CreateRequest request;
    request.name = name;
    request.capacity = capacity;
    request.fpr = 0.001;
    request.durability = durability;
    request.nothing_exists_yet = true;
    instance().create(request, [this, answer, name, durability](std::optional<Failure> failure) {
        const std::lock_guard lock{mutex_};
        *answer = {true, std::move(failure), ""};
        if (!answer->failure) {
            promises_.filters[name].durability = durability;
            promises_.dropped.erase(name);
        }
    });
    return answer;
}

AnswerPtr Machine::add(const std::string &name, const std::vector<std::uint64_t> &hashes) {
    const auto answer = std::make_shared<Answer>();
    const Filter *const filter = instance().find(name);
    if (filter == nullptr)
        throw std::logic_error{"no filter " + name};
    {
        const std::lock_guard lock{mutex_};
        promises_.clean_stop = false;
    }
    instance().add(1, name, instance().hash_domain(*filter), hashes,
                   [this, answer, name, hashes](const std::optional<Failure> &failure, const std::string &bytes) {
                       const std::lock_guard lock{mutex_};
                       *answer = {true, failure, bytes};
                       if (const auto found = promises_.filters.find(name); !failure && found != promises_.filters.end())
                           found->second.hashes.insert(hashes.begin(), hashes.end());
                   });
    return answer;
}

AnswerPtr Machine::drop(const std::string &name) {
    const auto answer = std::make_shared<Answer>();
    {
        const std::lock_guard lock{mutex_};
        promises_.filters.erase(name);
    }
    instance().drop(name, [this, answer, name](std::optional<Failure> failure) {
        const std::lock_guard lock{mutex_};
        *answer = {true, std::move(failure), ""};
        if (!answer->failure)
            promises_.dropped.insert(name);
    });
    return answer;
}

AnswerPtr Machine::snapshot(const std::string &name) {
    const auto answer = std::make_shared<Answer>();
    instance().snapshot(name, [answer](std::optional<Failure> failure) { *answer = {true, std::move(failure), ""}; });
    return answer;
}

AnswerPtr Machine::stop() {
    const auto answer = std::make_shared<Answer>();
    instance().stop([this, answer](const std::string &error) {
        const std::lock_guard lock{mutex_};
        answer->done = true;
        if (!error.empty())
            answer->failure = Failure{"IO", error};
        promises_.clean_stop = error.empty();
    });
    return answer;
}

Answer Machine::wait(const AnswerPtr &answer) {
    // A change that comes while a write of the registry fails is told at the next beat.
    for (int beats = 0; !answer->done && beats < 100;)
        if (!loop().run_one_within(std::chrono::milliseconds{100})) {
            instance().beat();
            beats++;
        }
    if (!answer->done)
        throw std::runtime_error{"no answer came in a hundred beats"};
    return *answer;
}

void Machine::wait(const std::vector<AnswerPtr> &answers) {
    for (const AnswerPtr &answer : answers)
        wait(answer);
}

void Machine::beat() {
    instance().beat();
    while (!loop().is_idle())
        loop().run_one();
}

bool Machine::beat_until(const std::function<bool()> &is_so, int most) {
    for (int i = 0; i < most; i++) {
        beat();
        while (!is_so() && loop().run_one_within(std::chrono::milliseconds{20})) {
        }
        if (is_so())
            return true;
    }
    return is_so();
}

std::vector<std::uint64_t> Machine::fresh(std::size_t count) {
    const std::lock_guard lock{mutex_};
    std::vector<std::uint64_t> hashes(count);
    for (std::uint64_t &hash : hashes)
        hash = test_mix(next_hash_++);
    return hashes;
}

std::uint32_t Machine::doubts(const std::string &name) {
    Filter *const filter = instance().find(name);
    return filter == nullptr ? SHMBLOOM_DOUBT_MASK : filter->gates(instance().control()).doubts();
}

std::string Machine::doubt_text(const std::string &name) {
    std::string text;
    if (const Filter *const filter = instance().find(name))
        for (const auto &[bit, record] : filter->record.doubts)
            text += record.text + "\n";
    return text;
}

std::vector<std::string> Machine::wrong_absents(const Promises &promises) {
    std::vector<std::string> found;
    for (const auto &[name, kept] : promises.filters) {
        const Filter *const filter = instance().find(name);
        if (filter == nullptr || doubts(name) != 0)
            continue;
        std::size_t absent = 0;
        for (const std::uint64_t hash : kept.hashes)
            absent += !filter->segment->contains(hash);
        if (absent > 0)
            found.push_back("'" + name + "' is live and answers absent for " + std::to_string(absent) + " of " +
                            std::to_string(kept.hashes.size()) + " acknowledged keys");
    }
    return found;
}

std::vector<std::string> Machine::broken(const Promises &promises, bool is_disk_honest) {
    std::vector<std::string> found = wrong_absents(promises);
    for (const auto &[name, kept] : promises.filters) {
        const Filter *const filter = instance().find(name);
        if (filter == nullptr) {
            found.push_back("'" + name + "' is missing");
            continue;
        }
        std::uint32_t allowed = is_disk_honest ? 0 : SHMBLOOM_DOUBT_LOSSY | SHMBLOOM_DOUBT_DAMAGED;
        if (kept.durability == SHMBLOOM_DURABILITY_LOGGED && !promises.clean_stop)
            allowed |= SHMBLOOM_DOUBT_LOSSY;
        if ((doubts(name) & ~allowed) != 0)
            found.push_back("'" + name + "' is in doubt (" + std::to_string(doubts(name)) + "): " + doubt_text(name));
        for (const SnapshotRecord &snapshot : filter->record.snapshots)
            if (instance().journal().next() < snapshot.end)
                found.push_back("'" + name + "': LSNs go on below the end of a snapshot");
        if (instance().journal().next() < filter->record.created)
            found.push_back("'" + name + "': LSNs go on below its creation");
    }
    for (const std::string &name : promises.dropped)
        if (instance().find(name) != nullptr)
            found.push_back("'" + name + "' was dropped and is back");
    return found;
}

Promises Machine::promises() const {
    const std::lock_guard lock{mutex_};
    return promises_;
}

void Machine::forget_promises() {
    const std::lock_guard lock{mutex_};
    promises_ = {};
}

Registry Machine::registry_on_disk() const {
    const std::string path = state_path() + "/registry.json";
    return decode_registry(read_file(path).value_or(""), path);
}

void Machine::write_registry(const Registry &registry) {
    const UniqueFd folder = open_folder(state_path());
    replace_file(folder.get(), "registry.json", encode_registry(registry), 0600, state_path());
}

std::uint64_t rounds(std::uint64_t usual, std::uint64_t many) {
    const char *const is_long = std::getenv("SHMBLOOM_TEST_LONG");
    return is_long != nullptr && *is_long == '1' ? many : usual;
}

std::uint64_t random_seed() {
    const char *const given = std::getenv("SHMBLOOM_TEST_SEED");
    const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "SHMBLOOM_TEST_SEED=" << seed << std::endl;
    return seed;
}

std::string lines(const std::vector<std::string> &texts) {
    std::string all;
    for (const std::string &text : texts)
        all += text + "\n";
    return all;
}

} // namespace shmbloom::test
