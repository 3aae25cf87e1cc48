// Whatever stands in control, slots and segment headers, and whenever it changes, the library does not crash and keeps
// to invariant 1 of docs/architecture.md: certain only while both gates are exactly the generation that is mapped.
//
// An added key is never absent, but for what only root or the daemon's own user could write, who could as well clear
// the bits. With the bits as they are, a lookup goes wrong only if it hashes otherwise or reads other bits:
//   - of this segment: seed, normalization and geometry are copied out of its header once, when it is mapped, and that
//     is checksummed. So only a header that is sealed again counts (`reseal` below).
//   - of another segment: what a slot says of its segment must be what that segment's header says of itself, so a slot
//     leads to its own segment or to none. Only the name is nowhere else. A slot with this filter's name and another
//     filter's uuid is the one way: by a write into the one or the other.
// Nothing else can, and no gate: a gate that lies makes a filter live that should be in doubt, but its bits are the
// segment's all the same, which have every key here. All else in this input's power must not turn a key absent, and is
// held to that: `Subject::is_forged` is set by these two alone.
//
// Input: operations, a byte each that says which, and what it needs.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "client/world.h"
#include "clocks_in_hand.h"
#include "files_in_hand.h"
#include "internal.h"

namespace {

using namespace shmbloom;
using test::World;

constexpr std::size_t kSubjects = 3;
constexpr std::size_t kKeys = 8;
constexpr std::size_t kWritable = 512; // bytes of the control's header, of a slot, of a segment's header
constexpr std::size_t kSlots = 8;
constexpr std::size_t kControlUsed = SHMBLOOM_CONTROL_HEADER_BYTES + kSlots * SHMBLOOM_SLOT_BYTES;
const char *const kSpare = "spare";

struct Subject {
    std::string name;
    test::Filter *filter = nullptr;
    std::array<char, kWritable> segment_begin{}; // as it was made
    bool is_forged = false;
    test::Handle handle;

    bool is_of_numbers() const { return filter->spec.key_type == SHMBLOOM_KEY_TYPE_U64; }
    char *memory() const { return reinterpret_cast<char *>(filter->segment->header()); }
};

std::string key_text(std::size_t i) {
    return "key " + std::to_string(i);
}

class Memory {
  public:
    Memory() {
        create("a", {});
        create("b", {.shape = {SHMBLOOM_LAYOUT_BLOCKED, 2, 40}, .normalization = SHMBLOOM_NORMALIZE_LOWER});
        create("c", {.key_type = SHMBLOOM_KEY_TYPE_U64});
        files_in_hand::add_shared_memory(world_.create(kSpare).segment->name());
        world_.control()->slot_count = kSlots; // the other thousand would take most of the time
        std::memcpy(control_begin_.data(), world_.control(), kControlUsed);
        for (std::size_t i = 0; i < paths_.size(); i++)
            paths_[i] = world_.folder() + std::string(i + 1, '/') + ".";
        fresh_path_ = world_.folder() + "/././.";
        for (const std::string &path : paths_)
            files_in_hand::add_folder(path, world_.control_path());
        files_in_hand::add_folder(fresh_path_, world_.control_path());
    }

    void run(Input input) {
        restore();
        for (Subject &subject : subjects_)
            open(subject, 0);
        while (!input.is_empty())
            operate(input);
        for (Subject &subject : subjects_)
            subject.handle.reset();
        require(files_in_hand::open_descriptors() == 0, "no descriptor is left open");
    }

  private:
    void create(const std::string &name, const test::Spec &spec) {
        Subject &subject = subjects_[count_++];
        subject.name = name;
        subject.filter = &world_.create(name, spec);
        for (std::size_t i = 0; i < kKeys; i++)
            subject.is_of_numbers() ? world_.add(*subject.filter, std::uint64_t{i})
                                    : world_.add(*subject.filter, key_text(i));
        std::memcpy(subject.segment_begin.data(), subject.memory(), kWritable);
        files_in_hand::add_shared_memory(subject.filter->segment->name());
    }

    // Also what the library keeps of the last input: a mapping goes when another one is used, and a control that is
    // reached by another path is another mapping. By a path of its own, which no input leaves with a bad header.
    void restore() {
        std::memcpy(world_.control(), control_begin_.data(), kControlUsed);
        for (Subject &subject : subjects_) {
            std::memcpy(subject.memory(), subject.segment_begin.data(), kWritable);
            subject.is_forged = false;
        }
        clocks_in_hand::begin_anew();
        forget(fresh_path_);
    }

