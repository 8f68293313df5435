/* The rank's side of "all ranks of a group switch at the same step": its seat on the decision page,
 * the look after every step, and the mailbox between the sender thread (which hears of proposals)
 * and the training thread (which prepares, votes and switches). The rules it keeps stand in
 * engine/wire/page.h.
 *
 * Training thread: gate_boundary(), gate_drop_schedule(). Sender thread: gate_offer(),
 * gate_withdraw(), gate_hand_over(), gate_take_vote(). Nothing allocates. gate_boundary() may wait
 * GATE_WAIT_NS at most, and only at an open gate.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INDUCTOP_RANK_GATE_H
#define INDUCTOP_RANK_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/wire/page.h"

enum { GATE_PAYLOAD_MAX = 64 << 10, GATE_REASON_ROOM = 1024 };
#define GATE_WAIT_NS UINT64_C(50000000)

/* Why something prepared is to be forgotten. */
enum gate_outcome {
    GATE_ABORTED, /* not agreed */
    GATE_MISSED,  /* agreed, but this rank cannot take part any more */
    GATE_DROPPED, /* a schedule that was running ends here: another switch acts, or a plan */
};
const char *gate_outcome_name(enum gate_outcome outcome);

/* Called by the training thread inside gate_boundary(), all but first_step. All but prepare and
 * apply may be NULL. */
struct gate_ops {
    /* Asked in gate_join(), once the group can see us; not below the slowest rank's count. NULL:
     * counts from 0 and has no part in what was agreed before it came. */
    uint64_t (*first_step)(void *ctx);
    /* Make ready what `payload` asks for. False: refused, with the reason in `ret_reason`. Replaces
     * what was prepared before. */
    bool (*prepare)(void *ctx, uint32_t id, const uint8_t *payload, size_t size,
                    char ret_reason[GATE_REASON_ROOM]);
    /* Switch to entry `index` now. Returns the count at which the next entry acts, 0: it was the
     * last. */
    uint64_t (*apply)(void *ctx, uint32_t id, uint64_t count, uint32_t index);
    void (*outcome)(void *ctx, uint32_t id, uint64_t count, enum gate_outcome outcome);
    void (*waited)(void *ctx, uint32_t id, uint64_t from_ns, uint64_t to_ns);
    void *(*unlock)(void *ctx); /* around a wait: give up the interpreter's lock, take it again */
    void (*relock)(void *ctx, void *state);
    void (*kick)(void *ctx); /* the sender has something to do: a vote, or it may hand over */
};

struct gate {
    struct page *page; /* lent */
    struct page_group *group;
    /* Never NULL: before gate_join() and after gate_leave() it is `nowhere`. */
    _Atomic(struct page_slot *) slot;
    _Atomic bool has_seat;
    struct page_slot nowhere;
    struct page_seat seat;
    const struct gate_ops *ops;
    void *ctx;
    uint32_t in_force; /* what the group had agreed on when this rank came; 0: nothing */

    /* The training thread's own: the schedule that runs. */
    uint32_t schedule_id; /* 0: none */
    uint32_t entry;       /* index of its next entry */
    uint64_t schedule_at; /* count at which that acts, PAGE_STEP_NEVER: none does */
    _Atomic uint32_t decided; /* last proposal that was applied here */

    pthread_mutex_t lock; /* of all below, held for a copy */
    uint32_t mail_id;     /* 0: no mail */
    bool mail_is_waiting; /* not handed over yet */
    size_t mail_size;
    uint8_t mail[GATE_PAYLOAD_MAX];
    uint32_t vote_id; /* 0: no vote to send */
    bool vote_is_ready;
    char vote_reason[GATE_REASON_ROOM];

    uint8_t opened[GATE_PAYLOAD_MAX]; /* the training thread's own copy of the mail */
};

/* Starts with a private slot: gate_boundary() counts from `count` and nothing else happens. */
void gate_init(struct gate *gate, const struct gate_ops *ops, void *ctx, uint64_t count);

/* Takes the seat of `rank` in the group of `key`. The page stays the caller's and must outlive the
 * gate. */
int gate_join(struct gate *gate, struct page *page, const char *key, uint32_t rank, uint32_t world,
              struct err *err);

/* Gives the seat up; the page must stay mapped, since a step may be under way in another thread. */
void gate_leave(struct gate *gate);

/* For a forked child: the seat is the parent's, so nothing of the page is touched from here on. */
void gate_abandon(struct gate *gate);

/* The slow parts of gate_boundary(): the page or the sender wants something at this count; the next entry of a schedule acts. */
void gate_look(struct gate *gate, uint64_t count, page_word look);
void gate_continue(struct gate *gate, uint64_t count);

static inline struct page_slot *gate_slot(const struct gate *gate) {
    return atomic_load_explicit(&gate->slot, memory_order_relaxed);
}

/* After every step; returns the steps done. With nothing pending: one store, two loads.
 * The store of step and the load of look are both seq_cst, as are their counterparts in page_arm():
 * either this thread sees the gate, or the other side sees the step. Acquire and release alone
 * would not do. */
static inline uint64_t gate_boundary(struct gate *gate) {
    struct page_slot *slot = gate_slot(gate);
    uint64_t count = atomic_load_explicit(&slot->step, memory_order_relaxed) + 1;
    atomic_store(&slot->step, count);
    page_word look = atomic_load(&slot->look);
    if (__builtin_expect(page_step(look) <= count, 0)) gate_look(gate, count, look);
    if (__builtin_expect(gate->schedule_at <= count, 0)) gate_continue(gate, count); /* unless another switch ended it just now */
    return count;
}

static inline uint64_t gate_count(const struct gate *gate) {
    return atomic_load_explicit(&gate_slot(gate)->step, memory_order_relaxed);
}

/* Ends a schedule that has begun, at this boundary. Returns its id, 0: there was none. */
uint32_t gate_drop_schedule(struct gate *gate, uint64_t count);

/* ---- sender thread */

/* A proposal has come; it takes the place of one that was not handed over yet. A payload over
 * GATE_PAYLOAD_MAX is refused by a vote. */
void gate_offer(struct gate *gate, uint32_t id, const uint8_t *payload, size_t size);
void gate_refuse(struct gate *gate, uint32_t id, const char *reason);

/* The proposal `id` (0: any) is over before it was opened, or its engine is gone. */
void gate_withdraw(struct gate *gate, uint32_t id);

/* Hands the waiting proposal to the training thread, once nothing older is pending. Call it after
 * each kick. */
void gate_hand_over(struct gate *gate);

struct gate_vote {
    uint32_t id;
    bool is_ready;
    char reason[GATE_REASON_ROOM]; /* of a refusal */
};
bool gate_take_vote(struct gate *gate, struct gate_vote *ret_vote);

#endif
