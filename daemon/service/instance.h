// All filters of an instance while the daemon runs: who may change what, in which order. Used by the loop's thread
// only; what waits for disk or memory runs on the helper threads and comes back by `post`.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "service/failure.h"
#include "service/registry_writer.h"
#include "service/snapshotter.h"
#include "service/start.h"

namespace shmbloom {

struct CreateRequest {
    std::string name;
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::string layout = "auto";
    std::uint32_t normalization = 0;
    std::uint32_t key_type = SHMBLOOM_KEY_TYPE_BYTES;
    std::uint32_t durability = SHMBLOOM_DURABILITY_DURABLE;
    bool nothing_exists_yet = false;
    bool growable = false; // stored; nothing grows yet
    std::uint32_t expansion = 2;
};

// What the end of a load came to.
struct LoadResult {
    std::uint64_t keys = 0;     // acknowledged on this load
    std::size_t loads_open = 0; // others
    bool spoiled = false;       // one that overlapped was aborted
};

class Instance {
  public:
    // nullopt: done. Called once, though a change whose first write failed may still take effect later.
    using Done = std::function<void(std::optional<Failure>)>;
    using Post = RegistryWriter::Post;

    Instance(const Options &options, const StateFolder &state, const Uuid &boot, Started started, Post post);

    const Registry &registry() const { return registry_; }
    Control &control() const { return *control_; }
    const Filters &filters() const { return filters_; }
    Filter *find(std::string_view name); // published ones only
    std::uint64_t hash_domain(const Filter &filter) const;

    void create(const CreateRequest &request, Done done);
    void drop(const std::string &name, Done done);

    // Hashes made for `hash_domain`. `done` gets a byte for each, 0 absent before, 1 maybe, 2 unverified, once all are as
    // durable as the filter promises; or why none is acknowledged.
    using AddDone = std::function<void(const std::optional<Failure> &, std::string answers)>;
    void add(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
             std::span<const std::uint64_t> hashes, AddDone done);

    std::optional<Failure> begin_load(std::uint64_t session, std::string_view name, std::uint64_t overlap_s);
    using LoadDone = std::function<void(std::optional<Failure>, LoadResult)>;
    void end_load(std::uint64_t session, std::string_view name, std::optional<std::uint64_t> expected, LoadDone done);
    std::optional<Failure> abort_load(std::uint64_t session, std::string_view name);
    void session_closed(std::uint64_t session); // aborts its loads

    // `expected`: at least so many keys, ends `warming` only; without: ends lossy and damaged too.
    void declare_live(std::string_view name, std::optional<std::uint64_t> expected, Done done);
    // Here `name` may be "*": every filter.
    void pause(std::string_view name, const std::string &why, Done done);
    void resume(std::string_view name, Done done);
    void forget_readers(std::string_view name, Done done);
    // A worker was told "absent" of a key that exists: counted, logged, added.
    void report_wrong_absent(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                             std::uint64_t hash, std::uint64_t generation, AddDone done);

    void snapshot(std::string_view name, Done done);
    // Brings back what was dropped of this name last, with the bits of its last snapshot.
    void undrop(const std::string &name, Done done);
    // A snapshot that somebody put into the state folder's import/ under `file`: into a filter of that name, or as a new one.
    // The file is removed in any case.
    void import(const std::string &name, const std::string &file, Done done);

    struct JournalHit {
        Lsn lsn = 0;
        std::uint64_t time_ns = 0;
        std::uint64_t file = 0;
    };
    // The newest frame that holds the hash; nullopt: none does.
    using SearchDone = std::function<void(const std::optional<Failure> &, const std::optional<JournalHit> &)>;
    void search_journal(std::string_view name, std::uint64_t hash_domain, std::uint64_t hash, SearchDone done);
    const Journal &journal() const { return *journal_; }
    const Snapshotter &snapshotter() const { return *snapshotter_; }
    const LastStart &last_start() const { return last_start_; }

    // Once a second: sign of life, what an operator did without us, names that went, what workers are shown.
    void beat();

    // The runtime folder is somebody else's now: every reader is cut off by its segment's gate.
    void end_all_segments();

    // Journal synced, clean-stop flag durable, then snapshots of what changed; `done` has the error, if any. No change may
    // be asked for after this.
    void stop(std::function<void(const std::string &error)> done);

  private:
    using FilterPtr = std::shared_ptr<Filter>;

