/* Signals as the shell gave them to us: taken for ourselves while a job is kept, given back to the
 * job. libc only, no thread may run yet.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_SHELL_SIGNALS_H
#define INDUCTOP_RUN_SHELL_SIGNALS_H

#include <signal.h>

struct shell_signals {
    sigset_t mask, ignored;
};

/* Blocks every signal and ignores none: with SIGCHLD ignored waitpid() would fail, and a blocked
 * signal is queued for us whatever the job's user asked for. */
void shell_signals_take(struct shell_signals *ret);

/* As it was. For the job, between fork and exec too. */
void shell_signals_give_back(const struct shell_signals *given);

#endif
