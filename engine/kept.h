/* What a viewer must be told when it comes late: the last event of each state (job, rank, unit, variant, switch) as a line.
 * Owned by the engine, loop thread only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_KEPT_H
#define INDUCTOP_KEPT_H

#include "engine/event/event.h"

struct kept;

/* Keeps `line` if the event's kind is a state, in place of the one before of the same thing. */
void kept_add(struct kept **kept, const struct event *event, const char *line);

/* Calls `each` for every line, in the order in which the things first appeared. */
void kept_each(const struct kept *kept, void (*each)(void *ctx, const char *line), void *ctx);

void kept_free(struct kept **kept);

#endif
