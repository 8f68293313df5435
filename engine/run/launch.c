/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/run/descriptors.h"
#include "engine/base/banned.h"

/* An exec takes a millisecond; a machine that needs longer than this is told that all is well. */
enum { EXEC_MS = 1000 };

/* ---- the engine ---- */

static void default_signals(void) {
    sigset_t none;
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_engine(const struct launch_engine *what, const int *keep,
                                    size_t keep_count, int report) {
    setsid();
    descriptors_to_null(0, what->keep_stdout ? 0 : 1);
    descriptors_close_others(3, keep, keep_count);
    for (int fd = 0; fd <= 2; fd++) descriptor_survive_exec(fd);
    for (size_t i = 0; i < what->keep_count; i++) descriptor_survive_exec(what->keep_fds[i]);
    default_signals();
    execv("/proc/self/exe", what->argv);
    int number = errno;
    (void)!write(report, &number, sizeof number); /* the front may be gone */
    _exit(127);
}

/* Returns errno, 0 when the engine runs. */
static int wait_for_exec(int report) {
    int number = 0;
    struct pollfd polled = {report, POLLIN, 0};
    if (poll(&polled, 1, EXEC_MS) <= 0) return 0;
    return read(report, &number, sizeof number) == sizeof number ? number : 0;
}

static pid_t fork_engine(const struct launch_engine *what, int report) {
    size_t count = what->keep_count;
    int *keep = mem_array(count + 1, sizeof *keep);
    if (count) memcpy(keep, what->keep_fds, count * sizeof *keep);
    keep[count] = report;
    pid_t pid = fork();
    if (pid == 0) become_engine(what, keep, count + 1, report);
    free(keep);
    return pid;
}

pid_t launch_engine(const struct launch_engine *what, struct err *err) {
    int report[2];
    if (pipe2(report, O_CLOEXEC)) {
        err_set_errno(err, errno, "could not start the engine");
        return -1;
    }
    pid_t pid = fork_engine(what, report[1]);
    int number = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) number = wait_for_exec(report[0]);
    close(report[0]);
    if (number == 0) return pid;
    if (pid > 0) waitpid(pid, NULL, 0);
    err_set_errno(err, number, "could not start the engine");
    return -1;
}

/* ---- the job's environment ---- */

static bool is_variable(const char *entry, const char *name) {
    return has_prefix(entry, name) && entry[strlen(name)] == '=';
}

/* An empty PYTHONPATH is none; an empty entry in it would be the current folder. */
static char *python_path(const char *support_dir) {
    char *site = mem_printf("%s/site", support_dir);
    const char *old = getenv("PYTHONPATH");
    size_t size = strlen(site);
    bool is_there = old && has_prefix(old, site) && (old[size] == ':' || !old[size]);
    char *text = is_there      ? mem_printf("PYTHONPATH=%s", old)
                 : old && *old ? mem_printf("PYTHONPATH=%s:%s", site, old)
                               : mem_printf("PYTHONPATH=%s", site);
    free(site);
    return text;
}

char **launch_environment(const char *support_dir, const char *session_dir) {
    char *path = python_path(support_dir);
    char *session = mem_printf("INDUCTOP_SESSION=%s", session_dir);
    size_t count = 0, used = 0, path_size = strlen(path) + 1, session_size = strlen(session) + 1;
    while (environ[count]) count++;
    char **all = mem_new((count + 3) * sizeof *all + path_size + session_size);
    char *text = (char *)(all + count + 3);
    for (size_t i = 0; i < count; i++)
        if (!is_variable(environ[i], "PYTHONPATH") && !is_variable(environ[i], "INDUCTOP_SESSION"))
            all[used++] = environ[i];
    all[used++] = memcpy(text, path, path_size);
    all[used++] = memcpy(text + path_size, session, session_size);
    free(path);
    free(session);
    return all;
}

/* ---- the support folder ---- */

static char *folder_of_program(struct err *err) {
    char path[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    if (size <= 0) {
        err_set_errno(err, errno, "could not find the program's own folder");
        return NULL;
    }
    path[size] = 0;
    char *slash = strrchr(path, '/');
    return mem_strndup(path, slash ? (size_t)(slash - path) : 0);
}

int launch_support_dir(char **ret, struct err *err) {
    static const char *const places[] = {"lib/inductop", "../lib/inductop"};
    CLEANUP(cleanup_free) char *folder = folder_of_program(err);
    if (!folder) return -(int)ERR_SYSTEM;
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        CLEANUP(cleanup_free) char *near = mem_printf("%s/%s", folder, places[i]);
        CLEANUP(cleanup_free) char *real = realpath(near, NULL);
        if (!real) continue;
        if (strchr(real, ':'))
            return err_set(err, ERR_INVALID,
                           "folder '%s' cannot stand on PYTHONPATH: it has a colon in its name",
                           real);
        *ret = TAKE(real);
        return 0;
    }
    err_set(err, ERR_MISSING, "could not find folder 'lib/inductop' beside '%s'", folder);
    err_hint(err, "Build it again, or install the program together with its lib folder.");
    return -(int)ERR_MISSING;
}