    void forget(const std::string &path) {
        for (Subject &subject : subjects_)
            subject.handle.reset();
        shmbloom_close(open_by(path, kSpare));
    }

    static shmbloom_filter *open_by(const std::string &path, const std::string &name) {
        std::array<char, 256> text{};
        shmbloom_options options{};
        options.struct_size = sizeof options;
        options.runtime_dir = path.c_str();
        options.add_timeout_ms = -1;
        options.error_text = text.data();
        options.error_text_size = text.size();
        shmbloom_filter *handle = nullptr;
        const int r = shmbloom_open(&handle, name.c_str(), &options);
        require((r == 0) == (handle != nullptr) && r <= 0, "a handle, or a negative errno and none");
        require(r == 0 || std::strlen(text.data()) > 0, "a failing open says why");
        return handle;
    }

    void open(Subject &subject, std::size_t path) {
        subject.handle.reset();
        subject.handle.reset(open_by(paths_[path % paths_.size()], subject.name));
    }

    void operate(Input &input) {
        const std::uint8_t what = input.byte();
        Subject &subject = subjects_[what / 16 % kSubjects];
        switch (what % 16) {
        case 0:
        case 1:
        case 2:
            return write(input);
        case 3:
        case 4:
            return write_gates(subject, input);
        case 5:
        case 6:
        case 7:
            return look_up(subject, input.byte() % kKeys);
        case 8:
            return look_all_up(subject);
        case 9:
            return look_hashes_up(subject);
        case 10:
        case 11:
            return describe(subject);
        case 12:
            return open(subject, input.byte());
        case 13:
            return list(paths_[input.byte() % paths_.size()]);
        case 14:
            return add(subject, input.byte() % kKeys);
        default:
            return forget(paths_[3]);
        }
    }

    // Into the control's header (0), a slot (1 to 3), or a segment's header (4 to 6).
    void write(Input &input) {
        const std::uint8_t flags = input.byte();
        const std::size_t object = flags % 7;
        const bool reseal = flags >= 128;
        const std::size_t offset = input.byte() + (flags & 64) * 4u;
        Subject &subject = subjects_[(object + 2) % kSubjects];
        char *const memory = object == 0           ? reinterpret_cast<char *>(world_.control())
                             : object <= kSubjects ? reinterpret_cast<char *>(world_.slot(*subject.filter))
                                                   : subject.memory();
        const std::size_t size = std::min<std::size_t>(1 + input.byte() % 16, kWritable - offset);
        for (std::size_t i = 0; i < size; i++)
            memory[offset + i] = static_cast<char>(input.byte());
        if (object > kSubjects && reseal)
            seal(subject);
        if (object >= 1 && object <= kSubjects)
            note_names();
    }

    static void seal(Subject &subject) {
        shmbloom_segment_header made;
        std::memcpy(&made, subject.segment_begin.data(), sizeof made);
        const shmbloom_segment_header &now = *subject.filter->segment->header();
        subject.filter->segment->seal();
        subject.is_forged |= now.seed != made.seed || now.normalization != made.normalization ||
                             now.layout != made.layout || now.size != made.size || now.probes != made.probes ||
                             now.bits_offset != made.bits_offset;
    }

    // A uuid is 16 random bytes: none comes about by chance.
    void note_names() {
        for (Subject &named : subjects_)
            for (const Subject &other : subjects_) {
                const std::string name = named.name + '\0';
                const shmbloom_slot *const slots = world_.slot(0);
                for (std::size_t i = 0; &named != &other && i < kSlots; i++)
                    named.is_forged |= std::memcmp(slots[i].uuid, other.filter->uuid, sizeof other.filter->uuid) == 0 &&
                                       std::memcmp(slots[i].name, name.data(), name.size()) == 0;
            }
    }

    void write_gates(const Subject &subject, Input &input) {
        const std::uint8_t which = input.byte();
        const std::uint64_t generation = subject.filter->generation + which / 8 % 2;
        const std::uint64_t gate = which >= 128 ? 0 : generation << SHMBLOOM_GENERATION_SHIFT | input.byte();
        if (which & 1)
            world_.set_control_gate(*subject.filter, gate);
        if (which & 2)
            world_.set_segment_gate(*subject.filter, gate);
        if (which & 4)
            world_.raise_name_counter();
    }

