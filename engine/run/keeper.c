/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/keeper.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/run/descriptors.h"
#include "engine/run/ending.h"
#include "engine/run/job_exec.h"
#include "engine/run/shell_signals.h"
#include "engine/run/witness.h"
#include "engine/base/banned.h"

enum {
    SENDER_MS = 20,       /* until a sender to many has reached everybody */
    TICK_MS = 20,         /* between looks at an engine that writes its last lines */
    LAST_LINES_MS = 5000, /* for the engine, after the job's end, while stderr can be written to */
    UNREAD_MS =
        30000, /* the same while it cannot, when nobody sits at the terminal who could interrupt */
    REAP_MS = 200, /* for the kernel to end what was killed */
};

enum go { GO = 'g', GO_BARE = 'b' };

struct front {
    const struct keeper_job *job;
    struct shell_signals given;
    pid_t pid, job_pid, engine; /* engine 0: none, or it has ended */
    int job_fd;                 /* pidfd, or -1 */
    int go[2];                  /* releases the held job */
    int report[2];              /* why exec failed: closed by a good exec */
    int signals;                /* signalfd of all */
    struct exit_file exit;
    int status; /* of the job, once it is over */
    bool over;
    int exec_error; /* errno, 0: none */
    struct witness witness;
};

void keeper_begin(void) {
    descriptors_fill_standard();
}

/* ---- signals ---- */

