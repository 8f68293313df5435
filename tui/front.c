/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/front.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/clock.h"
#include "engine/cli/engine_process.h"
#include "engine/feed.h"
#include "engine/job_terminal.h"
#include "engine/support.h"
#include "tui/app.h"
#include "tui/farewell.h"
#include "tui/screen.h"
#include "tui/text.h"
#include "engine/base/banned.h"

enum {
    LAST_LINES = 20,
    COLUMNS = 200,
    ROWS = 50,
    TURN_MS = 5,
    OUTPUT_MS = 500,  /* for output that is still on its way behind the end of the job */
    ENGINE_MS = 5000, /* for the engine, which writes files that a script may read next */
};

static const int passed[] = {SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};

struct front {
    const struct run_front *run;
    uv_loop_t loop;
    struct feed *feed;
    struct app *app;
    struct job_terminal *terminal;
    struct text *last; /* what the job wrote, for after the screen */
    uv_poll_t link;
    uv_signal_t signals[ARRAY_SIZE(passed)];
    bool changed, is_plain; /* plain: without a screen */
};

/* ---- what the job writes ---- */

static void on_output(void *ctx, const char *bytes, size_t size) {
    struct front *front = ctx;
    front->changed = true;
    text_feed(front->last, bytes, size);
    if (!front->run->link->over) app_output(front->app, bytes, size);
    for (size_t at = 0; front->is_plain && at < size;) {
        ssize_t count = write(STDOUT_FILENO, bytes + at, size - at);
        if (count < 0 && errno != EINTR) return;
        at += count > 0 ? (size_t)count : 0;
    }
}

static void on_skipped(void *ctx, uint64_t bytes) {
    char text[80];
    int size = snprintf(text, sizeof text, "\r\n[%llu bytes of output are in the file only]\r\n",
                        (unsigned long long)bytes);
    on_output(ctx, text, (size_t)size);
}

typedef bool is_there(const struct front *front);

/* Runs the loop until it is there. */
static bool wait_for(struct front *front, is_there *condition, uint64_t bound_ms) {
    uint64_t end_ns = clock_now_ns() + bound_ms * 1000000;
    for (;;) {
        front->changed = false;
        uv_run(&front->loop, UV_RUN_NOWAIT);
        if (front->terminal) job_terminal_read(front->terminal);
        if (condition(front)) return true;
        if (clock_now_ns() >= end_ns) return false;
        if (!front->changed) uv_sleep(TURN_MS);
    }
}

static bool is_output_there(const struct front *front) {
    return is_job_terminal_over(front->terminal);
}

static bool is_engine_done(const struct front *front) {
    return front->run->link->engine_over && feed_facts(front->feed).state == SOURCE_ENDED;
}

/* Behind the end of the job some of its output may still be on its way to us, more than we can read
 * in time; and of a job that was over at once nobody keeps the terminal any more. What was saved is
 * complete. */
static void take_rest(struct front *front) {
    const char *path = option_text(front->run->options, OPTION_OUTPUT);
    struct text *saved = text_new(COLUMNS, ROWS);
    bool is_complete = front->terminal && wait_for(front, is_output_there, OUTPUT_MS);
    if (!is_complete && farewell_saved(front->run->session, path, saved)) {
        text_free(front->last);
        front->last = saved;
    } else
        text_free(saved);
}

/* The last lines, without colours, as they would stand here without us. */
static void print_last(const struct front *front) {
    uint64_t end = text_end(front->last), first = text_first(front->last);
    CLEANUP(buf_done) struct buf line = BUF_INIT;
    if (end > first && text_columns(front->last, end - 1) == 0) end--;
    if (end - first > LAST_LINES) first = end - LAST_LINES;
    for (uint64_t i = first; i < end; i++) {
        buf_clear(&line);
        text_plain(front->last, i, &line);
        printf("%s\n", buf_text(&line));
    }
    fflush(stdout);
}

/* ---- the job and signals ---- */

static void on_link(uv_poll_t *poll, int status, int events) {
    struct front *front = poll->data;
    (void)status, (void)events;
    front->changed = keeper_link_read(front->run->link) || front->changed;
    if (front->run->link->fd < 0) uv_poll_stop(poll);
    if (front->run->link->over) uv_stop(&front->loop);
}

static void on_signal(uv_signal_t *handle, int number) {
    struct front *front = handle->data;
    if (number == SIGCHLD)
        keeper_link_reap(front->run->link);
    else
        keeper_link_signal(front->run->link, number);
}

