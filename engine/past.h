/* What a viewer must be told when it comes late: the last event of each state (kept.h), the last
 * events of all kinds, the last steps of each rank and a thinned picture of those before. Owned by
 * the engine, loop thread only.
 *
 * Events are numbered from 1 in the order in which they were told, so that a viewer that was away
 * can ask for what it missed. SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_PAST_H
#define INDUCTOP_PAST_H

#include <stddef.h>
#include <stdint.h>

#include "engine/event/event.h"
#include "engine/wire/record.h"

enum {
    PAST_EVENTS = 500,
    PAST_EVENT_BYTES = 1 << 20, /* of all of them together */
    PAST_STEPS = 128,           /* the last of a rank; as many thinned ones before */
};

struct past;

struct past_line {
    uint64_t seq;
    const char *group, *line;
    size_t size;
};

struct past *past_new(void);
struct past *past_free(struct past *past); /* returns NULL */

/* Samples are numbered only. An event that was told, its line, and the group of the rank that it
 * comes from ("": of none). Returns its number. */
uint64_t past_event(struct past *past, const struct event *event, const char *group,
                    const char *line, size_t size);

/* Number of the last event, 0: none was told. */
uint64_t past_seq(const struct past *past);

void past_steps(struct past *past, const char *group, int rank, const void *records, size_t count);

/* All events behind number `since` that are still there: states first, then the rest in order; each
 * event once. Ends early, and returns false, when `each` does. */
bool past_each_event(const struct past *past, uint64_t since,
                     bool (*each)(void *ctx, const struct past_line *line), void *ctx);

/* Steps of every rank in order, `most` records altogether (but for some of each rank): fewer of
 * each when there are many ranks. */
bool past_each_rank(const struct past *past, size_t most,
                    bool (*each)(void *ctx, const char *group, int rank,
                                 const struct step_record *records, size_t count),
                    void *ctx);

#endif
