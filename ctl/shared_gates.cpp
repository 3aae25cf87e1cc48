#include "shared_gates.h"

#include <cstring>
#include <optional>

#include "shared_memory.h"
#include "shmbloom/layout.h"

namespace shmbloom::ctl {

namespace {

// Which segment a gate is looked for in.
struct Segment {
    std::string name; // of its filter
    std::string state_uuid, uuid;
    std::uint64_t generation = 0, dev = 0, inode = 0;

    std::string path() const {
        const std::string state = state_uuid.substr(0, 8) + state_uuid.substr(9, 4) + state_uuid.substr(14, 4);
        return "/dev/shm/shmbloom." + state + "." + uuid + "." + std::to_string(generation);
    }
};

// An atomic OR, as fetch_or would be, but never into the gate of another generation: a slot that was dropped meanwhile
// may hold another filter by now. False: this generation is over.
bool set_paused(std::uint64_t *gate, std::uint64_t generation) {
    std::uint64_t before = shmbloom_load_gate(gate);
    do
        if (before >> SHMBLOOM_GENERATION_SHIFT != generation)
            return false;
    while (!__atomic_compare_exchange_n(gate, &before, before | SHMBLOOM_DOUBT_PAUSED, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
    return true;
}

std::string uuid_text(const std::uint8_t *uuid) {
    std::string text;
    for (std::size_t i = 0; i < SHMBLOOM_UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text += '-';
        text += "0123456789abcdef"[uuid[i] >> 4];
        text += "0123456789abcdef"[uuid[i] & 15];
    }
    return text;
}

// False: this generation is over. Only what the record names is touched: inode and magic are looked at.
bool pause_segment(const Segment &segment, PausedGates &paused) {
    auto opened = Mapped::open(segment.path(), sizeof(shmbloom_segment_header), Mapped::Access::write);
    if (const Failure *failure = failure_of(opened)) {
        paused.why_not = failure->text;
        return true;
    }
    const Mapped mapped = take(std::move(opened));
    auto *header = static_cast<shmbloom_segment_header *>(mapped.data());
    if (mapped.dev() != segment.dev || mapped.inode() != segment.inode || header->magic != SHMBLOOM_SEGMENT_MAGIC) {
        paused.why_not = "'" + segment.path() + "' is another object";
        return true;
    }
    paused.segment = set_paused(&header->gate, segment.generation);
    return paused.segment;
}

bool is_usable(const shmbloom_control_header &header) {
    return header.magic == SHMBLOOM_CONTROL_MAGIC && header.version == SHMBLOOM_FORMAT_VERSION &&
           header.slot_count == SHMBLOOM_SLOT_COUNT && header.slot_bytes == SHMBLOOM_SLOT_BYTES &&
           header.slots_offset == SHMBLOOM_CONTROL_HEADER_BYTES && (header.incompat & ~SHMBLOOM_KNOWN_INCOMPAT) == 0;
}

// nullopt: no filter here, or another one than asked for. A switch in between is followed; three in a row do not come.
std::optional<PausedGates> pause_slot(shmbloom_slot *slot, const std::string &state_uuid, const std::string &name) {
    for (int round = 0; round < 4; round++) {
        shmbloom_slot copy;
        if (shmbloom_load_gate(&slot->gate) >> SHMBLOOM_GENERATION_SHIFT == 0 || shmbloom_read_slot(slot, &copy) == 0)
            continue;
        PausedGates paused;
        paused.name.assign(copy.name, ::strnlen(copy.name, sizeof copy.name));
        if (!name.empty() && paused.name != name)
            return std::nullopt;
        const Segment segment{paused.name, state_uuid, uuid_text(copy.uuid), copy.generation, copy.dev, copy.inode};
        paused.control = set_paused(&slot->gate, copy.generation);
        if (pause_segment(segment, paused) && paused.control)
            return paused;
    }
    return std::nullopt;
}

Failure no_filter(const std::string &name) {
    return {Exit::not_found, "no filter '" + name + "'"};
}

} // namespace

Result<std::vector<PausedGates>> pause_by_control(const std::string &runtime_dir, const std::string &name) {
    auto opened = Mapped::open(runtime_dir + "/control", SHMBLOOM_CONTROL_BYTES, Mapped::Access::write);
    if (const Failure *failure = failure_of(opened))
        return *failure;
    const Mapped mapped = take(std::move(opened));
    const auto *header = static_cast<const shmbloom_control_header *>(mapped.data());
    if (!is_usable(*header))
        return Failure{Exit::unverified, "'" + runtime_dir + "/control' is not one that this version understands"};
    auto *slots = reinterpret_cast<shmbloom_slot *>(static_cast<char *>(mapped.data()) + header->slots_offset);
    std::vector<PausedGates> all;
    for (std::uint32_t i = 0; i < SHMBLOOM_SLOT_COUNT; i++)
        if (auto paused = pause_slot(&slots[i], uuid_text(header->state_uuid), name))
            all.push_back(std::move(*paused));
    if (all.empty() && !name.empty())
        return no_filter(name);
    return all;
}

Result<std::vector<PausedGates>> pause_by_registry(const RegistryView &registry, const std::string &name) {
    std::vector<PausedGates> all;
    for (const RecordedFilter &filter : registry.filters) {
        if (!name.empty() && filter.name != name)
            continue;
        PausedGates paused;
        paused.name = filter.name;
        const Segment segment{filter.name,       registry.state_uuid, filter.uuid,
                              filter.generation, filter.dev,          filter.inode};
        if (!pause_segment(segment, paused))
            paused.why_not = "its segment is over";
        all.push_back(std::move(paused));
    }
    if (all.empty() && !name.empty())
        return no_filter(name);
    return all;
}

std::string state_uuid_of_control(const std::string &runtime_dir) {
    auto opened = Mapped::open(runtime_dir + "/control", sizeof(shmbloom_control_header), Mapped::Access::read);
    if (failure_of(opened) != nullptr)
        return "";
    return uuid_text(static_cast<const shmbloom_control_header *>(std::get<Mapped>(opened).data())->state_uuid);
}

} // namespace shmbloom::ctl
