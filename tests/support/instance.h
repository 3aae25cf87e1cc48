// A private instance: folders, a real shmbloomd, workers, the tool. Everything is gone with the object.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "process.h"
#include "temp_folder.h"
#include "wire.h"

namespace shmbloom::test {

struct Answers {
    std::uint64_t absent = 0, maybe = 0, unverified = 0;
};

Answers parse_answers(const std::string &line); // "absent A maybe M unverified U", whatever follows

// A process that looks up and adds; see worker.c for what it can be told.
class Worker {
  public:
    explicit Worker(const std::string &runtime_dir);

    std::string tell(const std::string &line); // its one line of answer
    void begin(const std::string &line) { process_.write(line + "\n"); } // of flood and watch
    std::string finish() { return tell("stop"); }                        // what flood or watch answers
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
    // Starts a daemon that kills itself at `step`, "name" or "name:n" (see daemon/sys/crash_point.h), and waits for that.
    // False when it became ready instead; then it runs.
    bool start_and_crash(const std::string &step, const std::vector<std::string> &more = {});
    Process &daemon() { return *daemon_; }
    void kill();     // -9, and waits
    void stop();     // SIGTERM; throws unless it ends with 0

    Worker worker() { return Worker{runtime_dir()}; }
    static std::string tool(); // the path of shmbloomctl
    static std::string daemon_path();
    // shmbloomctl with these arguments.
    Finished ctl(const std::vector<std::string> &arguments, const std::string &input = "");
    // The same, which must end with 0.
    std::string must_ctl(const std::vector<std::string> &arguments, const std::string &input = "");

    Wire wire() { return Wire{runtime_dir()}; }
    // SB.CREATE with these words behind the name; throws what the daemon says against it.
    void create(const std::string &name, const std::vector<std::string> &words);
    std::map<std::string, std::string> info(const std::string &name); // SB.INFO; empty: no such filter

    std::vector<std::string> segment_names() const; // in /dev/shm, of this instance, without the slash, sorted
    std::vector<std::string> recorded_segment_names() const; // that the registry's filters have, sorted
    std::string segment_of(const std::string &name) const;   // of them the filter's; "" when it has none
    std::vector<std::string> recorded_files_of(const std::string &name) const; // in the filter's folder, sorted
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
