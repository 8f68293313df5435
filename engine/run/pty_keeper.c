/* The keeper's process: starts leader and engine, lets the job go, and keeps its terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/run/descriptors.h"
#include "engine/run/pty_inside.h"
#include "engine/base/banned.h"

static _Noreturn void fail(struct pty *pty, int number) {
    struct link_note note = {NEWS_FAILED, number, 0};
    send(pty->link, &note, sizeof note, MSG_NOSIGNAL);
    _exit(KEEPER_FAULT);
}

static void fork_leader(struct pty *pty) {
    int news[2], alive[2], go[2];
    if (pipe2(news, O_CLOEXEC | O_NONBLOCK) || pipe2(alive, O_CLOEXEC) || pipe2(go, O_CLOEXEC))
        fail(pty, errno);
    pty->go = go[1];
    pty->go_read = go[0];
    pty->leader = fork();
    if (pty->leader < 0) fail(pty, errno);
    if (pty->leader == 0) {
        close(news[0]);
        close(alive[1]);
        pty->poke = news[1];
        pty->alive = alive[0];
        pty_leader_main(pty);
    }
    close(news[1]);
    close(alive[0]);
    close(go[0]);
    close(pty->slave);
    pty->news = news[0];
    pty->alive = alive[1];
    pty->go_read = pty->slave = -1;
}

static void wait_for_job(struct pty *pty) {
    char poke;
    while (!pty->state->job.pid) {
        poll(&(struct pollfd){pty->news, POLLIN, 0}, 1, -1);
        if (pty->state->failure) fail(pty, pty->state->failure);
        if (read(pty->news, &poke, 1) == 0) fail(pty, ECHILD);
    }
}

/* What it says goes to the front, and that is all the stderr that its engine will have. */
static bool start_engine(struct pty *pty) {
    const struct keeper_job *job = pty->job;
    if (!job->start_engine) return true;
    dup2(pty->said, STDERR_FILENO);
    pty->engine = job->start_engine(job->ctx, pty->state->job.pid);
    bool is_running = pty->engine >= 0;
    if (!is_running) pty->engine = 0;
    return is_running;
}

static void close_inherited(const struct pty *pty) {
    const int keep[] = {pty->master,          pty->listener, pty->link,     pty->news,
                        pty->alive,           pty->go,       pty->signals,  pty->job_fd,
                        pty->job->session_fd, pty->exit.fd,  pty->output.fd};
    descriptors_to_null(0, 2);
    descriptors_close_others(3, keep, ARRAY_SIZE(keep));
    if (chdir("/")) {
    } /* no file system is kept busy; where we stay instead is no matter */
}

static void reap(struct pty *pty) {
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (pid != pty->engine) continue;
        pty->engine = 0;
        pty->state->engine_status = status;
        pty_news(pty, NEWS_ENGINE);
    }
}

_Noreturn void pty_keeper_main(struct pty *pty) {
    prctl(PR_SET_NAME, "inductop-keep");
    setsid();
    pty->reap = reap;
    pty->signals = pty_open_signals();
    fork_leader(pty);
    wait_for_job(pty);
    pty->job_fd = (int)syscall(SYS_pidfd_open, pty->state->job.pid, 0);
    bool has_engine = start_engine(pty);
    if (!pty->engine) pty_news(pty, NEWS_ENGINE);
    close_inherited(pty);
    pty->state->released = true;
    if (write(pty->go, &(char){has_engine ? PTY_GO : PTY_GO_BARE}, 1) < 0) {
    } /* it was killed: that is news, too */
    close(pty->go);
    pty_keep(pty);
    unlinkat(pty->job->session_fd, TERMINAL_SOCKET, 0);
    if (write(pty->alive, "", 1) == 1) waitpid(pty->leader, NULL, 0);
    _exit(0);
}
