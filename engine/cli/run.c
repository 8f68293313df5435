/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/event/event.h"
#include "engine/run/keeper.h"
#include "engine/run/launch.h"
#include "engine/run/session.h"
#include "engine/run/terminal_output.h"
#include "engine/setup/plan.h"
#include "engine/setup/preset.h"
#include "engine/wire/page.h"
#include "engine/base/banned.h"

struct run {
    const struct options *options;
    char *const *command;
    struct plan plan;
    struct session session;
    char *support;
    int json_fd, record_fd, output_fd; /* -1: not wanted */
    bool has_screen;
    bool json_is_stdout;
};

static int complain(const struct err *err) {
    fprintf(stderr, "inductop: %s\n", err->message);
    if (err->hint[0]) fprintf(stderr, "inductop: %s\n", err->hint);
    return KEEPER_FAULT;
}

/* ---- what is known before the start */

static int add_presets(struct run *run, struct err *err) {
    size_t count;
    const char *const *names = option_list(run->options, OPTION_PRESET, &count);
    for (size_t i = 0; i < count; i++) {
        struct preset preset = PRESET_INIT;
        int rc = preset_load(names[i], run->support, &preset, err);
        if (rc == 0) rc = plan_add(&run->plan, 0, PLAN_SET, &preset.settings, err);
        preset_done(&preset);
        if (rc) return rc;
    }
    return 0;
}

static int make_plan(struct run *run, struct err *err) {
    size_t count;
    int rc = add_presets(run, err);
    const char *const *texts = option_list(run->options, OPTION_SET, &count);
    for (size_t i = 0; i < count && !rc; i++) rc = plan_parse_set(&run->plan, texts[i], err);
    texts = option_list(run->options, OPTION_AT, &count);
    for (size_t i = 0; i < count && !rc; i++) rc = plan_parse_at(&run->plan, texts[i], err);
    if (rc == 0 && run->plan.count && is_option_given(run->options, OPTION_READONLY))
        return err_set(err, ERR_USAGE, "--readonly does not go together with --preset, --set or --at");
    return rc ? rc : plan_check(&run->plan, err);
}

static int open_output(const char *path, const char *option, int *ret_fd, struct err *err) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0) return err_set_errno(err, errno, "could not open the file of --%s '%s'", option, path);
    *ret_fd = fd;
    return 0;
}

static int open_outputs(struct run *run, struct err *err) {
    const char *output = option_text(run->options, OPTION_OUTPUT);
    if (output && !run->has_screen)
        return err_set(err, ERR_USAGE, "--output needs the screen: without one the job's output goes where you send it");
    if (output && (run->output_fd = terminal_output_open_file(output, err)) < 0) return -ERR_SYSTEM;
    const char *json = option_text(run->options, OPTION_JSON), *record = option_text(run->options, OPTION_RECORD);
    run->json_is_stdout = json && strcmp(json, "-") == 0;
    int rc = json && !run->json_is_stdout ? open_output(json, "json", &run->json_fd, err) : 0;
    if (rc == 0 && record) rc = open_output(record, "record", &run->record_fd, err);
    return rc;
}

/* ---- start.json */

static json_t *plan_json(const struct plan *plan) {
    json_t *list = json_array();
    for (size_t i = 0; i < plan->count; i++) {
        json_t *settings = json_object();
        const struct settings *change = &plan->entries[i].change;
        for (size_t k = 0; k < change->count; k++)
            json_object_set_new(settings, change->pairs[k].key, event_string(change->pairs[k].value));
        json_array_append_new(list, json_pack("{sI ss so}", "step", (json_int_t)plan->entries[i].step, "by",
                                              plan_by_name(plan->entries[i].by), "settings", settings));
    }
    return list;
}

static int write_start(struct run *run, struct err *err) {
    char date[32];
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *words = json_array();
    for (int i = 0; run->command[i]; i++) json_array_append_new(words, event_string(run->command[i]));
    json_t *start = json_pack(
        "{si ss ss sI s[iI] so sb ss ss ss so}", "v", 1, "name", run->session.name, "start", date, "start_ns",
        (json_int_t)clock_now_ns(), "front", (int)getpid(), (json_int_t)process_start(getpid()), "command", words, "readonly",
        is_option_given(run->options, OPTION_READONLY), "baseline", option_text(run->options, OPTION_BASELINE), "bridge",
        option_text(run->options, OPTION_BRIDGE), "collectives", option_text(run->options, OPTION_COLLECTIVES), "plan",
        plan_json(&run->plan));
    CLEANUP(cleanup_free) char *text = json_dumps(start, JSON_COMPACT);
    json_decref(start);
    if (!text) return err_set(err, ERR_INVALID, "the command line cannot be written as JSON");
    return session_write(&run->session, "start.json", text, strlen(text), err);
}

/* ---- the session, its page, its engine */

static int make_session(struct run *run, struct err *err) {
    int rc = session_create(&run->session, option_text(run->options, OPTION_NAME), run->command, err);
    if (rc) return rc;
    struct page *page = NULL;
    CLEANUP(cleanup_free) char *path = session_path(&run->session, "page");
    rc = page_open(path, &page, err);
    page_close(page);
    return rc ? rc : write_start(run, err);
}

