/* What yields events: the engine of a running job (viewer), a tape (replay), a test (fake). Whoever
 * shows a job gives a sink and does not care which it is. Everything happens on one thread, inside
 * of calls into the source or of its loop; a sink must not end the source from within its calls.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_WIRE_SOURCE_H
#define INDUCTOP_WIRE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wire/record.h"

struct event;

/* Steps of one rank, in order. */
struct source_steps {
    int rank;
    const char *group;   /* its key; NULL: the source does not know */
    uint64_t start_ns;   /* what end_ns of the records is counted from */
    const void *records; /* `count` struct step_record, not aligned: memcpy() them */
    size_t count;
    bool has_dropped;
    uint64_t dropped[3]; /* all that was lost of this rank so far: steps, events, bad */
};

/* What a source tells. All of these must be there. */
struct source_sink {
    /* `group`: key of the group that a rank's event comes from, or NULL. */
    void (*event)(void *ctx, const struct event *event, const char *group);
    void (*steps)(void *ctx, const struct source_steps *steps);

    /* What was told so far is void: it begins anew with nothing. */
    void (*again)(void *ctx);

    /* The source's state changed: ask it. */
    void (*changed)(void *ctx);
    void *ctx;
};

enum source_state {
    SOURCE_CONNECTING,  /* nothing is there yet */
    SOURCE_CATCHING_UP, /* the past is being told */
    SOURCE_LIVE,
    SOURCE_PAUSED,
    SOURCE_LOST,  /* what is shown is old; it tries to get back */
    SOURCE_ENDED, /* nothing more will come */
    SOURCE_STATE_COUNT
};

/* "connecting", ... */
const char *source_state_name(enum source_state state);

#endif
