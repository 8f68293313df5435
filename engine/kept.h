/* What a viewer must be told when it comes late: the last event of each state (job, rank, unit,
 * whether its code is in effect, variant, speedup, switch, graph break, memory, compilers, bridge) as a line,
 * with its number. Part of the past (past.h), loop thread only. SPDX-License-Identifier: Apache-2.0
 */
#ifndef INDUCTOP_KEPT_H
#define INDUCTOP_KEPT_H

#include "engine/event/event.h"

struct kept;

enum { KEPT_BREAKS = 4096 };

/* Keeps `line` if the event's kind is a state, in place of the one before of the same thing. Breaks
 * beyond KEPT_BREAKS places are not kept. `group`: of the rank that it comes from, or "". */
void kept_add(struct kept **kept, const struct event *event, const char *group, const char *line,
              uint64_t seq);

/* Calls `each` for every line, in the order in which the things first appeared. */
void kept_each(const struct kept *kept,
               void (*each)(void *ctx, const char *group, const char *line, uint64_t seq),
               void *ctx);

void kept_free(struct kept **kept);

#endif
