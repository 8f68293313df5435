/* The leader: a child of the keeper that leads the session on the job's terminal. It is the job's
 * parent, passes on how it fares, and is the keeper's understudy: when the keeper is killed it goes
 * on in its place.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/attr.h"
#include "engine/run/descriptors.h"
#include "engine/run/job_exec.h"
#include "engine/run/pty_inside.h"
#include "engine/base/banned.h"

/* ---- the job ---- */

static _Noreturn void hold_then_run(struct pty *pty, int report) {
    char go;
    setpgid(0, 0);
    tcsetpgrp(pty->slave, getpid());
    close(pty->go);
    if (read(pty->go_read, &go, 1) != 1) _exit(KEEPER_FAULT); /* the keeper is gone */
    for (int fd = 0; fd <= 2; fd++)
        if (pty->was_terminal[fd]) dup2(pty->slave, fd);
    shell_signals_give_back(&pty->given);
    int number = job_exec(pty->job->argv, go == PTY_GO ? pty->job->envp : environ, report);
    if (write(report, &number, sizeof number) < 0) {
    } /* nobody to tell */
    _exit(job_exec_code(number));
}

/* Its end on the report is closed by a good exec. */
static void wait_for_exec(struct pty *pty, int report) {
    int note;
    for (ssize_t size; (size = read(report, &note, sizeof note)) != 0;)
        if (size == sizeof note)
            pty->state->job.exec_error = note;
        else if (errno != EINTR)
            break;
    close(report);
    pty_news(pty, NEWS_EXEC);
}

static void fail(struct pty *pty) {
    pty->state->failure = errno;
    pty_news(pty, NEWS_FAILED);
    _exit(KEEPER_FAULT);
}

/* Returns the read end of the job's report. */
static int start_job(struct pty *pty) {
    int report[2];
    if (setsid() < 0 || ioctl(pty->slave, TIOCSCTTY, 0) || pipe2(report, O_CLOEXEC)) fail(pty);
    pid_t job = fork();
    if (job == 0) hold_then_run(pty, report[1]);
    if (job < 0) fail(pty);
    close(report[1]);
    pty->state->job.pid = job;
    pty_news(pty, NEWS_JOB);
    return report[0];
}

/* ---- how it fares ---- */

/* The leader takes the foreground itself: what the job has left is in the background then, as it
 * would be under a shell, and our own end will hang up nobody. */
static void end_session(struct pty *pty) {
    tcsetpgrp(pty->slave, getpgrp());
    close(pty->slave);
    pty->slave = -1;
}

static void reap_job(struct pty *pty) {
    struct terminal_state *state = pty->state;
    int status;
    while (!state->job.over &&
           waitpid(state->job.pid, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
        bool is_over = WIFEXITED(status) || WIFSIGNALED(status);
        if (is_over) {
            end_session(pty);
            state->job.status = status;
            state->job.over = true;
        } else {
            state->job.stopped = WIFSTOPPED(status);
            state->job.state = status;
        }
        pty_news(pty, is_over ? NEWS_OVER : NEWS_STATE);
    }
}

/* ---- the keeper's end ---- */

/* What the keeper was in the middle of telling is told again; it does no harm twice. */
static void take_over(struct pty *pty) {
    close(pty->poke);
    close(pty->alive);
    pty->poke = pty->alive = -1;
    terminal_output_take_over(&pty->output);
    if (pty->state->job.stopped) pty_news(pty, NEWS_STATE);
    if (pty->state->job.over) pty_news(pty, NEWS_OVER);
    pty_keep(pty);
    unlinkat(pty->job->session_fd, TERMINAL_SOCKET, 0);
}

static void close_inherited(const struct pty *pty, int report) {
    const int keep[] = {
        pty->master, pty->slave,   pty->listener,        pty->link,    pty->poke,     pty->alive,
        report,      pty->signals, pty->job->session_fd, pty->exit.fd, pty->output.fd};
    descriptors_to_null(0, 2);
    descriptors_close_others(3, keep, ARRAY_SIZE(keep));
    if (chdir("/")) {
    } /* no file system is kept busy; where we stay instead is no matter */
}

static bool is_keeper_gone(struct pty *pty) {
    char done;
    ssize_t size = read(pty->alive, &done, 1);
    if (size == 1) _exit(0); /* it has done everything */
    return size == 0;
}

_Noreturn void pty_leader_main(struct pty *pty) {
    prctl(PR_SET_NAME, "inductop-lead");
    pty->reap = reap_job;
    pty->leader = getpid();
    pty->signals = pty_open_signals();
    int report = start_job(pty);
    close(pty->go_read);
    close_inherited(pty, report);
    wait_for_exec(pty, report);
    struct pollfd polled[] = {{pty->signals, POLLIN, 0}, {pty->alive, POLLIN, 0}};
    do {
        poll(polled, ARRAY_SIZE(polled), -1);
        if (polled[0].revents) pty_read_signals(pty);
    } while (!polled[1].revents || !is_keeper_gone(pty));
    if (pty->state->released) take_over(pty);
    _exit(0);
}
