#include "disk/journal_replay.h"

#include <system_error>

#include "disk/journal_scan.h"

namespace shmbloom {

std::string replay_adds(const JournalPlace &journal, std::uint64_t filter_number, Lsn from, Lsn to, bool is_logged,
                        const std::function<void(std::span<const std::uint64_t>)> &use) {
    if (from >= to)
        return "";
    try {
        JournalScan scan{journal.folder, journal.folder_path, journal.named, journal.states};
        scan.is_durable_below(to); // else a gap at the end would count as torn
        scan.read(from, [&](const JournalFrameView &frame) {
            if (frame.filter_number == filter_number && frame.end() > from && frame.first < to)
                use(frame.hashes);
        });
        std::string damage = scan.damage(from, to);
        if (damage.empty() && is_logged && scan.has_abandoned(from))
            damage = "the disk failed to sync adds that were acknowledged before";
        return damage;
    } catch (const std::system_error &error) {
        return error.what();
    }
}

} // namespace shmbloom
