/* How a snapshot is made, for engine/data/snapshot*.c alone. Each function hands out a reference of
 * its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SNAPSHOT_PARTS_H
#define INDUCTOP_DATA_SNAPSHOT_PARTS_H

#include "engine/data/snapshot.h"
#include "engine/data/store_parts.h"

/* snapshot_rank.c: one rank; made anew only when something was told of it. */
const struct snapshot_rank *freeze_rank(struct store *store, size_t i);
struct snapshot_speedup freeze_speedup(const struct store_speedup *speedup);

/* snapshot_group.c: the groups, with places in `ranks`, which holds the shown ones. */
const struct shared_list *freeze_groups(struct store *store,
                                        const struct snapshot_rank *const *ranks, size_t count);

/* snapshot_variant.c */
struct snapshot_variants {
    struct shared shared;
    size_t count;
    struct snapshot_variant variants[];
};

const struct snapshot_variants *
freeze_variants(struct store *store, const struct snapshot_rank *const *ranks, size_t count);

/* snapshot_switch.c: brings views->switches up to date. */
void freeze_switches(struct store *store);

/* Sorts in place; NaN may be among them and counts as missing. NaN without any. */
double middle(double *values, size_t count);

#endif
