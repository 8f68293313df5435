/* The door to a job's terminal: what the job writes comes in, keys and sizes go out. Only jobs that
 * were started on a terminal of their own have one; it is looked at over SESSION/tty.
 *
 * A connection that is lost while the job runs is tried again: another keeper serves the same
 * socket. Nothing waits. Loop thread only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_JOB_TERMINAL_H
#define INDUCTOP_JOB_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "engine/run/session.h"

struct job_terminal;

struct job_terminal_options {
    uv_loop_t *loop;
    const struct session *session; /* lent */

    /* Output, as it was written. */
    void (*output)(void *ctx, const char *bytes, size_t size);

    /* Bytes of output that were not kept for us. */
    void (*skipped)(void *ctx, uint64_t bytes);
    void *ctx;
};

/* NULL: the job has no terminal. */
struct job_terminal *job_terminal_open(const struct job_terminal_options *options);

/* The memory goes when the loop has run once more. Accepts NULL. */
void job_terminal_close(struct job_terminal *terminal);

/* Keys, sizes and signals are taken from the one who asked last. False, as below: it could not be
 * sent. */
bool job_terminal_take_charge(struct job_terminal *terminal);
bool job_terminal_type(struct job_terminal *terminal, const char *bytes, size_t size);
bool job_terminal_resize(struct job_terminal *terminal, int rows, int columns);

/* To the foreground group, as a key would do it. */
bool job_terminal_signal(struct job_terminal *terminal, int signal);

/* Takes in what has come, now: before a last look at the output. */
void job_terminal_read(struct job_terminal *terminal);

/* The job has ended, and all that it wrote was told. */
bool is_job_terminal_over(const struct job_terminal *terminal);

bool is_job_terminal_in_charge(const struct job_terminal *terminal);

/* Bytes of output that could not be saved just now; 0: all is well. */
uint64_t job_terminal_unsaved(const struct job_terminal *terminal);

#endif
