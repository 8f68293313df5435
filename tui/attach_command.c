/* SPDX-License-Identifier: Apache-2.0 */
#include "tui/attach_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "engine/base/attr.h"
#include "engine/cli/engine_process.h"
#include "engine/feed.h"
#include "engine/support.h"
#include "tui/app.h"
#include "tui/command.h"
#include "tui/farewell.h"
#include "tui/screen.h"
#include "tui/theme.h"
#include "engine/base/banned.h"

static const char usage[] =
    "usage: inductop attach [JOB] [--ascii] [--no-color] [--theme NAME] [--refresh MS]\n\n"
    "JOB is the name of a session; without it the newest job that runs. q leaves; the job goes "
    "on.\n";

struct attached {
    struct app *app;
    bool changed;
};

static void on_change(void *ctx) {
    ((struct attached *)ctx)->changed = true;
}

static void on_output(void *ctx, const char *bytes, size_t size) {
    on_change(ctx);
    app_output(((struct attached *)ctx)->app, bytes, size);
}

static void on_skipped(void *ctx, uint64_t bytes) {
    char text[80];
    int size = snprintf(text, sizeof text, "\r\n[%llu bytes of output are in the file only]\r\n",
                        (unsigned long long)bytes);
    on_output(ctx, text, (size_t)size);
}

/* What a person who has left should know. */
static void say_goodbye(const struct feed *feed, const char *name) {
    farewell_summary(feed);
    if (feed_facts(feed).state == SOURCE_ENDED)
        fprintf(stderr, "inductop: job '%s' has ended\n", name);
    else
        farewell_attach(name);
}

static int show(const struct session *session, const struct command_words *words, int theme,
                struct err *err) {
    uv_loop_t loop;
    struct attached attached = {.changed = true};
    int number = 0;
    CLEANUP(cleanup_free) char *support = support_folder();
    uv_loop_init(&loop);
    struct feed *feed = feed_attach(&(struct feed_options){.loop = &loop,
                                                           .session = session,
                                                           .is_attached = true,
                                                           .start_engine = engine_process_start,
                                                           .changed = on_change,
                                                           .ctx = &attached});
    struct app *app = app_new(&(struct app_options){
        .feed = feed, .support = support, .has_taste = true, .ink = words->ink});
    attached.app = app;
    struct job_terminal *terminal =
        job_terminal_open(&(struct job_terminal_options){.loop = &loop,
                                                         .session = session,
                                                         .output = on_output,
                                                         .skipped = on_skipped,
                                                         .ctx = &attached});
    app_set_terminal(app, terminal);
    struct screen_options options = {
        .loop = &loop,
        .app = app,
        .changed = &attached.changed,
        .refresh_ms = words->refresh_ms,
        .term = {.ascii = words->ascii, .no_color = words->no_color, .theme = theme}};
    int rc = screen_run(&options, &number, err);
    if (rc == 0 && number == 0) say_goodbye(feed, session->name);
    app_free(app);
    job_terminal_close(terminal);
    feed_free(feed);
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_loop_close(&loop);
    return rc ? rc : number ? 128 + number : 0;
}

int attach_command(int argc, char **argv) {
    struct command_words words;
    struct session session;
    struct err err = {.hint = ""};
    int theme = -1;
    if (command_parse(argc, argv, "theme chart ascii no-color refresh help", &words, &err))
        return command_complain(&err);
    if (words.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (words.theme && (theme = theme_find(words.theme)) < 0) {
        err_set(&err, ERR_USAGE, "theme '%s' is not known", words.theme);
        return command_complain(&err);
    }
    if (session_open(&session, words.argument, &err)) return command_complain(&err);
    int rc = show(&session, &words, theme, &err);
    session_done(&session);
    return rc < 0 ? command_complain(&err) : rc;
}
