/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cli/engine_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "engine/base/attr.h"
#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/cli/printer.h"
#include "engine/data/summary.h"
#include "engine/engine.h"
#include "engine/run/descriptors.h"
#include "engine/run/writer.h"
#include "engine/base/banned.h"

enum { SINK_COUNT = 3, TABLE_WIDTH = 100 };

/* One place where events go: as JSON lines (json, record) or as lines for people. */
struct outlet {
    struct writer writer;
    struct printer *printer; /* NULL: JSON */
    struct buf text;
};

static void put(struct outlet *outlet) {
    if (outlet->text.size) writer_add(&outlet->writer, outlet->text.data, outlet->text.size);
    buf_clear(&outlet->text);
}

static void write_json(void *ctx, const struct event *event) {
    struct outlet *outlet = ctx;
    event_print(event, &outlet->text);
    buf_puts(&outlet->text, "\n");
    put(outlet);
}

static void write_step(void *ctx, const struct step_record *record, int rank, uint64_t start_ns) {
    struct outlet *outlet = ctx;
    event_step_print(record, rank, start_ns, &outlet->text);
    buf_puts(&outlet->text, "\n");
    put(outlet);
}

static void write_lines(void *ctx, const struct event *event) {
    struct outlet *outlet = ctx;
    printer_event(outlet->printer, event, &outlet->text);
    put(outlet);
}

static void write_table(void *ctx, const struct store *store) {
    struct outlet *outlet = ctx;
    struct buf table = BUF_INIT;
    summary_table(store, &table, TABLE_WIDTH);
    printer_text(&outlet->text, buf_text(&table));
    buf_done(&table);
    put(outlet);
}

/* Signals that end a job (a service manager's, pkill's) are not for us: the job's end is, and then we sum up. A closed pipe is an
 * error of write(), not our end. */
static void settle_process(void) {
    static const int not_ours[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ};
    prctl(PR_SET_NAME, "inductop-engine");
    for (size_t i = 0; i < ARRAY_SIZE(not_ours); i++) signal(not_ours[i], SIG_IGN);
    if (chdir("/")) {} /* keeps no file system busy */
}

static int open_tape(const struct session *session) {
    return openat(session->fd, "tape.jsonl", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int serve(uv_loop_t *loop, const struct engine_options *options, int lines_fd) {
    struct engine *engine = NULL;
    struct err err;
    if (engine_new(loop, options, &engine, &err)) {
        if (lines_fd >= 0) dprintf(lines_fd, "inductop: no figures for this job: %s\n", err.message);
        return 125;
    }
    engine_run(engine);
    engine_free(engine);
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}

int engine_process_main(int argc, char **argv) {
    struct session session;
    struct err err;
    if (argc < 6) return 125;
    settle_process();
    if (session_open(&session, argv[1], &err)) return 125;
    uv_loop_t loop;
    uv_loop_init(&loop);
    int fds[SINK_COUNT] = {(int)strtol(argv[3], NULL, 10), (int)strtol(argv[4], NULL, 10), (int)strtol(argv[5], NULL, 10)};
    bool takes_over = argc > 6;
    if (fds[1] < 0) fds[1] = open_tape(&session);
    struct outlet outlets[SINK_COUNT] = {0};
    struct engine_sink sinks[SINK_COUNT];
    size_t count = 0;
    for (int i = 0; i < SINK_COUNT; i++) {
        if (fds[i] < 0) continue;
        descriptor_close_on_exec(fds[i]); /* a compiler of ours may outlive us */
        struct outlet *outlet = &outlets[i];
        writer_init(&outlet->writer, &loop, fds[i]);
        bool is_lines = i == SINK_COUNT - 1;
        if (is_lines) {
            outlet->printer = printer_new();
            writer_be_polite(&outlet->writer);
        }
        sinks[count++] = (struct engine_sink){.event = is_lines ? write_lines : write_json,
                                              .step = is_lines ? NULL : write_step,
                                              .ended = is_lines ? write_table : NULL, .ctx = outlet};
    }
    struct engine_options options = {.session = &session, .job = (pid_t)strtol(argv[2], NULL, 10), .sinks = sinks,
                                     .sink_count = count, .takes_over = takes_over};
    int rc = serve(&loop, &options, fds[2]);
    for (int i = 0; i < SINK_COUNT; i++) {
        writer_done(&outlets[i].writer);
        printer_free(outlets[i].printer);
        buf_done(&outlets[i].text);
    }
    uv_loop_close(&loop);
    session_done(&session);
    return rc;
}

int engine_process_start(const struct session *session, struct err *err) {
    pid_t child = fork();
    if (child < 0) return err_set_errno(err, errno, "could not start an engine");
    if (child) {
        waitpid(child, NULL, 0);
        return 0;
    }
    setsid();
    if (fork()) _exit(0); /* nobody's child: no zombie in who asked */
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) dup2(null, fd);
    close_range(3, ~0u, 0);
    execl("/proc/self/exe", "inductop", "engine-process", session->name, "0", "-1", "-1", "-1", "takes-over", (char *)NULL);
    _exit(125);
}
