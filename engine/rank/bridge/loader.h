/* Loads the bridge to libtorch into this process, and turns what it reads into a step's figures.
 * One thread at a time; nothing is unloaded, nothing fails the job.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_BRIDGE_LOADER_H
#define INDUCTOP_RANK_BRIDGE_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/rank/bridge/table.h"
#include "engine/wire/record.h"

enum { BRIDGE_EVENT_ROOM = 512 };
#define BRIDGE_EVENT_NS UINT64_C(1000000000)

struct bridge {
    const struct bridge_table *table; /* NULL: not loaded */
    uint64_t allocations;             /* at the reading before */
    bool has_device;
    struct bridge_device device; /* at the reading before */
    struct bridge_device told;   /* in the last event */
    uint64_t told_ns;            /* 0: never */
};

/* Loads the library and begins to count torch's CPU allocator. `torch` is the version of the torch
 * in this process. Refused, with the reason: a file that others can write, one built for another
 * torch, one that cannot be loaded or does not count truly. What is refused stays mapped and does
 * nothing. */
int bridge_load(struct bridge *bridge, const char *path, const char *torch, struct err *err);

/* Puts the figures into the record of the step that ends, and begins the next step's. */
void bridge_step(struct bridge *bridge, struct step_record *record);

/* Writes a memory event as JSON when the device's figures have changed since the last, once a
 * second at most. 0: there is nothing to tell. */
size_t bridge_event(struct bridge *bridge, uint64_t now_ns, char ret_text[BRIDGE_EVENT_ROOM]);

#endif
