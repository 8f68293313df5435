/* The list of events as lines: the last ones, what several ranks say as one line. Part of the
 * store. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_RECENT_H
#define INDUCTOP_DATA_RECENT_H

#include "engine/data/rank_set.h"
#include "engine/data/roll.h"
#include "engine/data/telling.h"

/* Lines further back than this are not looked at for what another rank says. */
enum { RECENT_BACK = 64, RECENT_BACK_S = 60 };

/* Adds a line to the roll of struct snapshot_event, or joins it to one with the same key that this
 * rank has not told yet. The texts of `line` are taken over. */
void recent_add(struct roll *recent, const struct event *event, struct line *line);

/* As recent_add(), but a line with the same key is replaced whichever rank told it; `ranks` are
 * those that have to do with it. */
void recent_set(struct roll *recent, const struct event *event, struct line *line,
                const struct rank_set *ranks);

#endif
