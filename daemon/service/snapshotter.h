// Takes snapshots, one at a time, while adds and lookups go on. The loop decides S and names the result in the registry; a
// thread copies. Used by the loop's thread only.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "disk/journal.h"
#include "disk/snapshot.h"
#include "disk/state_folder.h"
#include "service/filter.h"
#include "service/registry_writer.h"

namespace shmbloom {

class Snapshotter {
  public:
    using FilterPtr = std::shared_ptr<Filter>;
    using Done = std::function<void(const std::string &error)>; // "": named, durable
    struct Host {
        RegistryWriter::Post post;
        const StateFolder &state;
        Registry &registry;
        RegistryWriter &writer;
        Journal &journal;
        std::function<void(const Filter &)> naming; // its record has one more
        std::function<void()> taken;                // and the registry durably says so
    };

    explicit Snapshotter(Host host) : host_{std::move(host)} {}
    ~Snapshotter(); // cancels what runs

    // A slow copy leaves memory and disk to others; at most `kBytesPerSecond`.
    enum class Pace { slow, full };
    void take(const FilterPtr &filter, Pace pace, Done done);
    // Of a generation that is being made. It is not named: that is the switch's, with what `done` gets.
    using BuildDone = std::function<void(const std::string &error, const SnapshotRecord &)>;
    void take_build(const FilterPtr &filter, const std::shared_ptr<const Build> &build, BuildDone done);
    bool is_waiting(const Filter &filter) const; // for its turn or its end, a build's not counted
    void cancel(const Filter &filter);           // it ends: its snapshots too, with an error
    void cancel_build(const std::shared_ptr<const Build> &build);
    void when_idle(std::function<void()> idle); // at once, or after the last one that waits
    std::size_t running() const { return waiting_.size() + (running_ ? 1 : 0); } // those that wait, too

    static constexpr std::uint64_t kBytesPerSecond = std::uint64_t{400} << 20;

  private:
    struct Job;
    using JobPtr = std::shared_ptr<Job>;

    template <class Is> void cancel_if(Is is);
    void begin_next();
    SnapshotIdentity identity_of(const Job &job);
    void copied(const JobPtr &job, const std::string &error);
    void write_end(const JobPtr &job, Lsn end);
    void name(const JobPtr &job, const std::string &error);
    void remove_older(const JobPtr &job);
    void ended(const JobPtr &job, const std::string &error);

    Host host_;
    std::deque<JobPtr> waiting_;
    JobPtr running_;
    std::vector<std::function<void()>> idle_;
    HelperThread copier_; // last: its jobs use all of the above
};

} // namespace shmbloom
