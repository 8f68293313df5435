/* One agreement of one group: the engine's side of "all ranks switch at the same step". The rules
 * stand in engine/wire/page.h.
 *
 * A state machine without input or output of its own. How its owner drives it:
 *
 *     agreement_begin()  draws an id and sends PREPARE to all members through send()
 *     agreement_vote()   for each VOTE frame. With the last vote it opens, arms the gates in the
 *                        page and decides, all at once, in some microseconds
 *     agreement_lost()   when a member's connection ends
 *     agreement_turn()   now and then: looks at the deadline
 *
 * Each returns the result: AGREEMENT_VOTING until it has ended, and the same result for ever after.
 * An agreement that ends without a decision has sent ABANDON to its members. Trying again is the
 * owner's business: a new agreement_begin(), which draws a new id. After a decision the ranks
 * switch by themselves; they say so in events.
 *
 * An engine calls page_settle_open() on every group at its start. Two agreements of one group at
 * the same time, even from two engines, cannot split: one of them ends AGREEMENT_OVERTAKEN. One
 * thread. No memory is kept; `struct agreement` may be freed or used again at any time.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RUN_AGREEMENT_H
#define INDUCTOP_RUN_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wire/page.h"

/* AGREEMENT_RESULT(symbol, may another attempt help, text) */
#define AGREEMENT_RESULTS(AGREEMENT_RESULT)                                                        \
    AGREEMENT_RESULT(VOTING, false, "the ranks are being asked")                                   \
    AGREEMENT_RESULT(DONE, false, "agreed")                                                        \
    AGREEMENT_RESULT(NOT_ALL, true, "not all ranks of the group are connected")                    \
    AGREEMENT_RESULT(REFUSED, false, "a rank refused")                                             \
    AGREEMENT_RESULT(NO_VOTE, true, "not all ranks answered in time")                              \
    AGREEMENT_RESULT(OVERTAKEN, true, "another proposal was faster")                               \
    AGREEMENT_RESULT(JOINED, true, "a rank joined meanwhile")                                      \
    AGREEMENT_RESULT(STALE, true, "a rank was busy with an older proposal")                        \
    AGREEMENT_RESULT(RANK_ABORTED, true, "a rank waited too long for the decision")                \
    AGREEMENT_RESULT(APART, false, "ranks count steps differently")                                \
    AGREEMENT_RESULT(NO_ID, false, "the session has used up its proposals")

enum agreement_result {
#define AGREEMENT_RESULT(symbol, again, text) AGREEMENT_##symbol,
    AGREEMENT_RESULTS(AGREEMENT_RESULT) AGREEMENT_RESULT_COUNT
#undef AGREEMENT_RESULT
};

const char *agreement_text(enum agreement_result result);
bool agreement_may_retry(enum agreement_result result);

enum { AGREEMENT_AHEAD = 2, AGREEMENT_APART_MAX = 64 };

/* A rank that is connected, as its hello said. Whoever maps another page (another nonce) is not
 * connected. */
struct agreement_member {
    uint32_t slot, gen;
};

struct agreement_question {
    struct page *page;
    uint32_t group;
    const struct agreement_member *members; /* lent during agreement_begin() */
    size_t count;
    const void *payload; /* of PREPARE, behind the id; lent during agreement_begin() */
    size_t payload_size;
    uint64_t deadline_ns; /* for the votes */
    unsigned ahead;       /* steps from a rank's count to its gate, 0: AGREEMENT_AHEAD */

    /* Sends a frame to the member in `slot`; false: it is not connected. Used, with `ctx`, until
     * the agreement has ended. It may report the loss of a member by agreement_lost(), nothing
     * else. */
    bool (*send)(void *ctx, uint32_t slot, uint8_t type, const void *bytes, size_t size);
    void *ctx;

    void (*point)(const char *where); /* NULL; tests may stop or kill the process here */
};

struct agreement {
    enum agreement_result result;
    uint32_t id;      /* 0: none was drawn */
    uint64_t step;    /* with DONE: the first step under the new settings */
    uint32_t slot;    /* with REFUSED, NO_VOTE, NOT_ALL, JOINED, STALE: who */
    char reason[512]; /* a sentence for people about the result, never empty once it has ended */

    struct page_group *group; /* from here on private */
    struct agreement_question question;
    page_word before;
    uint64_t seat[PAGE_SLOTS]; /* who was asked; 0: nobody there */
    bool has_voted[PAGE_SLOTS];
    unsigned asked, votes;
};

enum agreement_result agreement_begin(struct agreement *agreement,
                                      const struct agreement_question *question);

/* `reason`: of a refusal, NULL otherwise. Votes for other ids, or of others than those who were
 * asked, are ignored. */
enum agreement_result agreement_vote(struct agreement *agreement, uint32_t slot, uint32_t gen,
                                     uint32_t id, bool is_ready, const char *reason);
enum agreement_result agreement_lost(struct agreement *agreement, uint32_t slot, uint32_t gen);
enum agreement_result agreement_turn(struct agreement *agreement, uint64_t now_ns);

#endif
