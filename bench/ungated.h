/* A lookup of the library but for its look at the gates, which shows what that costs. Right only while a filter stays as
 * it was opened. */
#ifndef SHMBLOOM_BENCH_UNGATED_H
#define SHMBLOOM_BENCH_UNGATED_H

#include <stdbool.h>

#include "shmbloom/shmbloom.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From now on the handle looks up short keys without its gates. False: it is not one for which this is built, a
 * `blocked` filter on a processor with AVX2, and is left as it was. */
bool shmbloom_bench_leave_out_gates(shmbloom_filter *f);

#ifdef __cplusplus
}
#endif

#endif
