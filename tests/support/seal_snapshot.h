// Checksums for a snapshot that a test has changed, as if a writer had written it so: to come behind them.
#pragma once

#include <cstring>
#include <span>

#include "disk/snapshot_format.h"

namespace shmbloom::test {

struct Seals {
    bool header = true, table = true, footer = true;
};

template <typename T>
T read_as(std::span<const char> bytes, std::uint64_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

// Those that are asked for, as far as the header leads to places within the bytes.
inline void seal_snapshot(std::span<char> bytes, Seals seals = {}) {
    if (bytes.size() < sizeof(SnapshotHeader))
        return;
    auto header = read_as<SnapshotHeader>(bytes, 0);
    if (seals.header)
        header.checksum = snapshot_header_checksum(header);
    std::memcpy(bytes.data(), &header, sizeof header);
    const SnapshotPlaces places{header.bits_bytes, header.chunk_bytes};
    if (header.bits_bytes > bytes.size() || header.chunk_bytes < 512 || header.chunk_bytes > bytes.size() * 1024 ||
        places.file_bytes() > bytes.size())
        return;
    SnapshotEndChecksum checksum{header.checksum};
    for (std::uint64_t i = 0; i < places.chunk_count(); i++) {
        char *const entry = bytes.data() + places.table_offset() + 8 * i;
        const std::uint64_t right =
            snapshot_chunk_checksum(bytes.data() + places.chunk_offset(i), places.chunk_size(i), header.checksum, i);
        if (seals.table)
            std::memcpy(entry, &right, sizeof right);
        const auto stands = read_as<std::uint64_t>(bytes, places.table_offset() + 8 * i);
        checksum.add_table(&stands, 1);
    }
    auto footer = read_as<SnapshotFooter>(bytes, places.footer_offset());
    if (seals.footer)
        footer.checksum = checksum.finish(footer);
    std::memcpy(bytes.data() + places.footer_offset(), &footer, sizeof footer);
}

} // namespace shmbloom::test
