/* Signals that the front relays to the job.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "engine/run/pty_inside.h"
#include "engine/base/banned.h"

/* Until a sender to many has reached everybody, and how long that counts as the same signal. */
enum { SENDER_MS = 20, SAME_MS = 200 };

/* A job that stops later than this after the one who asked for it has left was stopped by somebody
 * else. */
enum { STOP_MS = 2000 };

int64_t pty_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

int pty_open_signals(void) {
    sigset_t all;
    sigfillset(&all);
    return signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
}

static bool has_job(const struct pty *pty) {
    return !pty->state->job.over && pty->state->job.pid > 1;
}

/* Before the job has the foreground, and in the moment of its end, the leader has it. */
void pty_signal_foreground(struct pty *pty, int signal) {
    if (!has_job(pty)) return;
    pid_t group = tcgetpgrp(pty->master);
    if (group <= 1 || group == pty->leader) group = pty->state->job.pid;
    kill(-group, signal);
}

void pty_signal_job(struct pty *pty, int signal) {
    if (has_job(pty)) kill(pty->state->job.pid, signal);
}

void pty_read_signals(struct pty *pty) {
    struct signalfd_siginfo got;
    while (read(pty->signals, &got, sizeof got) == sizeof got)
        if (got.ssi_signo < NSIG) pty->seen_ms[got.ssi_signo] = pty_now_ms();
    pty->reap(pty);
}

/* pkill -f or a service manager sends to every process of ours and to the job. */
static bool was_sent_to_all(struct pty *pty, int signal) {
    int64_t begun = pty_now_ms();
    for (int64_t left = SENDER_MS; left >= 0; left = begun + SENDER_MS - pty_now_ms()) {
        if (pty->seen_ms[signal] && begun - pty->seen_ms[signal] < SAME_MS) {
            pty->seen_ms[signal] = 0;
            return true;
        }
        if (poll(&(struct pollfd){pty->signals, POLLIN, 0}, 1, (int)left) > 0)
            pty_read_signals(pty);
    }
    return false;
}

void pty_pass_on(struct pty *pty, int signal) {
    if (signal <= 0 || signal >= NSIG || was_sent_to_all(pty, signal)) return;
    if (signal == SIGINT) pty->state->interrupt_by_key = false;
    pty_signal_job(pty, signal);
}

void pty_ask(struct pty *pty, int signal) {
    struct terminal_state *state = pty->state;
    if (signal == SIGINT) state->interrupt_by_key = true;
    if (signal == SIGCONT) state->stop_by_key = false;
    if (signal != SIGTSTP && signal != SIGSTOP) return;
    state->stop_by_key = true;
    state->left_ms = 0;
}

/* Somebody else may be in charge by now: what has stopped under the last one goes on before that
 * one looks. And what we know may be old: the stop that was asked for may be yet to come. */
void pty_continue_if_left(struct pty *pty) {
    struct terminal_state *state = pty->state;
    if (!state->stop_by_key || !state->left_ms || !state->job.stopped || !has_job(pty)) return;
    if (pty_now_ms() - state->left_ms > STOP_MS) return;
    if (kill(-state->job.pid, SIGCONT)) kill(state->job.pid, SIGCONT);
}
