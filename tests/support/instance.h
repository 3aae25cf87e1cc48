// A private instance: folders, a real shmbloomd, workers, the tool. Everything is gone with the object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "process.h"
#include "temp_folder.h"

namespace shmbloom::test {

struct Answers {
    std::uint64_t absent = 0, maybe = 0, unverified = 0;
};

// A process that looks up and adds; see worker.c for what it can be told.
class Worker {
  public:
    explicit Worker(const std::string &runtime_dir);

    std::string tell(const std::string &line); // its one line of answer
    void open(const std::string &name);        // throws what the worker says unless it is "ok"
    Answers count(const std::string &kind, std::uint64_t from, std::uint64_t count);
    // Of the indexes in `acknowledged`.
    Answers count_all(const std::string &kind, const std::vector<std::uint64_t> &acknowledged);
    Process &process() { return process_; }

  private:
    Process process_;
};

class TestInstance {
  public:
    TestInstance() = default;
    ~TestInstance();

    std::string runtime_dir() const { return folder_ / "run"; }
    std::string state_dir() const { return folder_ / "state"; }
    const TempFolder &folder() const { return folder_; }

    // Starts the daemon and waits until it is ready. Throws with its log when it is not.
    void start(const std::vector<std::string> &more = {}, const Process::Environment &environment = {});
    // Starts it and returns at once; for starts that are to fail.
    Process launch(const std::vector<std::string> &more = {}, const Process::Environment &environment = {});
    Process &daemon() { return *daemon_; }
    void kill();     // -9, and waits
    void stop();     // SIGTERM; throws unless it ends with 0

    Worker worker() { return Worker{runtime_dir()}; }
    // shmbloomctl with these arguments.
    Finished ctl(const std::vector<std::string> &arguments, const std::string &input = "");
    // The same, which must end with 0.
    std::string must_ctl(const std::vector<std::string> &arguments, const std::string &input = "");

    std::vector<std::string> segment_names() const; // in /dev/shm, of this instance, without the slash
    void remove_segments() const;
    std::string registry() const; // its text

  private:
    std::string state_prefix() const; // "shmbloom.<16 hex>.", "" while there is no registry
    mutable std::vector<std::string> prefixes_; // every state uuid seen, to clean up after

    TempFolder folder_;
    std::unique_ptr<Process> daemon_;
};

// Indexes that an adder wrote down.
std::vector<std::uint64_t> read_indexes(const std::string &path);

} // namespace shmbloom::test
