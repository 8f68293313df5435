/* An event as one line for people, for the list of events. No state, any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_TELLING_H
#define INDUCTOP_DATA_TELLING_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/data/snapshot.h"
#include "engine/event/event.h"

struct switch_facts;

/* What the line is made with beside the event. */
struct telling {
    const char *group; /* of the rank, or NULL */
    const char *label; /* of the event's variant */
    const char *against; /* label of what a speedup is over */
    bool has_step;
    uint64_t step; /* in progress when it happened */
};

struct line {
    char *key;                 /* lines with the same key on several ranks are one */
    char *what, *text, *place; /* place: NULL without one */
    enum snapshot_level level;
    double ms; /* NaN: none */
    bool has_step;
    uint64_t step;
};

/* False: not worth a line. Asked only when the event is news. */
bool line_of_event(const struct event *event, const struct telling *telling, struct line *ret);

/* Of a switch after an event about it; `status` over all its ranks, `forgot` the label of the settings that it lets go of, NULL: none. */
bool line_of_switch(const struct switch_facts *facts, enum switch_status status, const char *forgot, struct line *ret);

void telling_line_done(struct line *line);

#endif
