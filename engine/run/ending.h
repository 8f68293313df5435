/* How a job ended: kept in SESSION/exit, and done again by us. libc only, nothing is allocated.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_ENDING_H
#define INDUCTOP_RUN_ENDING_H

struct exit_file {
    int session_fd; /* lent */
    int fd;         /* -1: there is none */
};

#define EXIT_FILE_INIT                                                                             \
    { -1, -1 }

/* Takes the room for SESSION/exit on the disk: a full disk must not cost the exit status. An old
 * one is removed. As long as one of the processes that inherited `fd` lives, SESSION/exit.tmp is
 * locked (flock): the job has a keeper. 0, or -1 (errno). */
int exit_file_reserve(struct exit_file *ret, int session_fd);

/* Writes "exit N\n" or "signal N\n" for a status of waitpid(), atomically. 0, or -1 (errno). May be
 * called again. */
int exit_file_write(const struct exit_file *file, int status);

/* Ends this process as that one ended: same exit code, or the same signal on ourselves, without a
 * core. Where the signal has no effect (PID 1 of a container): 128 + signal. */
_Noreturn void end_as(int status);

#endif
