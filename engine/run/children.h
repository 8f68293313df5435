/* Processes that compile for another one, as /proc tells: the workers of torch's pool and the
 * compilers that it starts, each with all below it.
 *
 * A child of another kind (a worker of a data loader, a program of the user's) is none of them: what
 * is counted is known by its command line. A pool that is forked without a program of its own
 * (TORCHINDUCTOR_WORKER_START=fork) cannot be told from such children and is not counted.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_CHILDREN_H
#define INDUCTOP_RUN_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* All processes at one moment. */
struct children;

/* Reads some hundred files: about 10 us a process. Never NULL; empty where there is no /proc. */
struct children *children_read(void);
struct children *children_free(struct children *children); /* NULL */

struct children_figures {
    unsigned processes;
    uint64_t cpu_ms; /* of those that live, and of what ended below them */
    uint64_t rss_bytes;
};

/* What compiles for `pid` at that moment. */
struct children_figures children_of(const struct children *children, pid_t pid);

/* CPU time of the children of `pid` that have ended and were waited for, whatever they were, and of
 * theirs. False: the process is gone. */
bool children_ended_ms(pid_t pid, uint64_t *ret);

/* Does a process with these words, a NUL behind each, compile? */
bool children_is_compiler(const char *words, size_t size);

#endif
