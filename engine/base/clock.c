/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/base/clock.h"

#include <stddef.h>
#include <time.h>

#include "engine/base/banned.h"

static uint64_t (*fake)(void);

void clock_set_source(uint64_t (*source)(void)) {
    fake = source;
}

uint64_t clock_now_ns(void) {
    if (fake) return fake();
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
