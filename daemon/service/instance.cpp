#include "service/instance.h"

#include "sys/clock.h"

namespace shmbloom {

Instance::Instance(const Options &options, const StateFolder &state, const Uuid &boot, Started started, Post post)
    : options_{options}, state_{state}, boot_{boot}, last_start_{started.last_start}, registry_{std::move(started.registry)},
      control_{std::move(started.control)}, filters_{std::move(started.filters)}, post_{std::move(post)},
      writer_{state_, post_,
              [this] {
                  // A second witness of how far the journal was synced, away from its own blocks.
                  registry_.journal.end = std::max(registry_.journal.end, journal_->proven());
                  return whole_registry(registry_, filters_);
              }},
      journal_folder_{std::move(started.journal_folder)}, journal_{make_journal(std::move(started.journal))},
      snapshotter_{make_snapshotter()}, trusted_from_{journal_->next()},
      next_witness_{unix_seconds() + 60}, began_{unix_seconds()} {}

Filter *Instance::find(std::string_view name) {
    const auto found = filters_.find(name);
    return found != filters_.end() && found->second->is_published() ? found->second.get() : nullptr;
}

std::uint64_t Instance::hash_domain(const Filter &filter) const {
    return filter.identity(registry_, filter.record.generation).hash_domain();
}

void Instance::end_all_segments() {
    for (const auto &[name, filter] : filters_)
        if (filter->segment)
            cut_gate(filter->segment->gate());
}

} // namespace shmbloom
