// A runtime folder with a control, and segments, as a daemon would leave them; built here from layout.h alone, so that
// the library is tested against the format and not against the daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shmbloom/key.h"
#include "shmbloom/layout.h"
#include "shmbloom/probe.h"
#include "shmbloom/shmbloom.h"

namespace shmbloom::test {

struct Spec {
    shmbloom_shape shape{SHMBLOOM_LAYOUT_CLASSIC, 7, 9586};
    std::uint32_t normalization = 0;
    std::uint32_t key_type = SHMBLOOM_KEY_TYPE_BYTES;
    std::uint64_t seed = 0x1234567890ABCDEF;
    std::uint64_t domain = 0xFEDCBA0987654321;
    bool huge = false; // bits at 2 MiB
    std::uint64_t doubts = 0;
};

// One generation: the object, mapped for writing. Its name is removed with it.
class Segment {
  public:
    Segment(const std::string &name, const shmbloom_segment_header &header);
    ~Segment();
    Segment(const Segment &) = delete;
    Segment &operator=(const Segment &) = delete;

    shmbloom_segment_header *header() const;
    std::uint64_t *words() const;
    void seal(); // makes the checksum right again
    void corrupt_byte(std::size_t offset);
    void remove_name();
    int fd() const { return fd_; }
    const std::string &name() const { return name_; }

  private:
    std::string name_;
    int fd_;
    std::size_t bytes_;
    char *base_;
    std::uint64_t bits_offset_;
};

struct Filter {
    std::string name;
    Spec spec;
    std::uint8_t uuid[SHMBLOOM_UUID_BYTES];
    std::size_t slot;
    std::uint64_t generation;
    std::unique_ptr<Segment> segment;
};

class World {
  public:
    World();
    ~World(); // removes the folder and every name
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    const std::string &folder() const { return folder_; }
    std::string control_path() const { return folder_ + "/control"; }
    shmbloom_control_header *control() const;
    shmbloom_slot *slot(std::size_t index) const;
    shmbloom_slot *slot(const Filter &filter) const { return slot(filter.slot); }

    // In the first free slot at or after `from`, with both gates set.
    Filter &create(const std::string &name, const Spec &spec = {}, std::size_t from = 0);
    void drop(Filter &filter);
    Filter *find(const std::string &name) const; // nullptr: never created
    // To a new generation with empty bits, and with what `fill` adds before it is named.
    void switch_generation(
        Filter &filter, const std::function<void()> &fill = [] {});
    void set_doubts(const Filter &filter, std::uint64_t doubts);
    void set_control_gate(const Filter &filter, std::uint64_t gate);
    void set_segment_gate(const Filter &filter, std::uint64_t gate);
    void raise_name_counter();

    void add(const Filter &filter, std::string_view key);
    void add(const Filter &filter, std::uint64_t key);

    // Another inode, renamed into place, with the same content and another control uuid.
    void replace_control();
    void remove_control();
    void truncate_control(std::size_t bytes);

  private:
    void map_control(bool create);
    void write_slot(const Filter &filter);
    std::unique_ptr<Segment> make_segment(const Filter &filter);

    std::string folder_;
    char *control_ = nullptr;
    std::uint64_t next_generation_ = 1;
    std::map<std::string, std::unique_ptr<Filter>> filters_;
    std::vector<std::unique_ptr<Segment>> old_;
    std::vector<void *> old_controls_;
};

// A handle that closes itself.
struct Close {
    void operator()(shmbloom_filter *f) const { shmbloom_close(f); }
};
using Handle = std::unique_ptr<shmbloom_filter, Close>;

shmbloom_options options_for(const World &world);
Handle open(const World &world, const std::string &name, std::int32_t add_timeout_ms = 0);
Handle open(const std::string &name, shmbloom_options options); // fails the test when it does not open
int open_error(const World &world, const std::string &name, std::string *text = nullptr);
int contains(const Handle &handle, std::string_view key);
shmbloom_info info(const Handle &handle);

// Asks until it is so, for at most five seconds.
bool eventually(const std::function<bool()> &is_so);

// Both layouts and more shapes of them, for tests that hold for each.
std::vector<Spec> every_shape();

// Runs in a forked child; what it returns is the child's exit status, 255 if it was killed.
int in_child(const std::function<int()> &run);

} // namespace shmbloom::test
