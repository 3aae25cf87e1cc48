// All filters of an instance while the daemon runs: who may change what, in which order. Used by the loop's thread
// only; what waits for disk or memory runs on the helper threads and comes back by `post`.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "disk/journal_replay.h"
#include "service/build.h"
#include "service/bulk_adder.h"
#include "service/failure.h"
#include "service/lsn_clock.h"
#include "service/rebuild.h"
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
    bool growable = false;
    std::uint32_t expansion = 2;
    WhenFull when_full = WhenFull::warn;
};

// What the end of a load came to.
struct LoadResult {
    std::uint64_t keys = 0;     // acknowledged on this load
    std::size_t loads_open = 0; // others
    bool spoiled = false;       // one that overlapped was aborted
};

Failure other_domain(const SnapshotIdentity &identity, std::uint64_t here);

class Instance {
  public:
    // nullopt: done. Called once, though a change whose first write failed may still take effect later.
    using Done = std::function<void(std::optional<Failure>)>;
    using Post = RegistryWriter::Post;

    // Runs a job on the loop after a while.
    using Later = std::function<void(std::chrono::nanoseconds, std::function<void()>)>;

    // Without `later` what is to happen later happens at a heartbeat.
    Instance(const Options &options, const StateFolder &state, const Uuid &boot, Started started, Post post,
             Later later = nullptr);

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

    // For a load or a rebuild that is open on the session: how many were absent, maybe, unverified. Hashes that came so are
    // acknowledged by the end of it.
    using BulkCounts = std::array<std::uint64_t, 3>;
    using BulkDone = std::function<void(const std::optional<Failure> &, const BulkCounts &)>;
    void bulk(std::uint64_t session, std::string_view name, std::uint64_t hash_domain, std::vector<std::uint64_t> hashes,
              BulkDone done);

    std::optional<Failure> begin_load(std::uint64_t session, std::string_view name, std::uint64_t overlap_s);
    using LoadDone = std::function<void(std::optional<Failure>, LoadResult)>;
    void end_load(std::uint64_t session, std::string_view name, std::optional<std::uint64_t> expected, LoadDone done);
    std::optional<Failure> abort_load(std::uint64_t session, std::string_view name);
    void session_closed(std::uint64_t session); // aborts its loads and rebuilds

    // `done`: it is fed with every add, the source may begin. One at a time of a filter.
    void begin_rebuild(std::uint64_t session, const std::string &by, const RebuildRequest &request, Done done);
    std::optional<Failure> must_contain(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                                        std::span<const std::uint64_t> hashes);
    using SwitchDone = std::function<void(std::optional<Failure>, SwitchResult)>;
    void end_rebuild(std::uint64_t session, std::string_view name, const RebuildGuards &guards, SwitchDone done);
    std::optional<Failure> abort_rebuild(std::uint64_t session, std::string_view name);
    // To `capacity`, or by its expansion; out of its hash list.
    void grow(const std::string &name, std::optional<std::uint64_t> capacity, const std::string &by, SwitchDone done);
    void rollback(const std::string &name, bool with_present, const std::string &by, Done done);

    struct Growth { // the next one of a growable filter
        std::uint64_t at_keys = 0, to_capacity = 0, bytes = 0, missing_bytes = 0;
    };
    Growth next_growth(const Filter &filter) const;
    struct MemoryUse {
        std::uint64_t used = 0, limit = 0;
        std::string limit_text;
    };
    MemoryUse memory_use() const;

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
    using BuildPtr = std::shared_ptr<Build>;

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
    std::optional<Failure> full_refusal(const Filter &filter, std::span<const std::uint64_t> hashes) const;
    void add_to(const FilterPtr &filter, std::uint64_t session, std::span<const std::uint64_t> hashes, bool may_wait,
                AddDone done);
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
    using Opened = std::function<void(const SnapshotPtr &, const std::string &reason)>;
    void open_imported(const std::string &file, Opened opened);
    void import_opened(const std::string &name, const SnapshotPtr &file, Done done);
    void import_as_new(const std::string &name, const SnapshotPtr &file, Done done);
    void import_into(const FilterPtr &filter, const SnapshotPtr &file, Done done);
    void merge(const FilterPtr &filter, const SnapshotPtr &file, Done done);
    void imported(const FilterPtr &filter, const std::string &error, Done done);
    void forget_dropped();
    void remove_snapshots(const FilterRecord &record) const;
    void mark_clean(std::function<void(const std::string &error)> done);

    void notice_paused(Filter &filter);
    // instance_bulk.cpp
    void bulk_into_build(const FilterPtr &filter, const BuildPtr &build, std::vector<std::uint64_t> hashes, BulkDone done);
    void note_bulk(const FilterPtr &filter, std::uint64_t session, std::uint64_t hash_domain,
                   std::vector<std::uint64_t> hashes, BulkDone done);
    void count_bulk_act(FilterRecord &record, std::uint64_t source_begun) const;
    void keep_unkept_bulk(const FilterPtr &filter, std::function<void(const std::string &error)> done);
    void bulk_into_filter(const FilterPtr &filter, std::uint64_t session, std::vector<std::uint64_t> hashes, BulkDone done);
    void when_room(const std::shared_ptr<NewHashList> &list, std::size_t count, BulkDone done);
    void keep_bulk(const FilterPtr &filter, std::uint64_t session, std::function<void(const std::string &error)> done);
    void load_ended(const FilterPtr &filter, std::uint64_t session, LoadResult result, LoadDone done);

