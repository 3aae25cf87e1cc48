// Which files the journal has, and which of them nobody needs any more.
#pragma once

#include <cstdint>
#include <vector>

#include "disk/journal_file.h"
#include "disk/lsn.h"

namespace shmbloom {

class JournalFiles {
  public:
    struct File {
        JournalFileRecord record;
        Lsn first = 0; // nothing in it lies below
        std::uint64_t last_used = 0; // unix seconds
        std::uint64_t bytes = 0;
    };
    struct Retention {
        std::uint64_t seconds = 3600;
        std::uint64_t limit_bytes = std::uint64_t{4} << 30; // shortens `seconds`, never what is needed
    };

    void begin(const File &file) { files_.push_back(file); } // in order; the last one is written
    void use(std::uint64_t now) {
        if (!files_.empty())
            files_.back().last_used = now;
    }
    void forget(std::uint64_t number) {
        std::erase_if(files_, [number](const File &file) { return file.record.number == number; });
    }

    void forget_all() { files_.clear(); }

    std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const File &file : files_)
            sum += file.bytes;
        return sum;
    }
    const std::vector<File> &all() const { return files_; }

    // The oldest files, in which nothing at or above `needed` lies and that are old enough, or too many.
    std::vector<JournalFileRecord> removable(Lsn needed, std::uint64_t now, const Retention &retention) const {
        std::vector<JournalFileRecord> records;
        std::uint64_t kept_bytes = bytes();
        for (std::size_t i = 0; i + 1 < files_.size() && files_[i + 1].first <= needed; i++) {
            const bool is_old = files_[i].last_used + retention.seconds <= now;
            if (!is_old && kept_bytes <= retention.limit_bytes)
                break;
            kept_bytes -= files_[i].bytes;
            records.push_back(files_[i].record);
        }
        return records;
    }

  private:
    std::vector<File> files_;
};

} // namespace shmbloom
