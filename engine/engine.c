/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/data/summary.h"
#include "engine/parts.h"
#include "engine/base/banned.h"

enum {
    TICK_MS = 50,
    EXIT_FILE_MS = 1000,  /* how long the keeper may take to write the exit file */
    GUESTS_END_MS = 1000, /* how long ranks may take to say the rest */
    VIEWERS_END_MS = 1000, /* how long viewers may take to read it */
};

double engine_time(const struct engine *engine) {
    return (double)(clock_now_ns() - engine->start_ns) / 1e9;
}

void engine_tell(struct engine *engine, struct event *event, const char *group) {
    store_take(engine->store, event, group);
    for (size_t i = 0; i < engine->options.sink_count; i++)
        engine->options.sinks[i].event(engine->options.sinks[i].ctx, event);
    buf_clear(&engine->line);
    event_print(event, &engine->line);
    viewers_event(engine->viewers, event, group, engine->line.data, engine->line.size);
    event_done(event);
}

/* There are many: no JSON values are made of them. Viewers get a rank's whole frame of them at once. */
void engine_step(struct engine *engine, const struct step_record *record, const struct guest *rank) {
    store_step(engine->store, record, rank->rank, rank->group, engine->start_ns);
    for (size_t i = 0; i < engine->options.sink_count; i++) {
        const struct engine_sink *sink = &engine->options.sinks[i];
        if (sink->step) sink->step(sink->ctx, record, rank->rank, engine->start_ns);
    }
}

void engine_problem(struct engine *engine, const char *what, const char *text, const char *hint) {
    struct event event = event_make(EVENT_PROBLEM, engine_time(engine), "{so so}", "what", event_string(what),
                                    "text", event_string(text));
    if (hint) json_object_set_new(event.body, "hint", event_string(hint));
    engine_tell(engine, &event, NULL);
}

static void tell_job(struct engine *engine, const char *state) {
    int code = 0;
    struct event event = event_make(EVENT_JOB, engine_time(engine), "{sO ss sO ss}", "command",
                                    json_object_get(engine->start, "command"), "name", engine->session->name,
                                    "start", json_object_get(engine->start, "start"), "state", state);
    char *text = strcmp(state, "ended") ? NULL : session_read(engine->session, "exit", NULL);
    if (text && sscanf(text, "exit %d", &code) == 1) json_object_set_new(event.body, "exit", json_integer(code));
    if (text && sscanf(text, "signal %d", &code) == 1) json_object_set_new(event.body, "signal", json_integer(code));
    free(text);
    engine_tell(engine, &event, NULL);
}

