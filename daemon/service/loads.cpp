#include "service/loads.h"

#include <algorithm>

namespace shmbloom {

bool Loads::is_open(Owner owner) const {
    return std::ranges::any_of(open_, [owner](const Load &load) { return load.owner == owner; });
}

void Loads::begin(Owner owner, std::uint64_t begun, std::uint64_t overlap_s) {
    const std::uint64_t less_overlap = begun - std::min(begun, overlap_s);
    if (open_.empty())
        together_ = {.begun = begun, .begun_less_overlap = less_overlap};
    together_.begun = std::min(together_.begun, begun);
    together_.begun_less_overlap = std::min(together_.begun_less_overlap, less_overlap);
    open_.push_back({owner, 0, {.any = false, .begun = begun, .list = nullptr}});
}

void Loads::count_keys(Owner owner, std::uint64_t keys) {
    for (Load &load : open_)
        if (load.owner == owner)
            load.keys += keys;
}

std::uint64_t Loads::keys(Owner owner) const {
    const auto load = std::ranges::find(open_, owner, &Load::owner);
    return load == open_.end() ? 0 : load->keys;
}

Loads::Bulk &Loads::bulk(Owner owner) {
    return std::ranges::find(open_, owner, &Load::owner)->bulk;
}

bool Loads::has_bulk() const {
    return std::ranges::any_of(open_, [](const Load &load) { return load.bulk.any; });
}

Loads::Verdict Loads::end(Owner owner) {
    remove(owner);
    Verdict verdict = together_;
    verdict.last = open_.empty();
    return verdict;
}

void Loads::abort(Owner owner) {
    if (!is_open(owner))
        return;
    remove(owner);
    together_.spoiled = true;
}

void Loads::remove(Owner owner) {
    std::erase_if(open_, [owner](const Load &load) { return load.owner == owner; });
}

} // namespace shmbloom
