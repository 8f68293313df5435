/* The clock: CLOCK_MONOTONIC in nanoseconds, the same for all processes of a host. Tests put a fake one in its place.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_BASE_CLOCK_H
#define INDUCTOP_BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_now_ns(void);

/* From now on clock_now_ns() asks `source`; NULL: the real clock again. For tests. */
void clock_set_source(uint64_t (*source)(void));

#endif
