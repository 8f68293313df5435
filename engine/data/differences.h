/* What ranks of a group met, told apart by what it is: a version compiled again for a reason, a function compiled, a graph break, a
 * cache that did not have it. Ranks that train alike meet the same; where some did and others did not, they have drifted apart.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_DIFFERENCES_H
#define INDUCTOP_DATA_DIFFERENCES_H

#include "engine/data/roll.h"
#include "engine/event/event.h"

struct differences {
    struct roll list; /* of struct snapshot_difference */
    struct difference *by_key;
};

void differences_init(struct differences *differences);
void differences_done(struct differences *differences);

/* A compile or break event of a rank of `group`, in its `step`. */
void differences_take(struct differences *differences, const struct event *event, const char *group, uint64_t step);

#endif
