/* The keeper: runs a job headless so that neither the job nor those around it can tell the
 * difference.
 *
 * The shell waits for this process, the front. The job is its child: same process group, same 0, 1,
 * 2 and other descriptors, the dispositions and mask that the shell gave us. The front blocks every
 * signal; a witness (witness.h) tells those the job has got too from those meant for the front
 * alone, which are passed on. It stops and continues with the job, and ends as the job ended: same
 * exit code, or the same signal on itself, without a core. If the front is killed the job gets
 * SIGTERM. Everything inherited is closed in the front but descriptor 2, where our own lines go,
 * each beginning with "inductop:". libc only: no loop, no thread, and none may run yet when it is
 * called.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_KEEPER_H
#define INDUCTOP_RUN_KEEPER_H

#include <stddef.h>
#include <sys/types.h>

#include "engine/run/say.h" /* keeper_say(), for lines of the caller */

/* Exit codes that are not the job's, as env(1) has them. */
enum { KEEPER_FAULT = 125, KEEPER_CANNOT_RUN = 126, KEEPER_NOT_FOUND = 127 };

enum { KEEPER_KEEP = 16 };

struct keeper_job {
    char *const *argv; /* NULL behind the last */
    char *const *envp; /* of the job; used only when there is a session and an engine */
    int session_fd;    /* the session directory, where `exit` will stand; -1: run it bare */
    const int *keep_fds;
    size_t keep_count; /* at most KEEPER_KEEP; they stay open in the front while the job runs, and
                          not in the job */

    /* Called once in the front when the job was forked but is still held: starts the engine as a
     * child of the front and returns its pid, or -1, having said why. May be NULL. All signals are
     * blocked. */
    pid_t (*start_engine)(void *ctx, pid_t job);
    void *ctx;
};

/* First thing in main(), before anything is opened: a job that was given closed descriptors gets
 * them closed. */
void keeper_begin(void);

/* Runs the job and ends this process as it ended. SESSION/exit then holds "exit N\n" or "signal
 * N\n"; its room on the disk is taken at the start. The engine is waited for while it writes its
 * last lines: 5 s in which stderr can be written to, not at all when it is stopped; any signal ends
 * the wait. If something cannot be set up, or with session_fd -1, the job runs bare: it takes the
 * place of this process, in our environment as it is. Own faults are said on stderr; for -1 the
 * caller has said why. */
_Noreturn void keeper_run_headless(const struct keeper_job *job);

#endif