static pid_t start_engine(void *ctx, pid_t job) {
    struct run *run = ctx;
    char job_text[16], json_text[16], record_text[16], lines_text[16];
    snprintf(job_text, sizeof job_text, "%d", (int)job);
    snprintf(json_text, sizeof json_text, "%d", run->json_is_stdout ? 1 : run->json_fd);
    snprintf(record_text, sizeof record_text, "%d", run->record_fd);
    bool is_silent = run->has_screen || is_option_given(run->options, OPTION_QUIET);
    snprintf(lines_text, sizeof lines_text, "%d", is_silent ? -1 : 2);
    char *argv[] = {"inductop", "engine-process", run->session.name, job_text, json_text, record_text, lines_text, NULL};
    int keep[2], count = 0;
    if (run->json_fd >= 0) keep[count++] = run->json_fd;
    if (run->record_fd >= 0) keep[count++] = run->record_fd;
    struct err err;
    pid_t engine = launch_engine(&(struct launch_engine){.argv = argv, .keep_fds = keep, .keep_count = (size_t)count,
                                                         .keep_stdout = run->json_is_stdout}, &err);
    if (engine < 0) keeper_say("%s: no figures for this job", err.message);
    return engine;
}

/* Returns only when nothing was started. */
static void keep_on_screen(struct run *run, const struct keeper_job *job, run_screen *screen) {
    struct keeper_link link;
    struct err err;
    if (keeper_pty_start(&(struct keeper_pty){job, run->output_fd}, &link, &err)) {
        keeper_say("%s: no screen", err.message);
        return;
    }
    if (run->output_fd >= 0) close(run->output_fd);
    int hangup = screen(&(struct run_front){run->options, &run->session, &link});
    keeper_link_end(&link, hangup);
}

static _Noreturn void keep(struct run *run, run_screen *screen) {
    char **environment = launch_environment(run->support, run->session.dir);
    int fds[] = {run->json_fd, run->record_fd};
    const struct keeper_job job = {.argv = run->command, .envp = environment, .session_fd = run->session.fd, .keep_fds = fds,
                                   .keep_count = ARRAY_SIZE(fds), .start_engine = start_engine, .ctx = run};
    if (run->has_screen) keep_on_screen(run, &job, screen);
    run->has_screen = false;
    keeper_run_headless(&job);
}

/* JSON on stdout and a screen do not go together. */
static bool wants_screen(const struct options *options, run_screen *screen) {
    const char *json = option_text(options, OPTION_JSON), *terminal = getenv("TERM");
    if (!screen || is_option_given(options, OPTION_HEADLESS) || (json && strcmp(json, "-") == 0)) return false;
    return terminal && *terminal && strcmp(terminal, "dumb") != 0 && keeper_has_terminal();
}

int run_job(const struct options *options, char *const *command, run_screen *screen) {
    struct run run = {.options = options, .command = command, .json_fd = -1, .record_fd = -1, .output_fd = -1, .session.fd = -1};
    struct err err;
    run.has_screen = wants_screen(options, screen);
    if (launch_support_dir(&run.support, &err) || make_plan(&run, &err) || open_outputs(&run, &err)) {
        plan_done(&run.plan);
        return complain(&err);
    }
    if (make_session(&run, &err)) { /* the job comes first: without us, then */
        keeper_say("%s: the job runs without inductop", err.message);
        session_done(&run.session);
        run.session.fd = -1;
        keeper_run_headless(&(struct keeper_job){.argv = command, .session_fd = -1});
    }
    keep(&run, screen);
}

/* Without a screen, a tour: whole as the script has it, regional, regional with dynamic shapes, something that cannot act on a CPU,
 * and back. The first two are measured against eager. On a screen nothing turns by itself: a person does. */
static char *const tour[] = {"--baseline", "on", "--at", "330:scope=regional", "--at", "660:dynamic=on", "--at", "700:cudagraphs=on",
                             "--at", "720:as-written"};
static char *const screen_words[] = {"--baseline", "on"};

#define DEMO_STEPS "760"              /* the tour's */
#define DEMO_STEPS_ON_SCREEN "100000" /* until a person has seen enough */

static int run_demo_with(int argc, char **argv, char *const *words, size_t word_count, const char *steps, run_screen *screen) {
    struct options options;
    struct err err;
    int first = 0;
    CLEANUP(cleanup_free) char *support = NULL;
    if (launch_support_dir(&support, &err)) return complain(&err);
    CLEANUP(cleanup_free) char *script = mem_printf("%s/demo/train.py", support);
    char *command[] = {"python3", "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", script, "--steps", (char *)steps, NULL};
    CLEANUP(cleanup_free) char **all = mem_array(word_count + (size_t)argc + 1, sizeof *all);
    all[0] = argv[0];
    memcpy(all + 1, words, word_count * sizeof *words);
    for (int i = 1; i < argc; i++) all[word_count + (size_t)i] = argv[i];
    options_init(&options);
    int count = (int)word_count + argc;
    int rc = options_parse(count, all, &options, &first, &err);
    if (rc == 0 && first < count) rc = err_set(&err, ERR_USAGE, "the demo takes options only, not '%s'", all[first]);
    rc = rc ? complain(&err) : run_job(&options, command, screen);
    options_done(&options);
    return rc;
}

int run_demo(int argc, char **argv, run_screen *screen) {
    struct options options;
    int first = 0;
    options_init(&options);
    bool has_screen = options_parse(argc, argv, &options, &first, NULL) == 0 && wants_screen(&options, screen);
    options_done(&options);
    return has_screen ? run_demo_with(argc, argv, screen_words, ARRAY_SIZE(screen_words), DEMO_STEPS_ON_SCREEN, screen)
                      : run_demo_with(argc, argv, tour, ARRAY_SIZE(tour), DEMO_STEPS, screen);
}
