/* A screen's connection to the engine of a running job, as a source: what was told so far, then
 * what comes. The other side is engine/viewers.h, where hello, STATUS and the commands are
 * described.
 *
 *     connecting    no engine has answered yet
 *     catching up   the past is being told
 *     live
 *     lost          the engine went away; it is tried again, with back-off, as long as the job
 * runs. When no engine holds the session's lock, start_engine() is asked for one, every
 * VIEWER_START_MS at most ended         the job has ended and all was told, or there is no job any
 * more
 *
 * What was told before a connection was lost stays: the next engine tells what came after. The
 * sink's again() is never called. Engine and job do not notice whether a viewer reads, stops or
 * dies. Loop thread only; connecting never blocks. The process must ignore SIGPIPE.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_VIEWER_H
#define INDUCTOP_RUN_VIEWER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "engine/base/err.h"
#include "engine/run/session.h"
#include "engine/wire/source.h"

enum { VIEWER_RETRY_MS = 20, VIEWER_RETRY_MOST_MS = 500, VIEWER_START_MS = 5000 };

struct viewer;

struct viewer_options {
    uv_loop_t *loop;
    const struct session *session; /* lent as long as the viewer lives */
    struct source_sink sink;

    bool is_attached; /* the job runs already: a missing engine is missed at once, else after
                         VIEWER_START_MS */

    /* Starts an engine that takes over; NULL: none is started. */
    int (*start_engine)(const struct session *session, struct err *err);
};

struct viewer_facts {
    enum source_state state;
    const char *reason; /* why it is lost or ended, a sentence's worth; never NULL */
    bool has_status;    /* an engine has said what follows; it stays while lost */
    uint64_t start_ns;  /* of the job, CLOCK_MONOTONIC */
    bool is_readonly, is_in_charge;
    const char *baseline;                 /* off, auto, on; never NULL */
    int screens;                          /* on this job, this one among them */
    uint64_t missed_events, missed_steps; /* that the engine could not tell this viewer */
    uint64_t bad;                         /* frames and events that could not be read */
    unsigned losses;                      /* how often the connection was lost */
    const char *did, *tag; /* the last command that was answered as taken, and its tag as JSON text;
                              NULL: none */
    uint64_t did_count;    /* how many were */
};

/* Begins to connect; the first try is made by the loop. */
struct viewer *viewer_new(const struct viewer_options *options);

/* Closes everything; the memory goes when the loop has run once more. Accepts NULL. */
void viewer_free(struct viewer *viewer);

/* Lent until the loop runs on. */
struct viewer_facts viewer_facts(const struct viewer *viewer);

/* Sends a command; takes the reference over (also on failure) and sets `v` and `do`. Fails when no
 * engine is connected. A proposal is answered by switch events with its tag, what is refused
 * otherwise by a problem event with it, the rest by facts.did. */
int viewer_command(struct viewer *viewer, const char *what, json_t *command, struct err *err);

#endif
