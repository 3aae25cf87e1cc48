// All filters of an instance while the daemon runs: who may change what, in which order. Used by the loop's thread
// only; what waits for disk or memory runs on the helper threads and comes back by `post`.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "service/failure.h"
#include "service/registry_writer.h"
#include "service/start.h"

namespace shmbloom {

struct CreateRequest {
    std::string name;
    std::uint64_t capacity = 0;
    double fpr = 0;
    std::string layout = "auto";
    std::uint32_t normalization = 0;
    std::uint32_t key_type = SHMBLOOM_KEY_TYPE_BYTES;
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

    // Hashes made for `hash_domain`. Answers as Filter::add, or why nothing was added.
    std::optional<Failure> add(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                               std::span<const std::uint64_t> hashes, std::uint8_t *answers);

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
    std::optional<Failure> report_wrong_absent(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                                               std::uint64_t hash, std::uint64_t generation, std::uint8_t *answer);

    // Once a second: sign of life, what an operator did without us, names that went, what workers are shown.
    void beat();

    // The runtime folder is somebody else's now: every reader is cut off by its segment's gate.
    void end_all_segments();

    // Clean-stop flag, durable; `done` has the error, if any. No change may be asked for after this.
    void stop(std::function<void(const std::string &error)> done);

  private:
    using FilterPtr = std::shared_ptr<Filter>;

    std::optional<Failure> check_create(const CreateRequest &request, geometry::Geometry &geometry) const;
    void make_segment(const FilterPtr &filter, Done done);
    void segment_made(const FilterPtr &filter, std::unique_ptr<Segment> segment, const std::string &error, Done done);
    void forget(const FilterPtr &filter);
    void publish(Filter &filter);
    void dropped(const EndingSegment &ending);
    std::uint32_t ended_by(const Filter &filter, const Loads::Verdict &verdict) const;

    std::vector<std::string> matching(std::string_view name) const; // published filters; "*": all
    void end_doubts(const FilterPtr &filter, std::uint32_t ended, Done done);

    void notice_paused(Filter &filter);
    void notice_lost_name(Filter &filter);
    void replace_lost_control();
    void build_control();

    const Options &options_;
    const StateFolder &state_;
    const Uuid boot_;
    Registry registry_; // without its filters
    std::unique_ptr<Control> control_;
    Filters filters_;
    std::set<std::string, std::less<>> dropping_; // names whose drop is not durable yet
    bool replacing_control_ = false;
    Post post_;
    RegistryWriter writer_;
    HelperThread memory_; // makes segments; last: its jobs use all of the above
};

} // namespace shmbloom
