#include "service/instance.h"

#include "shmbloom/key.h"
#include "sys/clock.h"
#include "sys/files.h"

namespace shmbloom {
namespace {

// From 85 to 92 %, by machine: forty machines with the same keys do not all grow in the same minute.
double growth_threshold(const Uuid &state_uuid) {
    std::string machine;
    try {
        machine = read_file("/etc/machine-id").value_or("");
    } catch (const std::system_error &) {
        // As good as none.
    }
    if (machine.empty())
        machine = to_string(state_uuid);
    return 0.85 + 0.07 * static_cast<double>(XXH3_64bits(machine.data(), machine.size()) % 1000) / 1000;
}

} // namespace

Instance::Instance(const Options &options, const StateFolder &state, const Uuid &boot, Started started, Post post,
                   Later later)
    : options_{options}, state_{state}, boot_{boot}, last_start_{started.last_start}, registry_{std::move(started.registry)},
      control_{std::move(started.control)}, filters_{std::move(started.filters)}, post_{std::move(post)}, later_{std::move(later)},
      grow_at_{growth_threshold(registry_.state_uuid)},
      writer_{state_, post_,
              [this] {
                  // A second witness of how far the journal was synced, away from its own blocks.
                  registry_.journal.end = std::max(registry_.journal.end, journal_->proven());
                  return whole_registry(registry_, filters_);
              }},
      journal_folder_{std::move(started.journal_folder)}, journal_{make_journal(std::move(started.journal))},
      snapshotter_{make_snapshotter()}, trusted_from_{journal_->next()},
      next_witness_{unix_seconds() + 60}, began_{unix_seconds()}, bulk_adder_{post_} {
    lsn_clock_.note(boottime_ns() / 1'000'000'000, journal_->next());
}

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
