/* Graph breaks by place: file, line and reason. Part of the store.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_PLACES_H
#define INDUCTOP_DATA_PLACES_H

#include "engine/data/roll.h"
#include "engine/event/event.h"

struct places {
    struct place *by_key;
    struct roll list; /* of struct snapshot_break */
};

void places_init(struct places *places);
void places_done(struct places *places);

/* Takes a break event of a rank. `group` may be NULL. Returns true when this rank had not told of
 * the place before. Beyond SNAPSHOT_GROUPED places, new ones are left out. */
bool places_take(struct places *places, const struct event *event, const char *group);

#endif