    // instance_build.cpp
    Failure is_being_built(const Filter &filter) const;
    bool is_current(const FilterPtr &filter, const BuildPtr &build) const;
    SegmentIdentity identity_of(const Filter &filter, const Build &build) const;
    BuildPtr new_build(const Filter &filter, Build::Kind kind, std::string by) const;
    void begin_build(const FilterPtr &filter, const BuildPtr &build, Done fed);
    Made make_checked(const SegmentIdentity &identity) const;
    void feed_both(const FilterPtr &filter, const BuildPtr &build, const Made &made, const Done &fed);
    using FillBuild = std::function<std::string(const JournalPlace &)>;
    void fill_build(const FilterPtr &filter, const BuildPtr &build, FillBuild fill);
    void filled(const FilterPtr &filter, const BuildPtr &build, const std::string &trouble);
    void went_on(Build &build) const;
    void when_filled(const FilterPtr &filter, const BuildPtr &build, Done go_on) const;
    std::string replay_into(const BuildPtr &build, std::uint64_t filter_number, const JournalPlace &place);
    JournalPlace journal_place() const;
    void end_build(const FilterPtr &filter, BuildPtr build);
    void switch_when_kept(const FilterPtr &filter, const BuildPtr &build, Done done);
    void commit_switch(const FilterPtr &filter, const BuildPtr &build, std::optional<SnapshotRecord> snapshot, Done done);
    void open_switched(Filter &filter, const Build &build);
    void keep_previous(FilterRecord &record, const Build &build, std::uint64_t keys) const;
    void remove_replaced(const FilterRecord &before, const FilterRecord &now);

    // instance_rebuild.cpp
    Failure no_rebuild(std::string_view name) const;
    std::optional<Lsn> next_lsn_of(std::uint64_t seconds_ago) const;
    std::optional<Failure> plan_replay(const Filter &filter, const RebuildRequest &request, Build &build) const;
    std::optional<Failure> plan_bulk(const Filter &filter, const RebuildRequest &request, const Build &build) const;
    std::optional<Failure> plan_doubts(const Filter &filter, Build &build) const;
    std::optional<Failure> plan_shape(const RebuildRequest &request, Build &build) const;
    std::optional<Failure> may_build(const Filter &filter) const;
    void open_for_rebuild(std::uint64_t session, const std::string &by, const FilterPtr &filter,
                          const RebuildRequest &request, const Done &done);
    void rebuild(std::uint64_t session, const std::string &by, const FilterPtr &filter, RebuildRequest request,
                 const SnapshotPtr &file, const Done &done);
    void finish_rebuild(const FilterPtr &filter, const BuildPtr &build, Done done);
    BuildPtr rebuild_of(std::uint64_t session, std::string_view name);
    std::optional<Failure> rebuild_refusal(const Filter &filter, const Build &build, const RebuildGuards &guards) const;

    // instance_growth.cpp
    std::uint64_t grown_capacity(const FilterRecord &record, std::uint64_t keys) const;
    std::optional<Failure> over_budget(const Filter &filter, const Build &build) const;
    void look_for_holders(const FilterPtr &filter);
    std::string holders_text(const Filter &filter) const;
    std::optional<Failure> plan_growth(const Filter &filter, std::optional<std::uint64_t> capacity, std::uint64_t keys,
                                       Build &build) const;
    void grow(const FilterPtr &filter, std::optional<std::uint64_t> capacity, std::uint64_t keys, const std::string &by,
              SwitchDone done);
    std::string fill_from_hash_list(const BuildPtr &build, const Uuid &uuid, std::uint64_t filter_number,
                                    const JournalPlace &place);
    void end_growth(const FilterPtr &filter, const BuildPtr &build, const SwitchDone &done);
    void grow_by_itself(const FilterPtr &filter, std::uint64_t keys);
    void look_after_growth(const FilterPtr &filter);
    void warn_of_fill(Filter &filter) const;
    bool waits_for_growth(const FilterPtr &filter, std::span<const std::uint64_t> hashes);
    void wait_for_growth(const FilterPtr &filter, std::size_t hashes, std::function<void(bool may_wait)> add);
    void look_again_at_waits(const FilterPtr &filter);
    void end_waits(const FilterPtr &filter);
    void add_those_that_waited(const FilterPtr &filter);

    // instance_hash_list.cpp
    std::shared_ptr<NewHashList> new_hash_list(const FilterRecord &record);
    void look_after_hash_list(const FilterPtr &filter);
    void take_from_journal(const FilterPtr &filter);
    bool is_list_of(const FilterPtr &filter, std::uint64_t lineage) const;
    bool is_list_in_trouble(const FilterPtr &filter, const std::string &unreadable, const std::string &unwritten);
    void compact(const FilterPtr &filter);
    void compacted(const FilterPtr &filter, const std::vector<HashFileRecord> &replaced, const HashFileRecord &file);
    void forget_hash_files(const FilterRecord &record, const std::vector<HashFileRecord> &files);

    // instance_rollback.cpp
    std::string fill_from_previous(const Build &build, const Uuid &uuid, const PreviousGeneration &previous) const;
    void forget_previous(const FilterPtr &filter);
    static Lsn needed_by_previous(const PreviousGeneration &previous);
    static Lsn needed_without_previous(const FilterRecord &record);

    void notice_set_clock();
    // instance_renew.cpp
    void notice_lost_name(const FilterPtr &filter);
    void renew(const FilterPtr &filter);

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
    Later later_;
    const double grow_at_; // this share of the capacity
    LsnClock lsn_clock_;
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
    BulkAdder bulk_adder_;
    // Last: their jobs use all of the above.
    HelperThread memory_;  // makes segments
    HelperThread builder_; // fills new generations
    HelperThread lister_;  // writes hash lists
};

} // namespace shmbloom
