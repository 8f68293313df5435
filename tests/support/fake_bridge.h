/* What a fake bridge answers: the symbol `fake` of its library.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_TESTS_FAKE_BRIDGE_H
#define INDUCTOP_TESTS_FAKE_BRIDGE_H

#include <stdbool.h>

#include "engine/rank/bridge/table.h"

struct fake_bridge {
    const char *torch, *fault; /* fault: not NULL: the allocator cannot be counted */
    bool is_strange;           /* of another ABI */
    int counts;                /* calls of cpu_count() */
    struct bridge_cpu cpu;
    struct bridge_device device;
    int cpu_answer, device_answer; /* of cpu_read() and device_read() */
    unsigned watched; /* of gloo's collectives */
    struct collective_figures gloo;
};
extern struct fake_bridge fake;

#endif
