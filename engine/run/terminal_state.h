/* What is known of a job on its terminal, in memory that the keeper, the leader and their successor
 * share: when one is killed the other has it all. The leader writes `job` and pokes; the rest
 * belongs to the process that keeps the terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_TERMINAL_STATE_H
#define INDUCTOP_RUN_TERMINAL_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/run/terminal_output.h"
#include "engine/run/terminal_ring.h"

/* What has changed, in `news` (leader to keeper) and `due` (keeper to front), in this order. */
enum terminal_news {
    NEWS_JOB,   /* there is a job, held */
    NEWS_EXEC,  /* it was released, and its command runs or could not be run */
    NEWS_STATE, /* stopped or continued */
    NEWS_OVER,
    NEWS_ENGINE, /* it has ended */
    NEWS_FAILED, /* nothing was started */
    NEWS_COUNT,
};

struct terminal_state {
    struct terminal_ring ring;
    struct terminal_saved saved;

    struct {
        pid_t pid;      /* 0: not yet */
        int exec_error; /* errno, 0: it runs; JOB_EXEC_BARE: it runs in our own environment */
        int state;      /* status of waitpid() at the last stop or continue */
        bool stopped;
        int status; /* of waitpid(), once it is over */
        bool over;
    } job;
    uint32_t news; /* bits; changed atomically */

    bool released; /* the job was let go: from here on the leader goes on without a keeper */
    bool exit_written;
    bool stop_by_key;      /* who is in charge asked for a stop, and not for going on */
    int64_t left_ms;       /* when that one left, 0: it is there */
    bool interrupt_by_key; /* the last SIGINT that we know of came from the terminal */
    uint64_t keys_unread;
    int engine_status, failure; /* errno */
    uint32_t due;               /* bits */
};

#endif