    bool may_be_certain(const Subject &subject) const {
        const std::uint64_t live = subject.filter->generation << SHMBLOOM_GENERATION_SHIFT;
        return subject.is_forged ||
               (world_.slot(*subject.filter)->gate == live && subject.filter->segment->header()->gate == live);
    }

    // Of a key that was added.
    void check(const Subject &subject, int answer) const {
        require(answer >= 0 && answer <= 2, "an answer is 0, 1 or 2");
        require(answer == 2 || may_be_certain(subject), "certain only while both gates say so");
        require(answer != 0 || subject.is_forged, "an added key is never absent");
    }

    void look_up(const Subject &subject, std::size_t key) const {
        const std::string text = key_text(key);
        shmbloom_filter *const handle = subject.handle.get();
        check(subject, subject.is_of_numbers() ? shmbloom_contains_u64(handle, key)
                                               : shmbloom_contains(handle, text.data(), text.size()));
    }

    void look_all_up(const Subject &subject) const {
        std::array<std::uint8_t, kKeys> answers{};
        std::array<std::uint64_t, kKeys> numbers{};
        std::array<std::uint64_t, kKeys + 1> offsets{};
        std::string bytes;
        for (std::size_t i = 0; i < kKeys; i++) {
            numbers[i] = i;
            bytes += key_text(i);
            offsets[i + 1] = bytes.size();
        }
        shmbloom_filter *const handle = subject.handle.get();
        const int r = subject.is_of_numbers()
                          ? shmbloom_contains_many_u64(handle, numbers.data(), kKeys, answers.data())
                          : shmbloom_contains_packed(handle, bytes.data(), offsets.data(), kKeys, answers.data());
        require(r <= 0, "0 or a negative errno");
        for (const std::uint8_t answer : answers)
            check(subject, answer);
    }

    void look_hashes_up(const Subject &subject) const {
        const std::string text = key_text(0);
        std::uint64_t hash = 0, domain = 0;
        std::uint8_t answer = 0;
        shmbloom_filter *const handle = subject.handle.get();
        const int r = subject.is_of_numbers() ? shmbloom_hash_u64(handle, 0, &hash, &domain)
                                              : shmbloom_hash(handle, text.data(), text.size(), &hash, &domain);
        require(r <= 0, "0 or a negative errno");
        if (r == 0 && shmbloom_contains_hashes(handle, domain, &hash, 1, &answer) == 0)
            check(subject, answer);
    }

    void describe(const Subject &subject) const {
        shmbloom_info info{};
        info.struct_size = sizeof info;
        if (!subject.handle)
            return;
        require(shmbloom_get_info(subject.handle.get(), &info) == 0, "every filter can be described");
        require(info.live == 0 || (info.live == 1 && may_be_certain(subject)), "live only while both gates say so");
        for (const std::span<const char> text : {std::span<const char>{info.name},
                                                 {info.uuid},
                                                 {info.doubts_text},
                                                 {info.handle_doubts_text},
                                                 {info.warnings_text},
                                                 {info.layout},
                                                 {info.key_type},
                                                 {info.normalize},
                                                 {info.durability},
                                                 {info.runtime_dir}})
            require(std::memchr(text.data(), '\0', text.size()) != nullptr, "every text has its end");
    }

    static void list(const std::string &path) {
        shmbloom_options options{};
        options.struct_size = sizeof options;
        options.runtime_dir = path.c_str();
        shmbloom__daemon daemon{};
        const auto visit = [](void *, const char *name) {
            require(std::strlen(name) <= SHMBLOOM_NAME_BYTES, "a name has at most 64 characters");
            return 0;
        };
        require(shmbloom__list_of(&options, visit, nullptr, &daemon) <= 0, "0 or a negative errno");
    }

    // Nobody listens, so nothing is acknowledged.
    static void add(const Subject &subject, std::size_t key) {
        const std::string text = key_text(key);
        shmbloom_filter *const handle = subject.handle.get();
        require((subject.is_of_numbers() ? shmbloom_add_u64(handle, key)
                                         : shmbloom_add(handle, text.data(), text.size())) < 0,
                "no add is acknowledged by nobody");
    }

    World world_;
    std::array<Subject, kSubjects> subjects_;
    std::size_t count_ = 0;
    std::array<char, kControlUsed> control_begin_{};
    std::array<std::string, 4> paths_; // of the same folder; see restore
    std::string fresh_path_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    static Memory memory;
    memory.run(Input{data, size});
    return 0;
}
