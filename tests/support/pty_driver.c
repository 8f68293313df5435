/* A front on a keeper with a pty, without the rest of inductop; and a viewer of a job's terminal.
 *
 *   pty_driver [--session DIR] [--output FILE] [--engine BEHAVIOUR] [--keep FD] -- COMMAND...
 *   pty_driver --view DIR
 *   pty_driver --has-terminal
 *
 * The front passes signals on, detaches on SIGHUP and, as by a quit key, on SIGRTMIN+6, and ends as
 * the job ends; where there is no terminal to be had it says so and runs the job headless. Its
 * engine: none (default), quiet (ends with the job), dies, late (says a line in DIR/late 300 ms
 * after the job), report (what it was given, to DIR/report), fails (cannot be started).
 *
 * The viewer is in charge: what comes from stdin it types, the job's output goes to stdout, skipped
 * bytes as "[N skipped]". It connects again when the connection ends, until the job is over, and
 * then ends with the job's exit code. The last one says whether a screen would make sense.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/run/launch.h"
#include "engine/run/pty.h"
#include "engine/run/terminal_output.h"
#include "engine/run/terminal_view.h"
#include "engine/base/banned.h"

enum { LATE_MS = 300, ENGINE_MS = 5000 };

struct driver {
    const char *session, *output, *behaviour, *view;
    int keep_fd; /* -1: none */
};

/* ---- the engine ---- */

static void report_descriptors(FILE *out) {
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *entry; (entry = readdir(fds));) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        char path[64], target[256] = "";
        if (entry->d_name[0] == '.' || fd == fileno(out) || fd == dirfd(fds)) continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof target - 1) > 0) fprintf(out, "fd %d %s\n", fd, target);
    }
    closedir(fds);
}

static void write_file(const char *session, const char *name, void (*write_to)(FILE *out)) {
    char path[512], made[520];
    snprintf(path, sizeof path, "%s/%s", session, name);
    snprintf(made, sizeof made, "%s.tmp", path);
    FILE *out = fopen(made, "we");
    write_to(out);
    fclose(out);
    rename(made, path);
}

static void report_end(FILE *out) {
    fputs("the last line\n", out);
}

static int engine_main(const char *session, pid_t job, const char *behaviour) {
    signal(SIGPIPE, SIG_IGN);
    if (!strcmp(behaviour, "dies")) return 3;
    if (!strcmp(behaviour, "report")) write_file(session, "report", report_descriptors);
    int fd = (int)syscall(SYS_pidfd_open, job, 0);
    if (fd >= 0) poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1); /* else it has ended already */
    if (!strcmp(behaviour, "late")) {
        poll(NULL, 0, LATE_MS);
        write_file(session, "late", report_end);
    }
    return 0;
}

static pid_t start_engine(void *ctx, pid_t job) {
    const struct driver *driver = ctx;
    char job_text[24];
    snprintf(job_text, sizeof job_text, "%d", (int)job);
    char *argv[] = {(char *)"inductop", (char *)"engine-process",  (char *)driver->session,
                    job_text,           (char *)driver->behaviour, NULL};
    struct launch_engine what = {
        .argv = argv, .keep_fds = &driver->keep_fd, .keep_count = driver->keep_fd >= 0};
    struct err err;
    if (!strcmp(driver->behaviour, "fails")) {
        keeper_say(
            "could not start the engine: it was told to fail: the job runs without inductop");
        return -1;
    }
    pid_t pid = launch_engine(&what, &err);
    if (pid < 0) keeper_say("%s: the job runs without inductop", err.message);
    return pid;
}

/* ---- the front ---- */

