/* The front without the rest of inductop, with an engine that can be told to misbehave.
 *
 *   front_driver [--session DIR] [--engine BEHAVIOUR] [--inject SUPPORT] [--keep-stdout] [--keep
 * FD] -- COMMAND...
 *
 * Without --session the job runs bare. BEHAVIOUR: none, quiet (default; ends with the job),
 * summary, loud (1 MiB of last lines), dies, hangs (stays when the job has ended), report (what it
 * was given, to the file DIR/report), fails (cannot be started).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/run/keeper.h"
#include "engine/run/launch.h"
#include "engine/base/banned.h"

struct driver {
    const char *session, *behaviour, *support;
    bool keep_stdout;
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

static void report_state(const char *session) {
    char path[512], line[256];
    snprintf(path, sizeof path, "%s/report", session);
    FILE *out = fopen(path, "we");
    report_descriptors(out);
    fprintf(out, "sid %d pid %d parent %d\n", (int)getsid(0), (int)getpid(), (int)getppid());
    FILE *status = fopen("/proc/self/status", "re");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "Sig", 3)) fputs(line, out);
    fclose(status);
    fputs("end\n", out);
    fclose(out);
}

static int engine_main(const char *session, pid_t job, const char *behaviour) {
    if (!strcmp(behaviour, "dies")) return 3;
    if (!strcmp(behaviour, "report")) report_state(session);
    int fd = (int)syscall(SYS_pidfd_open, job, 0);
    if (fd >= 0) poll(&(struct pollfd){fd, POLLIN, 0}, 1, -1); /* else it has ended already */
    if (!strcmp(behaviour, "hangs")) pause();
    if (!strcmp(behaviour, "summary")) dprintf(2, "inductop: the summary\n");
    bool loud = !strcmp(behaviour, "loud");
    for (int i = 0; loud && i < 1 << 14; i++)
        dprintf(2, "inductop: a line of 64 bytes that nobody may want to read, ever.\n");
    if (loud) dprintf(2, "inductop: the last line\n");
    return 0;
}

/* ---- the front ---- */

static pid_t start_engine(void *ctx, pid_t job) {
    const struct driver *driver = ctx;
    char job_text[24];
    snprintf(job_text, sizeof job_text, "%d", (int)job);
    char *argv[] = {(char *)"inductop", (char *)"engine-process",  (char *)driver->session,
                    job_text,           (char *)driver->behaviour, NULL};
    struct launch_engine what = {.argv = argv,
                                 .keep_fds = &driver->keep_fd,
                                 .keep_count = driver->keep_fd >= 0,
                                 .keep_stdout = driver->keep_stdout};
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

static int usage(void) {
    dprintf(2, "usage: front_driver [--session DIR] [--engine BEHAVIOUR] [--inject SUPPORT] -- "
               "COMMAND...\n");
    return KEEPER_FAULT;
}

static int read_options(struct driver *driver, int argc, char **argv) {
    int at = 1;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        const char *value = at + 1 < argc ? argv[at + 1] : NULL;
        if (!strcmp(argv[at], "--keep-stdout")) {
            driver->keep_stdout = true;
            continue;
        }
        if (!value) return -1;
        if (!strcmp(argv[at], "--session"))
            driver->session = value;
        else if (!strcmp(argv[at], "--engine"))
            driver->behaviour = value;
        else if (!strcmp(argv[at], "--inject"))
            driver->support = value;
        else if (!strcmp(argv[at], "--keep"))
            driver->keep_fd = (int)strtol(value, NULL, 10);
        else
            return -1;
        at++;
    }
    return at + 1 < argc ? at + 1 : -1;
}

int main(int argc, char **argv) {
    keeper_begin();
    if (argc > 4 && !strcmp(argv[1], "engine-process"))
        return engine_main(argv[2], (pid_t)strtol(argv[3], NULL, 10), argv[4]);
    struct driver driver = {.behaviour = "quiet", .keep_fd = -1};
    int command = read_options(&driver, argc, argv);
    if (command < 0) return usage();
    struct keeper_job job = {.argv = argv + command,
                             .envp = environ,
                             .session_fd = -1,
                             .ctx = &driver,
                             .keep_fds = &driver.keep_fd,
                             .keep_count = driver.keep_fd >= 0};
    if (driver.support)
        job.envp = launch_environment(driver.support, driver.session ? driver.session : "");
    if (driver.session) {
        mkdir(driver.session, 0700);
        job.session_fd = open(driver.session, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    }
    if (strcmp(driver.behaviour, "none") != 0) job.start_engine = start_engine;
    keeper_run_headless(&job);
}
