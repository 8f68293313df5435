/* Whether compiled code is in effect: the last that a rank told of each of its units.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_ACTIVES_H
#define INDUCTOP_DATA_ACTIVES_H

#include "engine/data/roll.h"
#include "engine/data/snapshot.h"
#include "engine/event/event.h"

enum { ACTIVES_MOST = 4096 };

/* A roll of struct snapshot_active, one a unit, in the order in which they were first told of. */
void actives_take(struct roll *actives, const struct event *event);

/* What was told of this unit, NULL: nothing. */
const struct snapshot_active *actives_find(const struct roll *actives, int64_t unit);

#endif
