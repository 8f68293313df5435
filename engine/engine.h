/* The engine: serves one session until its job has ended. Ranks and viewers connect to it; it keeps what they tell, decides with
 * them when settings change, and passes every event on to its sinks and viewers.
 *
 * It lives in a process of its own. Killing it costs telemetry, never the job: ranks do not wait for it, and another engine can
 * take over under the session's lock. One loop thread; nothing here prints or exits.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_ENGINE_H
#define INDUCTOP_ENGINE_H

#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

#include "engine/base/err.h"
#include "engine/event/event.h"
#include "engine/run/session.h"

struct engine;
struct store;

/* Where events go in our own process: printers, tapes. `ended` may be NULL. A sink that
 * still writes keeps the loop alive by its own handles and requests. */
struct engine_sink {
    void (*event)(void *ctx, const struct event *event); /* all but steps */

    /* A step, its end_ns counted from `start_ns`; NULL: steps are not wanted. */
    void (*step)(void *ctx, const struct step_record *record, int rank, uint64_t start_ns);
    void (*ended)(void *ctx, const struct store *store); /* after the last event */
    void *ctx;
};

struct engine_options {
    struct session *session; /* lent */
    pid_t job;               /* the job's process; 0: found from the session (an engine that takes over) */
    const struct engine_sink *sinks;
    size_t sink_count;
    bool takes_over; /* an engine was here before: adds to what is there */
};

/* Takes the session's lock and listens. The sinks must live as long as the engine. */
int engine_new(uv_loop_t *loop, const struct engine_options *options, struct engine **ret, struct err *err);

/* Runs the loop until the job has ended, everything told is stored and the sinks are idle. */
void engine_run(struct engine *engine);

/* Accepts NULL. */
void engine_free(struct engine *engine);

const struct store *engine_store(const struct engine *engine);

#endif
