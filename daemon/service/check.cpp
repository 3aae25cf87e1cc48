#include "service/check.h"

#include <fcntl.h>
#include <iostream>

#include "disk/hash_list.h"
#include "disk/journal_scan.h"
#include "disk/snapshot.h"
#include "disk/state_folder.h"
#include "service/filter.h"
#include "store/doubt.h"
#include "sys/os_error.h"

namespace shmbloom {
namespace {

// Whether a start would find this filter's segment, and its doubts. Mapping is all that it takes.
bool check_filter(const Registry &registry, const FilterRecord &record, bool same_boot) {
    Filter filter;
    filter.record = record;
    std::string reason = "the machine was restarted since";
    std::unique_ptr<Segment> segment;
    if (same_boot)
        segment = Segment::adopt(filter.identity(registry, record.generation), record.segment, reason);
    std::string doubts = join_names(kDoubtNames, record.doubt_bits());
    const std::string lost =
        "its segment is lost (" + reason + "), so it " +
        (record.is_journalled() ? "is restored from snapshot and journal, see below" : "comes up empty and lossy");
    std::cout << "filter '" << record.name << "': generation " << record.generation << ", "
              << (segment ? "its segment is there" : lost) << ", "
              << (doubts.empty() ? "no doubts recorded" : "doubts recorded: " + doubts) << '\n';
    return (segment || record.is_journalled()) && doubts.empty();
}

// Every byte of a snapshot is read, so this takes the memory of the filter for a moment.
bool check_snapshots(const std::string &state_dir, const FilterRecord &record, Lsn &from) {
    bool good = true;
    const std::string path = state_dir + "/" + to_string(record.uuid);
    const UniqueFd folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    from = record.created;
    for (const SnapshotRecord &listed : all_snapshots(record)) {
        std::string reason;
        const auto file = SnapshotFile::open(folder.get(), snapshot_name(listed.number), path, reason);
        std::vector<std::uint64_t> words(file ? file->bits_bytes() / 8 : 0);
        const bool is_whole = file && file->read_into(words.data(), reason);
        if (is_whole && listed.lineage == record.lineage)
            from = listed.s;
        std::cout << "  snapshot " << listed.number << (is_whole ? " is whole" : " cannot be used: " + reason) << '\n';
        good = good && is_whole;
    }
    return good;
}

// What a growable filter grows from.
bool check_hash_lists(const std::string &state_dir, const FilterRecord &record) {
    bool good = true;
    const std::string path = state_dir + "/" + to_string(record.uuid);
    const UniqueFd folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    for (const HashFileRecord &file : all_hash_files(record)) {
        const std::string wrong = read_hash_list(folder.get(), path, record.uuid, file, [](const auto &) {});
        std::cout << "  hash list " << file.number << (wrong.empty() ? " is whole" : " cannot be used: " + wrong) << '\n';
        good = good && wrong.empty();
    }
    return good;
}

// Whether each journalled filter could be restored from what is there.
bool check_journal(const std::string &state_dir, const Registry &registry) {
    const std::string path = state_dir + "/journal";
    const UniqueFd folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder)
        return registry.journal.files.empty();
    std::vector<Uuid> states = registry.earlier_state_uuids;
    states.push_back(registry.state_uuid);
    JournalScan scan{folder.get(), path, registry.journal.files, states};
    scan.is_durable_below(registry.journal.end);
    if (registry.clean_stop)
        scan.is_complete();
    scan.read(1, [](const JournalFrameView &) {});
    std::cout << "journal: " << scan.counts().files << " files, " << scan.counts().frames << " frames, "
              << scan.counts().hashes << " adds\n";
    for (const std::string &fault : scan.faults())
        std::cout << "  " << fault << '\n';
    bool good = true;
    for (const FilterRecord &record : registry.filters) {
        if (!record.is_journalled())
            continue;
        std::cout << "filter '" << record.name << "', " << record.snapshots.size() << " snapshots:\n";
        Lsn from = 0;
        good = check_snapshots(state_dir, record, from) && good;
        good = check_hash_lists(state_dir, record) && good;
        const std::string damage = scan.damage(from);
        std::cout << "  the journal from LSN " << from << " on is " << (damage.empty() ? "whole" : "not: " + damage)
                  << '\n';
        good = good && damage.empty();
    }
    return good;
}

} // namespace

int check_state(const Options &options) {
    const std::string path = options.state_dir + "/registry.json";
    const auto text = read_file(path);
    if (!text)
        throw Refusal{"there is no registry at '" + path + "'; name the state folder with --state-dir"};
    const Registry registry = decode_registry(*text, path);
    const auto folder = file_id_at(options.state_dir);
    const bool same_boot = registry.boot == boot_id();
    bool good = true;
    std::cout << "registry '" << path << "' is whole, " << registry.filters.size() << " filters, "
              << (registry.clean_stop ? "stopped cleanly" : "in use or not stopped cleanly") << '\n';
    if (!folder || folder->inode != registry.folder.inode) {
        std::cout << "this folder is a copy: a start needs --take-over, and every filter comes up lossy\n";
        good = false;
    }
    for (const FilterRecord &record : registry.filters)
        good = check_filter(registry, record, same_boot) && good;
    good = check_journal(options.state_dir, registry) && good;
    for (const auto &[name, refused] : registry.adds_refused) {
        std::cout << "adds to '" << name << "' are refused: " << refused.text << '\n';
        good = false;
    }
    return good ? 0 : 1;
}

} // namespace shmbloom
