/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/banned.h"

enum { ROOM = 32 };

int exit_file_reserve(struct exit_file *ret, int session_fd) {
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
    *ret = (struct exit_file){session_fd, openat(session_fd, "exit.tmp", flags, 0600)};
    if (ret->fd < 0) return -1;
    unlinkat(session_fd, "exit", 0);
    flock(ret->fd, LOCK_EX | LOCK_NB); /* where locks do not work nobody learns from one */
    if (pwrite(ret->fd, (char[ROOM]){0}, ROOM, 0) == ROOM) return 0;
    int number = errno;
    unlinkat(session_fd, "exit.tmp", 0);
    close(ret->fd);
    ret->fd = -1;
    errno = number;
    return -1;
}

int exit_file_write(const struct exit_file *file, int status) {
    char text[ROOM];
    int size = WIFSIGNALED(status) ? snprintf(text, sizeof text, "signal %d\n", WTERMSIG(status))
                                   : snprintf(text, sizeof text, "exit %d\n", WEXITSTATUS(status));
    if (pwrite(file->fd, text, (size_t)size, 0) != size || ftruncate(file->fd, size)) return -1;
    return renameat(file->session_fd, "exit.tmp", file->session_fd, "exit");
}

_Noreturn void end_as(int status) {
    if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
    int number = WTERMSIG(status);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    prctl(PR_SET_DUMPABLE, 0);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    kill(getpid(), number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + number);
}