static bool has_exit_file(const struct engine *engine) {
    return faccessat(engine->session->fd, "exit", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_ranks(const struct engine *engine) {
    for (const struct guest *guest = engine->guests; guest; guest = guest->next)
        if (guest->role == GUEST_RANK) return true;
    return false;
}

static void tell_end(struct engine *engine) {
    engine->is_closing = true;
    engine->closing_ns = clock_now_ns();
    struct event event;
    compilers_end(engine);
    advice_look(engine);
    summary_event(engine->store, &event);
    engine_tell(engine, &event, NULL);
    for (size_t i = 0; i < engine->options.sink_count; i++)
        if (engine->options.sinks[i].ended)
            engine->options.sinks[i].ended(engine->options.sinks[i].ctx, engine->store);
}

/* Viewers may read the rest first. */
static void close_all(struct engine *engine) {
    uint64_t waited_ms = (clock_now_ns() - engine->closing_ns) / 1000000;
    if (!viewers_are_idle(engine->viewers) && waited_ms < VIEWERS_END_MS) return;
    hub_free(engine->hub);
    engine->hub = NULL;
    bridges_leave(engine);
    uv_close((uv_handle_t *)&engine->tick, NULL);
}

/* The job's process is gone. Its ranks may have more to say, and the keeper writes the exit file: both within bounds. */
static void end_job(struct engine *engine) {
    uint64_t waited_ms = (clock_now_ns() - engine->ended_ns) / 1000000;
    if (has_ranks(engine) && waited_ms < GUESTS_END_MS) return;
    bool has_exit = has_exit_file(engine);
    if (!has_exit && waited_ms < EXIT_FILE_MS) return;
    proposer_end(engine->proposer, "the job has ended");
    baselines_end(engine->baselines);
    tell_job(engine, has_exit ? "ended" : "lost");
    tell_end(engine);
    close_all(engine);
}

static void turn(uv_timer_t *timer) {
    struct engine *engine = timer->data;
    command_turn(engine);
    proposer_turn(engine->proposer, clock_now_ns());
    viewers_turn(engine->viewers);
    if (!engine->is_closing) stalled_turn(engine);
    if (engine->is_closing) close_all(engine);
    else if (engine->ended_ns) end_job(engine);
    else {
        baselines_turn(engine->baselines);
        advice_turn(engine);
        compilers_turn(engine);
    }
}

static void job_is_gone(uv_poll_t *poll, int status, int events) {
    struct engine *engine = poll->data;
    (void)status, (void)events;
    engine->ended_ns = clock_now_ns();
    uv_poll_stop(poll);
    uv_close((uv_handle_t *)poll, NULL);
    uv_timer_start(&engine->tick, turn, 1, 5);
}

static int watch_job(struct engine *engine, struct err *err) {
    engine->job_fd = (int)syscall(SYS_pidfd_open, engine->options.job, 0);
    if (engine->job_fd < 0) {
        if (errno != ESRCH) return err_set_errno(err, errno, "could not watch the job's process");
        engine->ended_ns = clock_now_ns();
        return 0;
    }
    uv_poll_init(engine->loop, &engine->job_end, engine->job_fd);
    engine->job_end.data = engine;
    uv_poll_start(&engine->job_end, UV_READABLE, job_is_gone);
    return 0;
}

/* The first engine is told which process the job is, and leaves it for one that takes over: the front may have gone by then. */
static int find_job(struct engine *engine, struct err *err) {
    char line[16];
    uint64_t pid = 0;
    if (engine->options.job) {
        int size = snprintf(line, sizeof line, "%d", (int)engine->options.job);
        return session_write(engine->session, "job", line, (size_t)size, err);
    }
    CLEANUP(cleanup_free) char *text = session_read(engine->session, "job", NULL);
    if (text && str_to_u64(text, &pid)) engine->options.job = (pid_t)pid;
    else engine->options.job = (pid_t)json_integer_value(json_array_get(json_object_get(engine->start, "front"), 0));
    return 0;
}

static int read_start(struct engine *engine, struct err *err) {
    char *text = session_read(engine->session, "start.json", err);
    if (!text) return -ERR_MISSING;
    json_error_t why;
    engine->start = json_loads(text, 0, &why);
    free(text);
    if (!engine->start) return err_set(err, ERR_SYNTAX, "could not read 'start.json': %s", why.text);
    engine->start_ns = (uint64_t)json_integer_value(json_object_get(engine->start, "start_ns"));
    return find_job(engine, err);
}

static int open_session(struct engine *engine, struct err *err) {
    int rc = read_start(engine, err);
    if (rc) return rc;
    engine->lock = session_lock(engine->session, err);
    if (engine->lock < 0) return -ERR_BUSY;
    CLEANUP(cleanup_free) char *page = session_path(engine->session, "page");
    CLEANUP(cleanup_free) char *sock = session_path(engine->session, "sock");
    rc = page_open(page, &engine->page, err);
    if (rc) return rc;
    engine->hub = hub_new(engine->loop, sock, &intake_ops, engine, err);
    if (!engine->hub) return -ERR_SYSTEM;
    return watch_job(engine, err);
}

int engine_new(uv_loop_t *loop, const struct engine_options *options, struct engine **ret, struct err *err) {
    struct engine *engine = mem_new(sizeof *engine);
    *engine = (struct engine){.loop = loop, .options = *options, .session = options->session, .lock = -1, .job_fd = -1};
    engine->store = store_new();
    store_keep_findings(engine->store);
    engine->findings = findings_new();
    engine->viewers = viewers_new(engine);
    int rc = open_session(engine, err);
    if (rc) {
        engine_free(engine);
        return rc;
    }
    const struct proposer_ops ops = {.told = command_told, .ready = command_ready, .ctx = engine};
    engine->proposer = proposer_new(engine->page, &ops);
    const char *mode = json_string_value(json_object_get(engine->start, "baseline"));
    engine->baselines = baselines_new(engine, mode ? mode : "off");
    uv_timer_init(loop, &engine->tick);
    engine->tick.data = engine;
    uv_timer_start(&engine->tick, turn, TICK_MS, TICK_MS);
    tell_job(engine, "running");
    if (options->takes_over)
        engine_problem(engine, "engine", "an engine took over from one that ended: what was told in between is missing", NULL);
    *ret = engine;
    return 0;
}

void engine_run(struct engine *engine) {
    uv_run(engine->loop, UV_RUN_DEFAULT); /* until every handle is closed and every write is done */
}

void engine_free(struct engine *engine) {
    if (!engine) return;
    hub_free(engine->hub);
    command_end(engine);
    baselines_free(engine->baselines);
    findings_free(engine->findings);
    proposer_free(engine->proposer);
    page_close(engine->page);
    store_free(engine->store);
    viewers_free(engine->viewers);
    stalled_end(engine);
    bridges_free(engine);
    compilers_free(engine);
    json_decref(engine->start);
    buf_done(&engine->line);
    if (engine->job_fd >= 0) close(engine->job_fd);
    if (engine->lock >= 0) close(engine->lock);
    free(engine);
}

const struct store *engine_store(const struct engine *engine) {
    return engine->store;
}
