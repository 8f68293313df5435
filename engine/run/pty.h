/* The keeper with a pty: runs a job on a terminal of its own, so that a screen can have the user's.
 *
 *     the caller, "front" - keeper - leader - the job
 *                             +----- engine
 *
 * The front becomes the screen; it may be killed, stopped or blocked, the job does not notice. The
 * keeper holds the terminal's other end: it saves the output whatever happens and serves viewers on
 * SESSION/tty (terminal_frames.h, terminal_view.h). The leader, the job's parent, leads the session
 * on that terminal, and goes on with everything when the keeper is killed. When the leader is
 * killed the kernel hangs the job up. The job gets the dispositions and mask that the shell gave
 * us; only those of its 0, 1, 2 that were terminals are the new one, the others are as we got them.
 * How the job ended stands in SESSION/exit; the front gets it over the link. What the job leaves
 * behind in the background is not hung up, and the keeper stays for as long as somebody has the
 * terminal open. libc only, no thread may run yet in keeper_pty_start(). The link belongs to one
 * thread.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_PTY_H
#define INDUCTOP_RUN_PTY_H

#include <stdbool.h>
#include <sys/types.h>

#include "engine/base/err.h"
#include "engine/run/keeper.h"

struct keeper_pty {
    /* As for keeper_run_headless(), session_fd given. start_engine() is called in the keeper, a
     * child of the caller: what it changes in memory the caller does not see, its keeper_say()
     * lines come out at the caller's stderr, and the engine has no stderr of its own. */
    const struct keeper_job *job;

    /* From terminal_output_open_file(): the job's output goes there; closed in the caller when the
     * job was started, else still the caller's. -1: SESSION/output keeps the last 64 MiB. */
    int output_fd;
};

/* The front's connection to the keeper. Read only, but by the functions below. */
struct keeper_link {
    int fd; /* readable: keeper_link_read(). -1: there is no more to come */
    const char *command;
    pid_t keeper, job;
    int exec_error;  /* errno: the command could not be run, and the job is over; 0: it runs */
    bool exec_known; /* that was told */
    bool bare;       /* the environment had no room for our variables: no rank will be seen */
    bool stopped;    /* the job is stopped just now, by `stop_signal` */
    int stop_signal;
    bool over;               /* the job has ended, and all its output up to then was saved */
    int status;              /* of waitpid() */
    bool ended_by_interrupt; /* it died of SIGINT from a key; keeper_link_end() interrupts our
                                group, so that a script ends */
    bool lost; /* keeper and leader were killed, the job was hung up: how it ended is not known.
                  Then over, too */
    bool engine_over; /* the engine, if there was one, has ended; what it wrote is complete */
};

/* A screen makes sense here: stdout is a terminal and we are in its foreground. */
bool keeper_has_terminal(void);

/* Starts the job. 0: it runs, or its command could not be run and the link says why. All signals
 * are then blocked, every disposition is the default, and of what the caller inherited only
 * terminals at 0 and 1, descriptor 2, the session and keep_fds are still open. On an error nothing
 * was started or changed, and the caller can run the job headless. */
int keeper_pty_start(const struct keeper_pty *what, struct keeper_link *ret, struct err *err);

/* Once the front's handlers stand: signals are let through. */
void keeper_link_unblock_signals(void);

/* Takes in what has come, never waits. True when something in the link changed. */
bool keeper_link_read(struct keeper_link *link);

/* Passes on a signal that the front was sent: SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2. Sent to
 * all of us one by one, as by pkill -f, the job has it already and gets it once. */
void keeper_link_signal(struct keeper_link *link, int signal);

/* To be called on SIGCHLD: the keeper's end, and, as PID 1 of a container, that of strangers. */
void keeper_link_reap(struct keeper_link *link);

/* Ends the front, once its terminal is as it was. The job is over: says what kept the command from
 * running, and ends as the job ended (125 when that is lost). Still running: the job lives on, and
 * the front ends with 0, or by `hangup`, a signal, unless that is 0. */
_Noreturn void keeper_link_end(struct keeper_link *link, int hangup);

#endif
