/* The witness: a child of the front in the same process group, every signal blocked, that tells
 * where a signal was sent.
 *
 * What was sent to the group (by the terminal, killpg, `kill %1`, timeout(1), a service manager)
 * the job has got already, and so has the witness; what was sent to the front alone the witness has
 * not, and the front passes it on. The sender's code does not tell: the hang-up of a session leader
 * comes from the kernel, and yet to the leader alone. It also continues a front that stopped
 * together with its job and, should the front be killed then, the job, so that the SIGTERM which
 * that brings is heard. libc only, one thread, never prints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_WITNESS_H
#define INDUCTOP_RUN_WITNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct witness {
    pid_t pid;  /* 0: there is none */
    int socket; /* -1: there is none */
    uint32_t asked;
};

#define WITNESS_INIT                                                                               \
    { 0, -1, 0 }

/* Forks it; all signals must be blocked. `job_fd`: pidfd of the job, or -1. 0, or -1 (errno) when
 * there is none. */
int witness_start(struct witness *witness, pid_t job, int job_fd);

enum testimony { TESTIMONY_SAW, TESTIMONY_SAW_NOT, TESTIMONY_NONE };

/* Has the signal come to the witness since the last question about it? Waits 200 ms at most; then,
 * or without a witness, there is no testimony. */
enum testimony witness_ask(struct witness *witness, int signal);

/* The front is about to stop with its job: from now on until witness_rest() it is continued
 * whenever the job is not stopped. */
void witness_watch(struct witness *witness);
void witness_rest(struct witness *witness);

/* It was waited for: forget it. */
void witness_ended(struct witness *witness);

/* Kills and reaps it; the front has no more questions. */
void witness_dismiss(struct witness *witness);

/* State letter of a process as in ps(1): T stopped by a signal, t by a debugger; X when it is gone.
 */
char process_state(pid_t pid);

#endif
