/* The front's side of the link.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/run/ending.h"
#include "engine/run/job_exec.h"
#include "engine/run/pty.h"
#include "engine/run/pty_inside.h"
#include "engine/run/say.h"
#include "engine/base/banned.h"

/* For the keeper to end before us, so that nobody else has to wait for it; it stays longer when
 * somebody has the terminal open. */
enum { KEEPER_MS = 25 };

static void take_state(struct keeper_link *link, int status) {
    link->stopped = WIFSTOPPED(status);
    if (link->stopped) link->stop_signal = WSTOPSIG(status);
}

static void take_exec(struct keeper_link *link, int number) {
    link->exec_known = true;
    if (number == JOB_EXEC_BARE)
        link->bare = true;
    else
        link->exec_error = number;
}

static void take_over(struct keeper_link *link, int status, bool by_key) {
    link->over = true;
    link->stopped = false;
    link->status = status;
    link->ended_by_interrupt = by_key && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT;
}

static void take_note(struct keeper_link *link, const struct link_note *note) {
    switch (note->what) {
    case NEWS_JOB: link->job = note->value; break;
    case NEWS_EXEC: take_exec(link, note->value); break;
    case NEWS_STATE: take_state(link, note->value); break;
    case NEWS_OVER: take_over(link, note->value, note->by_key); break;
    case NEWS_ENGINE: link->engine_over = true; break;
    default: break;
    }
}

/* Keeper and leader are gone. */
static void end_of_link(struct keeper_link *link) {
    close(link->fd);
    link->fd = -1;
    if (!link->over) link->over = link->lost = true;
    link->engine_over = true;
}

bool keeper_link_read(struct keeper_link *link) {
    struct link_note note;
    bool has_changed = false;
    while (link->fd >= 0) {
        ssize_t size = recv(link->fd, &note, sizeof note, MSG_DONTWAIT);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 && errno == EAGAIN) break;
        if (size == sizeof note)
            take_note(link, &note);
        else
            end_of_link(link);
        has_changed = true;
    }
    return has_changed;
}

void keeper_link_signal(struct keeper_link *link, int signal) {
    struct link_note note = {LINK_SIGNAL, signal, 0};
    if (link->fd >= 0) send(link->fd, &note, sizeof note, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void keeper_link_reap(struct keeper_link *link) {
    if (link->keeper > 0 && waitpid(link->keeper, NULL, WNOHANG) == link->keeper) link->keeper = 0;
    while (getpid() == 1 && waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

void keeper_link_unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void wait_for_keeper(struct keeper_link *link) {
    int fd = link->keeper > 0 ? (int)syscall(SYS_pidfd_open, link->keeper, 0) : -1;
    if (fd < 0) return;
    poll(&(struct pollfd){fd, POLLIN, 0}, 1, KEEPER_MS);
    keeper_link_reap(link);
    close(fd);
}

/* As a key of the user's terminal would have done it: everybody in our group, the shell of a
 * script's loop among them. */
static void interrupt_group(void) {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, NULL);
    kill(0, SIGINT);
}

_Noreturn void keeper_link_end(struct keeper_link *link, int hangup) {
    keeper_link_read(link);
    if (!link->over) end_as(hangup);
    wait_for_keeper(link);
    if (link->lost) {
        keeper_say("the processes that kept the job were killed, and it was hung up: how it ended "
                   "is not known");
        _exit(KEEPER_FAULT);
    }
    if (link->exec_error) job_exec_say(link->command, link->exec_error);
    if (link->ended_by_interrupt) interrupt_group();
    end_as(link->status);
}
