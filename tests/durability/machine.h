// A machine of the test's own that can lose power: an instance in this process over a SimulatedDisk, and a book of what was
// acknowledged. Another boot: another boot uuid, no runtime folder, no segments, and of the disk what was kept of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "daemon/service/test_loop.h"
#include "service/instance.h"
#include "support/simulated_disk.h"

namespace shmbloom::test {

// What callers were told.
struct Promises {
    struct Kept {
        std::uint32_t durability = SHMBLOOM_DURABILITY_DURABLE;
        std::set<std::uint64_t> hashes; // acknowledged
    };
    std::map<std::string, Kept> filters; // created, and no drop asked for
    std::set<std::string> dropped;
    bool clean_stop = false; // and nothing was added since
};

struct Answer {
    bool done = false;
    std::optional<Failure> failure;
    std::string bytes; // of an add
};
using AnswerPtr = std::shared_ptr<Answer>;

// In memory: thousands of trees are built.
class MemoryFolder {
  public:
    MemoryFolder();
    ~MemoryFolder();
    std::string operator/(const std::string &name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

class Machine {
  public:
    Machine();
    ~Machine();
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;

    // Another disk than an honest one; before anything is started.
    template <class OtherDisk, class... Args>
    void use_disk(Args... args) {
        installed_.reset();
        disk_ = std::make_unique<OtherDisk>(state_path(), args...);
        installed_ = std::make_unique<InstalledDisk>(*disk_);
    }

    void start(); // throws what a start throws
    void kill();  // the process: its files and segments stay
    void lose_segments(); // by their names
    void reboot(); // all that is in memory is gone; the disk as it stands
    void next_boot();

    // What stands on the disk if power went now; with what had been promised before. Any thread.
    struct Image {
        std::string path;
        Promises promises;
        std::string when; // in words
    };
    Image lose_power(const Loss &loss, const std::string &when);
    void reboot_with(const Image &image); // and with the promises of then
    static void remove(const Image &image);

    // Asked for; the answer comes when the loop runs.
    AnswerPtr create(const std::string &name, std::uint32_t durability, std::uint64_t capacity = 2000);
    AnswerPtr add(const std::string &name, const std::vector<std::uint64_t> &hashes);
    AnswerPtr drop(const std::string &name);
    AnswerPtr snapshot(const std::string &name);
    AnswerPtr stop();
    Answer wait(const AnswerPtr &answer);
    void wait(const std::vector<AnswerPtr> &answers);
    void beat(); // and what has been posted by then
    // Ends as soon as it is so; the bound, half a minute at least, is for a slow machine.
    bool beat_until(const std::function<bool()> &is_so, int most = 1500);

    std::vector<std::uint64_t> fresh(std::size_t count); // hashes that were never used

    // Of a running instance: how it breaks what it promised. Honest disks: no doubt of a durable one is allowed.
    std::vector<std::string> broken(const Promises &promises, bool is_disk_honest = true);
    std::vector<std::string> wrong_absents(const Promises &promises); // while live, only
    std::uint32_t doubts(const std::string &name);
    std::string doubt_text(const std::string &name); // of all doubts

    Promises promises() const;
    void forget_promises();
    SimulatedDisk &disk() { return *disk_; }
    Instance &instance() { return running_->instance; }
    TestLoop &loop() { return running_->loop; }
    const StateFolder &state() const { return running_->state; }
    std::string state_path() const { return folder_ / "state"; }
    std::string runtime_path() const { return folder_ / "run"; }
    std::string journal_path() const { return state_path() + "/journal"; }
    Registry registry_on_disk() const;
    void write_registry(const Registry &registry); // while nothing runs

    Options options;
    std::uint64_t file_bytes = 6144; // of the journal's

  private:
    struct Running {
        Running(const Machine &machine, const Uuid &its_boot);
        static Started start(const Machine &machine, const StateFolder &state, const Uuid &boot);

        const Uuid boot;
        StateFolder state;
        TestLoop loop;
        Instance instance;
    };

    MemoryFolder folder_;
    std::unique_ptr<SimulatedDisk> disk_;
    std::unique_ptr<InstalledDisk> installed_;
    Uuid boot_ = Uuid::random();
    std::set<std::string> state_prefixes_; // of segments' names
    std::unique_ptr<Running> running_;
    mutable std::mutex mutex_; // of all below
    Promises promises_;
    std::uint64_t images_ = 0;
    std::uint64_t next_hash_ = 1;
};

// SHMBLOOM_TEST_LONG=1: many more rounds.
std::uint64_t rounds(std::uint64_t usual, std::uint64_t many);
// Another one each time, but SHMBLOOM_TEST_SEED; printed.
std::uint64_t random_seed();
std::string lines(const std::vector<std::string> &texts);

} // namespace shmbloom::test
