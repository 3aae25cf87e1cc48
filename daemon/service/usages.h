// Usages that are shown at more than one place.
#pragma once

namespace shmbloom {

inline constexpr const char *kCreateUsage =
    "SB.CREATE name CAPACITY n FPR p [LAYOUT auto|classic|blocked] [NORMALIZE trim,lower] [KEYTYPE bytes|u64] "
    "[DURABILITY durable|logged|memory] [GROWABLE] [EXPANSION n] [WHENFULL warn|refuse] "
    "[NOTHING-EXISTS-YET]";
inline constexpr const char *kReserveUsage = "BF.RESERVE name error_rate capacity [EXPANSION n] [NONSCALING]";
inline constexpr const char *kLoadUsage = "SB.LOAD name BEGIN [OVERLAP seconds] | END [EXPECT n] | ABORT";
inline constexpr const char *kRebuildUsage =
    "SB.REBUILD name BEGIN [CAPACITY n] [FPR p] [LAYOUT l] [SINCE lsn|SINCE-SECONDS n] [OVERLAP seconds] [SNAPSHOT file] | "
    "MUST hash_domain hashes | END [EXPECT n] [SHRINK percent] [DRYRUN] | ABORT | GROW [CAPACITY n]";
inline constexpr const char *kRollbackUsage = "SB.ROLLBACK name [UNION]";
inline constexpr const char *kLiveUsage = "SB.LIVE name EXPECT n | FORCE";

} // namespace shmbloom
