/* Sizes and offsets of what programs are built with. A change here breaks programs that were built before: fields are
 * only ever added, at the end. Compiled as C11 and, by abi.cpp, as C++20. */
#include <stddef.h>

#include "shmbloom/shmbloom.h"

#ifdef __cplusplus
#define ASSERT(condition) static_assert(condition, #condition)
#else
#define ASSERT(condition) _Static_assert(condition, #condition)
#endif
#define AT(type, field, offset) ASSERT(offsetof(type, field) == (offset))

ASSERT(SHMBLOOM_ABSENT == 0);
ASSERT(SHMBLOOM_MAYBE == 1);
ASSERT(SHMBLOOM_UNVERIFIED == 2);
ASSERT(SHMBLOOM_NOT_ADDED == 255);
ASSERT(SHMBLOOM_OPEN_LAZY == 1);
ASSERT(SHMBLOOM_OPEN_SHADOW == 2);
ASSERT(SHMBLOOM_INFO_PARTIAL == 1);
ASSERT(SHMBLOOM_INFO_WARMING == 2);
ASSERT(SHMBLOOM_INFO_PAUSED == 4);
ASSERT(SHMBLOOM_INFO_LOSSY == 8);
ASSERT(SHMBLOOM_INFO_DAMAGED == 16);
ASSERT(SHMBLOOM_HANDLE_NO_CONTROL == 1);
ASSERT(SHMBLOOM_HANDLE_NO_FILTER == 2);
ASSERT(SHMBLOOM_HANDLE_NO_PERMISSION == 4);
ASSERT(SHMBLOOM_HANDLE_FORMAT == 8);
ASSERT(SHMBLOOM_HANDLE_BUSY == 16);
ASSERT(SHMBLOOM_HANDLE_NO_SEGMENT == 32);
ASSERT(SHMBLOOM_INFO_DEGRADED == 1);
ASSERT(SHMBLOOM_INFO_FULL == 2);
ASSERT(SHMBLOOM_INFO_GROWTH_BLOCKED == 4);
ASSERT(SHMBLOOM_INFO_ADDS_REFUSED == 8);
ASSERT(SHMBLOOM_INFO_NAME_LOST == 16);
ASSERT(SHMBLOOM_UNKNOWN == UINT64_MAX);

ASSERT(sizeof(shmbloom_key) == 16);
AT(shmbloom_key, data, 0);
AT(shmbloom_key, size, 8);

ASSERT(sizeof(shmbloom_options) == 48);
AT(shmbloom_options, struct_size, 0);
AT(shmbloom_options, flags, 4);
AT(shmbloom_options, instance, 8);
AT(shmbloom_options, runtime_dir, 16);
AT(shmbloom_options, add_timeout_ms, 24);
AT(shmbloom_options, audit_one_in, 28);
AT(shmbloom_options, error_text, 32);
AT(shmbloom_options, error_text_size, 40);

ASSERT(sizeof(shmbloom_info) == 1320);
AT(shmbloom_info, struct_size, 0);
AT(shmbloom_info, live, 4);
AT(shmbloom_info, name, 8);
AT(shmbloom_info, uuid, 80);
AT(shmbloom_info, doubts_text, 120);
AT(shmbloom_info, handle_doubts_text, 280);
AT(shmbloom_info, warnings_text, 536);
AT(shmbloom_info, layout, 696);
AT(shmbloom_info, key_type, 712);
AT(shmbloom_info, normalize, 728);
AT(shmbloom_info, durability, 760);
AT(shmbloom_info, doubts, 776);
AT(shmbloom_info, handle_doubts, 780);
AT(shmbloom_info, warnings, 784);
AT(shmbloom_info, probes, 788);
AT(shmbloom_info, hash_domain, 792);
AT(shmbloom_info, generation, 800);
AT(shmbloom_info, lineage, 808);
AT(shmbloom_info, capacity, 816);
AT(shmbloom_info, fpr, 824);
AT(shmbloom_info, bits, 832);
AT(shmbloom_info, blocks, 840);
AT(shmbloom_info, memory_bytes, 848);
AT(shmbloom_info, huge_page_bytes, 856);
AT(shmbloom_info, bits_set, 864);
AT(shmbloom_info, adds_acknowledged, 872);
AT(shmbloom_info, adds_new, 880);
AT(shmbloom_info, adds_refused, 888);
AT(shmbloom_info, estimated_keys, 896);
AT(shmbloom_info, estimated_fpr, 904);
AT(shmbloom_info, headroom_keys, 912);
AT(shmbloom_info, live_since, 920);
AT(shmbloom_info, doubt_since, 928);
AT(shmbloom_info, fill, 968);
AT(shmbloom_info, heartbeat_age_ms, 976);
AT(shmbloom_info, daemon_pid, 984);
AT(shmbloom_info, absent, 992);
AT(shmbloom_info, maybe, 1000);
AT(shmbloom_info, unverified, 1008);
AT(shmbloom_info, would_be_absent, 1016);
AT(shmbloom_info, audited, 1024);
AT(shmbloom_info, wrong_absent, 1032);
AT(shmbloom_info, false_positives, 1040);
AT(shmbloom_info, wrong_absents_of_all, 1048);
AT(shmbloom_info, runtime_dir, 1056);
AT(shmbloom_info, keys_per_day, 1312);
