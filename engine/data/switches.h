/* The switches of a job: what was asked for, and what became of it on each rank and over all. Part
 * of the store.
 *
 * A switch is known by its group, by whom, and its id; a proposal that was refused before it got an
 * id has 0, and is always another one. An attempt that is made again under another id (`again:
 * true`) stays in the list, but for people it is none. Events without a group (the engine's own, or
 * any on a tape) belong to the last switch with that `by` and `id`. The status over all ranks:
 *
 *     the worst of not reached, aborted, refused, missed, failed (worst last), if any is said
 *     applied        when as many ranks say so as the group has, or the engine says so itself
 *     committed      when only some ranks said applied
 *     the furthest   of proposed, ready, committed, else
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_DATA_SWITCHES_H
#define INDUCTOP_DATA_SWITCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/data/rank_set.h"
#include "engine/data/switch_status.h"
#include "engine/event/event.h"

/* One switch; everything in it belongs to the list. */
struct switch_facts {
    uint64_t seq; /* its place in the list */
    char *group;  /* "" when not known */
    int64_t id;
    char *by;
    json_t *from, *to; /* settings before and asked for, NULL when not told */
    bool has_at, has_variant, has_line, has_forgot;
    int64_t forgot; /* settings whose compiled code was let go */
    bool is_tried_again; /* under another id */
    bool is_changed;     /* since its owner last took this back */
    int64_t at, variant, line;
    char *against;               /* label of what `to` is compared with; NULL: it is no comparison */
    char *reason, *file, *place; /* NULL without one; place: "train.py:41" */
    json_t *tag;                 /* of who asked, or NULL */
    json_t *ran;                 /* unit to what ran, as told last, or NULL */
    double t, last_t;            /* of the first and the last event about it */
    double lost_ms, swap_ms;     /* the most that a rank told, NaN: none did */
    struct rank_set ranks;       /* that told of it */
    enum switch_status told;     /* last, by nobody's rank */
    uint8_t *by_rank;            /* enum switch_status by rank number, `rank_room` of them */
    size_t rank_room;
};

struct switches {
    struct switch_facts *list; /* in the order in which they were first told */
    size_t count, room;
};

void switches_init(struct switches *switches);
void switches_done(struct switches *switches);

/* Takes an event of kind switch; `group` may be NULL. Returns the switch, lent until the next call.
 */
struct switch_facts *switches_take(struct switches *switches, const struct event *event,
                                   const char *group);

/* Over all ranks; `ranks` is how many the group has. */
enum switch_status switch_overall(const struct switch_facts *facts, size_t ranks);

#endif