static bool is_stop(int number) {
    return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static bool take_pending(int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    return sigtimedwait(&one, NULL, &(struct timespec){0, 0}) == number;
}

/* By the signal that stopped the job, so that the shell sees the same. Returns when somebody
 * continued us. */
static void stop_self(const struct front *front, int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    kill(front->pid, number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    sigprocmask(SIG_BLOCK, &one, NULL);
}

/* ---- becoming the job ---- */

static _Noreturn void run_bare(const struct front *front) {
    shell_signals_give_back(&front->given);
    int number = job_exec(front->job->argv, environ, -1);
    job_exec_say(front->job->argv[0], number);
    _exit(job_exec_code(number));
}

static _Noreturn void hold_then_run(const struct front *front) {
    char go;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    close(front->go[1]);
    if (read(front->go[0], &go, 1) != 1) _exit(KEEPER_FAULT); /* the front is gone */
    char *const *envp = go == GO && front->job->envp ? front->job->envp : environ;
    shell_signals_give_back(&front->given);
    int number = job_exec(front->job->argv, envp, front->report[1]);
    (void)!write(front->report[1], &number, sizeof number); /* the front may be gone */
    _exit(job_exec_code(number));
}

/* ---- start ---- */

static int prepare(struct front *front) {
    if (exit_file_reserve(&front->exit, front->job->session_fd)) return -1;
    if (pipe2(front->go, O_CLOEXEC) || pipe2(front->report, O_CLOEXEC)) return -1;
    sigset_t all;
    sigfillset(&all);
    front->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (front->signals < 0) return -1;
    descriptor_close_on_exec(front->job->session_fd);
    for (size_t i = 0; i < front->job->keep_count; i++)
        descriptor_close_on_exec(front->job->keep_fds[i]);
    return 0;
}

static _Noreturn void give_up_and_run_bare(const struct front *front, int number) {
    keeper_say("could not set up the session: %s: the job runs without inductop", strerror(number));
    if (front->exit.fd >= 0) unlinkat(front->job->session_fd, "exit.tmp", 0);
    run_bare(front);
}

static void close_inherited(const struct front *front) {
    const struct keeper_job *job = front->job;
    const int own[] = {job->session_fd, front->exit.fd,        front->go[1], front->report[0],
                       front->signals,  front->witness.socket, front->job_fd};
    int keep[ARRAY_SIZE(own) + KEEPER_KEEP];
    assert(job->keep_count <= KEEPER_KEEP);
    memcpy(keep, own, sizeof own);
    if (job->keep_count)
        memcpy(keep + ARRAY_SIZE(own), job->keep_fds, job->keep_count * sizeof *keep);
    descriptors_to_null(0, 1);
    descriptors_close_others(3, keep, ARRAY_SIZE(own) + job->keep_count);
}

/* What came before the job existed it has not got. What came to the group since is still pending
 * there, and joins. The witness is asked so that it forgets: its next answer must be about the next
 * signal. */
static void pass_on_pending(struct front *front) {
    struct signalfd_siginfo got;
    while (read(front->signals, &got, sizeof got) == sizeof got) {
        int number = (int)got.ssi_signo;
        witness_ask(&front->witness, number);
        if (number != SIGCHLD && number != SIGCONT) kill(front->job_pid, number);
    }
}

static int start_job(struct front *front) {
    front->pid = getpid();
    front->job_pid = fork();
    if (front->job_pid < 0) return -1;
    if (front->job_pid == 0) hold_then_run(front);
    front->job_fd = (int)syscall(SYS_pidfd_open, front->job_pid, 0);
    if (witness_start(&front->witness, front->job_pid, front->job_fd))
        keeper_say("could not start the witness: %s: signals may reach the job twice",
                   strerror(errno));
    if (front->job->start_engine)
        front->engine = front->job->start_engine(front->job->ctx, front->job_pid);
    enum go go = front->engine < 0 ? GO_BARE : GO;
    if (front->engine < 0) front->engine = 0;
    close(front->go[0]);
    close(front->report[1]);
    close_inherited(front);
    pass_on_pending(front);
    (void)!write(front->go[1], &(char){(char)go},
                 1); /* it may be killed already: the loop sees that */
    close(front->go[1]);
    return 0;
}

/* ---- while the job runs ---- */

static void say_engine_ended(int status) {
    bool by_signal = WIFSIGNALED(status);
    keeper_say("the engine ended (%s %d): the job goes on, its figures end here",
               by_signal ? "signal" : "exit", by_signal ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Everything that ended, strangers included: as PID 1 of a container they are ours. Returns the
 * signal that stopped the job, 0. */
static int reap(struct front *front) {
    int stopped = 0, status, engine_status = 0;
    bool witness_is_gone = false, engine_is_gone = false;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (pid == front->job_pid && WIFSTOPPED(status)) stopped = WSTOPSIG(status);
        if (WIFSTOPPED(status)) continue;
        if (pid == front->job_pid)
            front->over = true, front->status = status;
        else if (pid == front->engine)
            engine_is_gone = true, engine_status = status;
        else if (pid == front->witness.pid)
            witness_is_gone = true;
    }
    if (engine_is_gone) front->engine = 0;
    if (witness_is_gone) witness_ended(&front->witness);
    if (front->over) return 0;
    if (engine_is_gone) say_engine_ended(engine_status);
    if (witness_is_gone) witness_start(&front->witness, front->job_pid, front->job_fd);
    return stopped;
}

static void stop_with_job(struct front *front, int number) {
    witness_watch(&front->witness);
    stop_self(front, number);
    witness_rest(&front->witness);
}

static void send_to_job(const struct front *front, const struct signalfd_siginfo *got) {
    union sigval value = {.sival_ptr = (void *)(uintptr_t)got->ssi_ptr};
    if (got->ssi_code == SI_QUEUE)
        sigqueue(front->job_pid, (int)got->ssi_signo, value);
    else
        kill(front->job_pid, (int)got->ssi_signo);
}

/* Was it sent to the group, or to all of us one by one? A sender to many needs a moment to reach
 * the witness. If the first was for us alone and the group's came right behind it, as from
 * timeout(1), the job has it once, and that is what it would have. */
static bool has_job_got_it(struct front *front, int number) {
    static const int waits_ms[] = {0, 1, 2, 4, 13};
    for (size_t i = 0; i < ARRAY_SIZE(waits_ms); i++) {
        if (waits_ms[i]) poll(&(struct pollfd){front->job_fd, POLLIN, 0}, 1, waits_ms[i]);
        enum testimony testimony = witness_ask(&front->witness, number);
        if (testimony == TESTIMONY_NONE) return false;
        if (testimony == TESTIMONY_SAW_NOT) continue;
        if (i > 0) take_pending(number);
        return true;
    }
    return false;
}

/* A stop that came behind it has taken a continue back; the one we hold must not undo that. */
static bool is_taken_back(int number) {
    sigset_t pending;
    sigpending(&pending);
    return number == SIGCONT && (sigismember(&pending, SIGTSTP) || sigismember(&pending, SIGTTIN) ||
                                 sigismember(&pending, SIGTTOU));
}

/* The kernel sends these to a group only. The witness could miss one: two of a kind that come close
 * together are one to it. */
static bool is_from_terminal(const struct signalfd_siginfo *got) {
    int number = (int)got->ssi_signo;
    return got->ssi_code == SI_KERNEL &&
           (number == SIGINT || number == SIGQUIT || number == SIGWINCH || is_stop(number));
}

static void forward(struct front *front, const struct signalfd_siginfo *got) {
    int number = (int)got->ssi_signo;
    pid_t sender = (pid_t)got->ssi_pid;
    if (sender == front->pid) return;
    bool is_witness = front->witness.pid && sender == front->witness.pid;
    if (is_witness || is_from_terminal(got))
        witness_ask(&front->witness, number);
    else if (!has_job_got_it(front, number) && !is_taken_back(number))
        send_to_job(front, got);
}

static void read_report(struct front *front, struct pollfd *polled) {
    int note;
    ssize_t size = read(front->report[0], &note, sizeof note);
    if (size == sizeof note && note > 0) front->exec_error = note;
    if (size == sizeof note && note == JOB_EXEC_BARE)
        keeper_say("the environment has no room for our variables: the job runs without inductop");
    if (size != sizeof note && !(size < 0 && errno == EINTR)) polled->fd = -1;
}

/* The job's end comes before a signal, which would have nobody to go to. */
static void keep_until_over(struct front *front) {
    struct pollfd polled[] = {{front->signals, POLLIN, 0}, {front->report[0], POLLIN, 0}};
    for (;;) {
        poll(polled, ARRAY_SIZE(polled), -1);
        if (polled[1].revents) read_report(front, &polled[1]);
        for (ssize_t size = 1; size > 0;) {
            int stopped = reap(front);
            if (front->over) break;
            if (stopped) stop_with_job(front, stopped);
            struct signalfd_siginfo got;
            size = read(front->signals, &got, sizeof got);
            if (size > 0 && got.ssi_signo != SIGCHLD) forward(front, &got);
        }
        if (!front->over) continue;
        while (polled[1].fd >= 0) read_report(front, &polled[1]);
        return;
    }
}

/* ---- after the job ---- */

static bool is_somebody_at_terminal(void) {
    int fd = open("/dev/tty", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) return false;
    bool yes = tcgetpgrp(fd) == getpgrp();
    close(fd);
    return yes;
}

/* Signals since the last look: true when one of them says that we shall not stay. */
static bool is_wait_interrupted(const struct front *front) {
    struct signalfd_siginfo got;
    bool yes = false;
    while (read(front->signals, &got, sizeof got) == sizeof got) {
        int number = (int)got.ssi_signo;
        if (is_stop(number))
            stop_self(front, number);
        else if (number != SIGCHLD && number != SIGCONT && number != SIGWINCH && number != SIGURG)
            yes = true;
    }
    return yes;
}

static bool is_engine_gone(struct front *front) {
    reap(front);
    return front->engine == 0;
}

static void end_engine(struct front *front) {
    kill(front->engine, SIGKILL);
    for (int left = REAP_MS; left > 0 && !is_engine_gone(front); left -= TICK_MS)
        poll(&(struct pollfd){front->signals, POLLIN, 0}, 1, TICK_MS), is_wait_interrupted(front);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* The engine sees the job's end by itself, writes its last lines and ends. Signals of the first
 * moment were sent to the job as well, and time in which we were stopped ourselves does not count.
 */
static void wait_for_engine(struct front *front) {
    int64_t begun = now_ms(), last = begun, left = LAST_LINES_MS, left_unread = UNREAD_MS;
    while (!is_engine_gone(front) && left > 0 && left_unread > 0) {
        poll(&(struct pollfd){front->signals, POLLIN, 0}, 1, TICK_MS);
        bool interrupted = is_wait_interrupted(front);
        int64_t now = now_ms(), spent = now - last < 2 * TICK_MS ? now - last : 2 * TICK_MS;
        last = now;
        if (interrupted && now - begun > SENDER_MS) break;
        if (process_state(front->engine) == 'T') break;
        if (is_stderr_writable())
            left -= spent;
        else if (!is_somebody_at_terminal())
            left_unread -= spent;
    }
    if (front->engine) end_engine(front);
}

_Noreturn void keeper_run_headless(const struct keeper_job *job) {
    struct front front = {
        .job = job, .job_fd = -1, .signals = -1, .exit = EXIT_FILE_INIT, .witness = WITNESS_INIT};
    keeper_begin();
    shell_signals_take(&front.given);
    if (job->session_fd < 0) run_bare(&front);
    if (prepare(&front) || start_job(&front)) give_up_and_run_bare(&front, errno);
    keep_until_over(&front);
    witness_dismiss(&front.witness);
    if (front.exec_error) job_exec_say(job->argv[0], front.exec_error);
    if (exit_file_write(&front.exit, front.status))
        keeper_say("could not write how the job ended to its session: %s", strerror(errno));
    wait_for_engine(&front);
    end_as(front.status);
}