static void let_signals_through(void *ctx) {
    (void)ctx;
    keeper_link_unblock_signals();
}

static void start(struct front *front) {
    uv_loop_init(&front->loop);
    uv_poll_init(&front->loop, &front->link, front->run->link->fd);
    front->link.data = front;
    uv_poll_start(&front->link, UV_READABLE, on_link);
    for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
        uv_signal_init(&front->loop, &front->signals[i]);
        front->signals[i].data = front;
        uv_signal_start(&front->signals[i], on_signal, passed[i]);
    }
}

static void stop(struct front *front) {
    uv_close((uv_handle_t *)&front->link, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(passed); i++)
        uv_close((uv_handle_t *)&front->signals[i], NULL);
}

static void on_change(void *ctx) {
    ((struct front *)ctx)->changed = true;
}

static void open_app(struct front *front, const char *support) {
    const struct session *session = front->run->session;
    front->feed = feed_attach(&(struct feed_options){.loop = &front->loop,
                                                     .session = session,
                                                     .start_engine = engine_process_start,
                                                     .changed = on_change,
                                                     .ctx = front});
    front->app = app_new(&(struct app_options){
        .feed = front->feed, .support = support, .is_front = true, .has_taste = true});
    front->terminal = job_terminal_open(&(struct job_terminal_options){.loop = &front->loop,
                                                                       .session = session,
                                                                       .output = on_output,
                                                                       .skipped = on_skipped,
                                                                       .ctx = front});
    if (front->terminal) job_terminal_take_charge(front->terminal);
    app_set_terminal(front->app, front->terminal);
}

/* No screen after all: as a pipe would do it. */
static void go_on_plain(struct front *front, const struct err *err) {
    fprintf(stderr, "inductop: %s: the output stands here\n", err->message);
    front->is_plain = true;
    if (front->terminal) job_terminal_resize(front->terminal, 24, 80);
    let_signals_through(NULL);
    while (!front->run->link->over) uv_run(&front->loop, UV_RUN_ONCE);
}

static int show(struct front *front) {
    const struct options *options = front->run->options;
    struct err err = {.hint = ""};
    int number = 0;
    struct screen_options screen = {.loop = &front->loop,
                                    .app = front->app,
                                    .changed = &front->changed,
                                    .refresh_ms = option_number(options, OPTION_REFRESH),
                                    .is_front = true,
                                    .ready = let_signals_through,
                                    .term = {.ascii = is_option_given(options, OPTION_ASCII),
                                             .no_color = is_option_given(options, OPTION_NO_COLOR),
                                             .theme = -1}};
    if (screen_run(&screen, &number, &err)) go_on_plain(front, &err);
    return number;
}

/* The job's last words at once, then the figures: the engine may still be writing them. */
static void say_how_it_ended(struct front *front) {
    const char *dir = front->run->session->dir;
    bool is_quiet = is_option_given(front->run->options, OPTION_QUIET);
    take_rest(front);
    if (!front->is_plain || !front->terminal) print_last(front);
    bool is_done = wait_for(front, is_engine_done, ENGINE_MS);
    if (!is_quiet) farewell_summary(front->feed);
    if (!is_done)
        fprintf(stderr, "inductop: the engine has not ended: files may lack their last lines\n");
    else if (!is_quiet)
        fprintf(stderr, "inductop: 'inductop replay %s/tape.jsonl' shows it again\n", dir);
}

static void say_that_it_goes_on(const struct front *front) {
    if (!is_option_given(front->run->options, OPTION_QUIET)) farewell_summary(front->feed);
    farewell_attach(front->run->session->name);
}

int front_screen(const struct run_front *run) {
    struct front front = {.run = run, .changed = true};
    CLEANUP(cleanup_free) char *support = support_folder();
    if (run->link->exec_error) { /* the command could not be run */
        keeper_link_unblock_signals();
        return 0;
    }
    start(&front);
    front.last = text_new(COLUMNS, ROWS);
    open_app(&front, support);
    int hangup = 0;
    if (run->link->over)
        keeper_link_unblock_signals();
    else
        hangup = show(&front);
    if (!hangup && front.run->link->over)
        say_how_it_ended(&front);
    else if (!hangup)
        say_that_it_goes_on(&front);
    app_free(front.app);
    job_terminal_close(front.terminal);
    feed_free(front.feed);
    stop(&front);
    text_free(front.last);
    uv_run(&front.loop, UV_RUN_NOWAIT);
    uv_loop_close(&front.loop);
    return hangup;
}
