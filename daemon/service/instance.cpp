#include "service/instance.h"

#include <algorithm>

#include "service/call_once.h"
#include "sys/clock.h"
#include "sys/log.h"

namespace shmbloom {

Instance::Instance(const Options &options, const StateFolder &state, const Uuid &boot, Started started, Post post)
    : options_{options}, state_{state}, boot_{boot}, registry_{std::move(started.registry)},
      control_{std::move(started.control)}, filters_{std::move(started.filters)}, post_{std::move(post)},
      writer_{state_, post_, [this] { return whole_registry(registry_, filters_); }} {}

Filter *Instance::find(std::string_view name) {
    const auto found = filters_.find(name);
    return found != filters_.end() && found->second->is_published() ? found->second.get() : nullptr;
}

std::uint64_t Instance::hash_domain(const Filter &filter) const {
    return filter.identity(registry_, filter.record.generation).hash_domain();
}

std::optional<Failure> Instance::add(std::uint64_t session, std::string_view name, std::uint64_t hash_domain,
                                     std::span<const std::uint64_t> hashes, std::uint8_t *answers) {
    Filter *const filter = find(name);
    if (filter == nullptr)
        return not_found(name);
    // A hash made with another seed or another normalization would set bits that no lookup asks for.
    if (this->hash_domain(*filter) != hash_domain)
        return Failure{"STALE",
                       "filter '" + std::string{name} + "' has another hash domain; read it again, hash again"};
    std::optional<Failure> refusal;
    if (const auto refused = registry_.adds_refused.find(filter->record.name); refused != registry_.adds_refused.end())
        refusal = Failure{"BUSY", "adds to filter '" + std::string{name} + "' are refused: " + refused->second.text};
    else if (!filter->segment)
        refusal = Failure{"NOMEM", "filter '" + std::string{name} +
                                       "' has no memory for its bits; make room and restart "
                                       "shmbloomd, or drop it"};
    if (refusal) {
        filter->adds_refused += hashes.size();
        return refusal;
    }
    filter->add(*control_, hashes, answers);
    filter->loads.count_keys(session, hashes.size());
    return std::nullopt;
}

void Instance::stop(std::function<void(const std::string &)> done) {
    registry_.clean_stop = true;
    for (const auto &[name, filter] : filters_)
        if (filter->is_published())
            filter->show_status(*control_, registry_);
    control_->set_daemon_pid(0); // nobody is here, whatever the age of the last heartbeat
    const auto first = once(std::move(done));
    writer_.commit({.durable = [first] { first(""); }, .failed = first});
}

void Instance::end_all_segments() {
    for (const auto &[name, filter] : filters_)
        if (filter->segment)
            cut_gate(filter->segment->gate());
}

} // namespace shmbloom
