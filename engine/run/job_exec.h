/* Becoming the job, and words for what kept a command from running. libc only, nothing is
 * allocated.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_JOB_EXEC_H
#define INDUCTOP_RUN_JOB_EXEC_H

#include <errno.h>

enum { JOB_EXEC_BARE = -E2BIG };

/* Takes the place of this process. Our variables may be what makes the environment too long: then
 * JOB_EXEC_BARE goes to `report_fd` (an int; -1: nobody listens) and the job gets our own
 * environment, `environ`. Returns errno. */
int job_exec(char *const *argv, char *const *envp, int report_fd);

/* 127 when there is no such command, else 126, as env(1) has them. */
int job_exec_code(int number);

/* The line for people, on stderr. */
void job_exec_say(const char *name, int number);

#endif
