/* Where a job's output is saved: a file that was asked for, or SESSION/output, which keeps the last
 * 64 MiB in two files of 32 MiB in turn. What cannot be saved is counted; once it can be again, a
 * line in the file says how much is missing. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_TERMINAL_OUTPUT_H
#define INDUCTOP_RUN_TERMINAL_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/base/err.h"
#include "engine/run/terminal_ring.h"

enum { TERMINAL_OUTPUT_TURN = 32 << 20 };

/* What a successor has to know; in shared memory. */
struct terminal_saved {
    uint64_t position; /* everything before it was saved or counted */
    uint64_t gap;      /* bytes not saved since saving last worked */
    uint64_t unsaved;  /* the same, all in all */
    int error;         /* why: errno of the last failure */
};

struct terminal_output {
    int fd;         /* -1: to be opened again */
    int session_fd; /* lent */
    bool takes_turns;
    uint64_t size; /* of the present file */
};

#define TERMINAL_OUTPUT_INIT                                                                       \
    { -1, -1, false, 0 }

/* Opens a file that the user asked for, emptied, such that writing to it never waits for a reader.
 * Returns a descriptor, or -1 with err. */
int terminal_output_open_file(const char *path, struct err *err);

/* `given_fd` -1: SESSION/output. Takes given_fd in. 0, or -1 (errno). */
int terminal_output_open(struct terminal_output *ret, int given_fd, int session_fd);

/* Another process has saved until now: what it left is gone on with. */
void terminal_output_take_over(struct terminal_output *output);

/* Saves what the ring has and `saved` has not. */
void terminal_output_save(struct terminal_output *output, const struct terminal_ring *ring,
                          struct terminal_saved *saved);

void terminal_output_close(struct terminal_output *output);

#endif