static int signals_fd(void) {
    sigset_t all;
    sigfillset(&all);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void take_signals(struct keeper_link *link, int signals) {
    struct signalfd_siginfo got;
    while (read(signals, &got, sizeof got) == sizeof got) {
        int number = (int)got.ssi_signo;
        if (number == SIGHUP || number == SIGRTMIN + 6)
            keeper_link_end(link, number == SIGHUP ? SIGHUP : 0);
        if (number == SIGCHLD) keeper_link_reap(link);
        if (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGUSR1 ||
            number == SIGUSR2)
            keeper_link_signal(link, number);
    }
}

static _Noreturn void follow(struct keeper_link *link) {
    struct pollfd polled[] = {{link->fd, POLLIN, 0}, {signals_fd(), POLLIN, 0}};
    while (!link->over) {
        poll(polled, ARRAY_SIZE(polled), -1);
        keeper_link_read(link);
        take_signals(link, polled[1].fd);
    }
    while (!link->engine_over && poll(polled, 1, ENGINE_MS) > 0) keeper_link_read(link);
    keeper_link_end(link, 0);
}

static int run(struct driver *driver, char **command) {
    struct keeper_job job = {.argv = command,
                             .envp = environ,
                             .session_fd = -1,
                             .ctx = driver,
                             .keep_fds = &driver->keep_fd,
                             .keep_count = driver->keep_fd >= 0};
    struct keeper_link link;
    struct err err;
    mkdir(driver->session, 0700);
    job.session_fd = open(driver->session, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (strcmp(driver->behaviour, "none") != 0) job.start_engine = start_engine;
    struct keeper_pty what = {&job, -1};
    if (driver->output && (what.output_fd = terminal_output_open_file(driver->output, &err)) < 0) {
        keeper_say("%s", err.message);
        return KEEPER_FAULT;
    }
    if (!keeper_pty_start(&what, &link, &err)) follow(&link);
    keeper_say("%s: no screen", err.message);
    keeper_run_headless(&job);
}

/* ---- the viewer ---- */

static void print(void *ctx, const char *bytes, size_t size) {
    (void)ctx;
    fwrite(bytes, 1, size, stdout);
    fflush(stdout);
}

static void print_skipped(void *ctx, uint64_t bytes) {
    (void)ctx;
    printf("[%" PRIu64 " skipped]", bytes);
}

/* What could not be sent waits for the next connection. */
struct typing {
    char keys[64];
    size_t size;
    bool is_over;
};

static void type(struct typing *typing, struct terminal_view *view) {
    if (typing->size == 0) {
        ssize_t size = read(STDIN_FILENO, typing->keys, sizeof typing->keys);
        typing->is_over = size <= 0;
        typing->size = size > 0 ? (size_t)size : 0;
    }
    if (terminal_view_type(view, typing->keys, typing->size)) typing->size = 0;
}

static int view(const char *session) {
    static const struct terminal_view_calls calls = {.output = print, .skipped = print_skipped};
    struct terminal_view view = TERMINAL_VIEW_INIT;
    int session_fd = open(session, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct pollfd polled[] = {{STDIN_FILENO, POLLIN, 0}, {-1, POLLIN, 0}};
    struct typing typing = {.size = 0};
    struct err err;
    while (!view.over) {
        if (view.fd < 0) {
            if (terminal_view_open(&view, session_fd, &err)) {
                fprintf(stderr, "inductop: %s\n", err.message);
                return KEEPER_FAULT;
            }
            terminal_view_take_charge(&view);
        }
        polled[0].fd = typing.is_over ? -1 : STDIN_FILENO;
        polled[1].fd = view.fd;
        poll(polled, ARRAY_SIZE(polled), -1);
        if (polled[1].revents && !terminal_view_read(&view, &calls, NULL)) continue;
        if (polled[0].revents || typing.size) type(&typing, &view);
    }
    return WIFEXITED(view.status) ? WEXITSTATUS(view.status) : 128 + WTERMSIG(view.status);
}

static int usage(void) {
    dprintf(2, "usage: pty_driver --session DIR [--output FILE] [--engine BEHAVIOUR] -- "
               "COMMAND..., or --view DIR\n");
    return KEEPER_FAULT;
}

int main(int argc, char **argv) {
    keeper_begin();
    if (argc > 4 && !strcmp(argv[1], "engine-process"))
        return engine_main(argv[2], (pid_t)strtol(argv[3], NULL, 10), argv[4]);
    if (argc == 2 && !strcmp(argv[1], "--has-terminal")) return keeper_has_terminal() ? 0 : 1;
    struct driver driver = {.behaviour = "none", .keep_fd = -1};
    int at = 1;
    for (; at + 1 < argc && strcmp(argv[at], "--") != 0; at += 2) {
        if (!strcmp(argv[at], "--session"))
            driver.session = argv[at + 1];
        else if (!strcmp(argv[at], "--output"))
            driver.output = argv[at + 1];
        else if (!strcmp(argv[at], "--engine"))
            driver.behaviour = argv[at + 1];
        else if (!strcmp(argv[at], "--view"))
            driver.view = argv[at + 1];
        else if (!strcmp(argv[at], "--keep"))
            driver.keep_fd = (int)strtol(argv[at + 1], NULL, 10);
        else
            return usage();
    }
    if (driver.view) return view(driver.view);
    return driver.session && at + 1 < argc ? run(&driver, argv + at + 1) : usage();
}
