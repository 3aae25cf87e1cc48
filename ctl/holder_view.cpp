#include "holder_view.h"

#include <algorithm>
#include <unistd.h>

#include "numbers.h"
#include "shared_memory.h"
#include "shmbloom/layout.h"

namespace shmbloom::ctl {

namespace {

constexpr std::size_t kPidsShown = 8;
constexpr std::size_t kPrefixBytes = 8; // of the state uuid, in a segment's name

std::string pids_text(const std::vector<pid_t> &pids) {
    std::string text = pids.size() == 1 ? "pid" : "pids";
    for (std::size_t i = 0; i < std::min(pids.size(), kPidsShown); ++i)
        text += " " + std::to_string(pids[i]);
    if (pids.size() > kPidsShown)
        text += " and " + std::to_string(pids.size() - kPidsShown) + " more";
    return text;
}

} // namespace

std::uint64_t HolderView::pinned_bytes(std::uint64_t present) const {
    std::uint64_t bytes = 0;
    for (const auto &[generation, held] : by_generation)
        bytes += generation == present ? 0 : held.bytes;
    return bytes;
}

HolderView group_by_generation(const holders::Found &found) {
    HolderView view;
    view.unreadable = found.unreadable;
    for (const holders::Holder &holder : found.holders) {
        if (holder.pid == ::getpid()) // only because it looks
            continue;
        HeldGeneration &held = view.by_generation[holder.generation];
        held.pids.push_back(holder.pid);
        held.bytes = std::max(held.bytes, holder.bytes);
    }
    return view;
}

std::optional<HolderView> look_for_holders(const std::string &runtime_dir, const std::string &filter_uuid) {
    const auto opened = Mapped::open(runtime_dir + "/control", sizeof(shmbloom_control_header), Mapped::Access::read);
    if (failure_of(opened) != nullptr)
        return std::nullopt;
    const auto *header = static_cast<const shmbloom_control_header *>(std::get<Mapped>(opened).data());
    std::string prefix;
    for (std::size_t i = 0; i < kPrefixBytes; ++i) {
        prefix += "0123456789abcdef"[header->state_uuid[i] >> 4];
        prefix += "0123456789abcdef"[header->state_uuid[i] & 15];
    }
    return group_by_generation(holders::find(prefix, filter_uuid));
}

std::vector<std::string> holder_lines(const HolderView &view, std::uint64_t present) {
    std::vector<std::string> lines;
    for (const auto &[generation, held] : view.by_generation)
        if (generation != present)
            lines.push_back("generation " + std::to_string(generation) + ", " + format_bytes(held.bytes) +
                            ", is over and still held by " + pids_text(held.pids) +
                            ": free at their next lookup or shmbloom_get_info, or with their end");
    const auto here = view.by_generation.find(present);
    const std::size_t count = here == view.by_generation.end() ? 0 : here->second.pids.size();
    std::string text = "mapped by " + std::to_string(count) + (count == 1 ? " process" : " processes");
    if (view.unreadable > 0)
        text += "; " + std::to_string(view.unreadable) + (view.unreadable == 1 ? " other" : " others") +
                " could not be looked at (root can)";
    lines.push_back(text);
    return lines;
}

void put_holders(Json &json, const std::optional<HolderView> &view, std::uint64_t present) {
    Json holders = Json::array();
    if (view)
        for (const auto &[generation, held] : view->by_generation)
            holders.push_back({{"generation", std::to_string(generation)}, {"bytes", held.bytes}, {"pids", held.pids}});
    json["holders"] = view ? holders : Json{};
    json["holders_unreadable"] = view ? Json(view->unreadable) : Json{};
    json["pinned_bytes"] = view ? Json(view->pinned_bytes(present)) : Json{};
}

} // namespace shmbloom::ctl
