/* The proposer: brings proposed settings to all ranks of a group, one proposal at a time in each group, the others in a queue.
 *
 * It drives the agreement (agreement.h) with the hub's peers: asks, collects votes, decides in the page, waits until every rank
 * has said what became of it. An attempt that ends without a decision is tried again with back-off, PROPOSER_TRIES at most,
 * each time with a new id. Loop thread only. What happens is told through ops.told(); nothing is called back from the calls
 * proposer_join() and proposer_rank_is().
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_PROPOSER_H
#define INDUCTOP_RUN_PROPOSER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/event/event.h"
#include "engine/run/hub.h"
#include "engine/wire/page.h"

enum {
    PROPOSER_TRIES = 5,
    PROPOSER_VOTE_MS = 20000, /* a rank answers at its next boundary, which a compilation may put off */
};

struct proposer;

/* A proposal as told; lent during the call. */
struct proposal {
    uint32_t group;     /* index in the page */
    uint32_t id;        /* of the present attempt */
    const char *by;     /* a literal: viewer, baseline, engine */
    const char *status; /* a literal: proposed, ready, committed, applied, failed, refused, aborted, missed, not reached */
    const char *reason; /* NULL or why */
    bool again;         /* this attempt is over, another follows */
    bool is_over;       /* nothing more will be told of it */
    uint64_t at;        /* the step, once committed */
    uint64_t ends;      /* the first step behind its schedule, once committed */
    uint64_t device_bytes; /* that its device must have free, or a rank refuses; 0: any */
    json_t *from, *schedule, *tag; /* settings before; [[offset, settings], ...]; NULL or what the asker gave */
    json_t *forget; /* NULL, or settings whose compiled code is let go when it begins */
    json_t *freed;  /* what that came to, as a rank told it; NULL: nothing was told */
};

struct proposer_ops {
    void (*told)(void *ctx, const struct proposal *proposal);

    /* A rank said that it is ready for it. May be NULL. */
    void (*ready)(void *ctx, const struct proposal *proposal, const struct peer *peer);
    void *ctx;
};

struct proposer *proposer_new(struct page *page, const struct proposer_ops *ops);
void proposer_free(struct proposer *proposer); /* accepts NULL */

struct proposer_rank {
    struct peer *peer;
    uint32_t group, slot, gen;
};

void proposer_join(struct proposer *proposer, const struct proposer_rank *rank);
void proposer_leave(struct proposer *proposer, const struct peer *peer);

/* What a rank said it is: "finished" and "exited" end its part in proposals. */
void proposer_rank_is(struct proposer *proposer, const struct peer *peer, const char *state);

void proposer_vote(struct proposer *proposer, const struct peer *peer, uint32_t id, bool ready, const char *reason);

/* A switch event that came from a rank. */
void proposer_result(struct proposer *proposer, const struct peer *peer, const struct event *event);

/* Queues a proposal; takes over the references of `from`, `schedule`, `tag` and `forget` (those two may be NULL). */
void proposer_propose(struct proposer *proposer, const struct proposal *what);

/* Is anything queued, asked or running in this group? */
bool proposer_is_busy(const struct proposer *proposer, uint32_t group);

/* The settings that the last proposal queued or running in this group ends in (lent), or NULL when there is none. */
const json_t *proposer_pending(const struct proposer *proposer, uint32_t group);

/* Does what the time asks for; call it every 5 to 50 ms, and after votes. */
void proposer_turn(struct proposer *proposer, uint64_t now_ns);

/* Ends everything that is not over yet: "not reached", with the reason. */
void proposer_end(struct proposer *proposer, const char *reason);

#endif