    std::optional<Failure> check_create(const CreateRequest &request, geometry::Geometry &geometry) const;
    std::optional<Failure> check_new(const std::string &name) const;
    // The bits of a new segment, on the helper thread; returns what is wrong, or "". Null: none are set.
    using Fill = std::function<std::string(Segment &)>;
    void begin_making(const FilterPtr &filter, Fill fill, Done done);
    void make_segment(const FilterPtr &filter, Fill fill, Done done);
    struct Made {
        std::shared_ptr<Segment> segment;
        std::uint64_t huge_page_bytes = 0;
        std::uint64_t bits_set = 0;
        const char *word = "NOMEM"; // of the failure
        std::string error;
    };
    static Made make(const SegmentIdentity &identity, const Fill &fill);
    void segment_made(const FilterPtr &filter, const Made &made, Done done);
    std::optional<Failure> add_refusal(Filter &filter) const;
    void count_wrong_absent(Filter &filter, std::uint64_t hash, std::uint64_t generation);
    void acknowledge(const FilterPtr &filter, std::uint64_t session, std::string answers, std::size_t added,
                     const AddDone &done);
    void forget(const FilterPtr &filter);
    void publish(Filter &filter);
    void dropped(const EndingSegment &ending);
    std::uint32_t ended_by(const Filter &filter, const Loads::Verdict &verdict) const;

    std::vector<std::string> matching(std::string_view name) const; // published filters; "*": all
    void end_doubts(const FilterPtr &filter, std::uint32_t ended, Done done);
    void write_ended_doubts(const FilterPtr &filter, std::uint32_t ended, Done done);

    // instance_journal.cpp
    std::unique_ptr<Journal> make_journal(Journal::Settings settings);
    std::unique_ptr<Snapshotter> make_snapshotter();
    void sync_failed(const std::string &why);
    void snapshot_taken();
    void look_after_journal(); // once a second
    // instance_folders.cpp
    void notice_state_folder();
    bool journal_folder_stands(); // else it is being made again
    bool wants_snapshot(const Filter &filter) const;
    void trim_journal();
    void keep_for_undrop(const Filter &filter);
    void keep_bits(const FilterPtr &filter);
    Failure none_is_kept(const std::string &name) const;
    std::string fill_from_snapshots(const FilterRecord &record, Segment &segment) const;
    using SnapshotPtr = std::shared_ptr<const SnapshotFile>;
    void import_opened(const std::string &name, const SnapshotPtr &file, Done done);
    void import_as_new(const std::string &name, const SnapshotPtr &file, Done done);
    void import_into(const FilterPtr &filter, const SnapshotPtr &file, Done done);
    void merge(const FilterPtr &filter, const SnapshotPtr &file, Done done);
    void imported(const FilterPtr &filter, const std::string &error, Done done);
    void forget_dropped();
    void remove_snapshots(const FilterRecord &record) const;
    void mark_clean(std::function<void(const std::string &error)> done);

    void notice_paused(Filter &filter);
    void notice_set_clock();
    // instance_renew.cpp
    void notice_lost_name(const FilterPtr &filter);
    void renew(const FilterPtr &filter);
    void make_copy(const FilterPtr &filter, const SegmentIdentity &identity);
    void feed_both(const FilterPtr &filter, const Made &made);
    void switch_to_copy(const FilterPtr &filter, const Made &made);
    void open_copy(Filter &filter);

    void replace_lost_control();
    void build_control();

    const Options &options_;
    const StateFolder &state_;
    const Uuid boot_;
    const LastStart last_start_;
    Registry registry_; // without its filters
    std::unique_ptr<Control> control_;
    Filters filters_;
    std::set<std::string, std::less<>> dropping_; // names whose drop is not durable yet
    std::set<Uuid> keeping_; // dropped, and the copy of their bits is under way
    std::vector<std::function<void()>> undrop_waits_; // for one of these
    bool replacing_control_ = false;
    Post post_;
    RegistryWriter writer_;
    UniqueFd journal_folder_;
    std::unique_ptr<Journal> journal_;
    std::unique_ptr<Snapshotter> snapshotter_;
    Lsn trusted_from_; // a snapshot that begins below may lean on adds that a failed sync lost; while `degraded`
    bool trimming_ = false;
    StateFolder::Place state_place_ = StateFolder::Place::here;
    std::string folder_error_; // why the journal's cannot be made again
    std::uint64_t next_witness_; // unix seconds
    const std::uint64_t began_;  // unix seconds
    std::int64_t clock_ahead_s_ = 0; // as the log says
    HelperThread memory_; // makes segments; last: its jobs use all of the above
};

} // namespace shmbloom
