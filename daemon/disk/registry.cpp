#include "disk/registry.h"

namespace shmbloom {

std::vector<HashFileRecord> all_hash_files(const FilterRecord &record) {
    std::vector<HashFileRecord> files = record.hash_list.files;
    if (record.previous)
        files.insert(files.end(), record.previous->hash_list.files.begin(), record.previous->hash_list.files.end());
    return files;
}

std::vector<SnapshotRecord> all_snapshots(const FilterRecord &record) {
    std::vector<SnapshotRecord> snapshots = record.snapshots;
    if (record.previous)
        snapshots.insert(snapshots.end(), record.previous->snapshots.begin(), record.previous->snapshots.end());
    return snapshots;
}

} // namespace shmbloom
