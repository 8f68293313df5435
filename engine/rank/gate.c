/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rank/gate.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/banned.h"

const char *gate_outcome_name(enum gate_outcome outcome) {
    static const char *const names[] = {
        [GATE_ABORTED] = "aborted", [GATE_MISSED] = "missed", [GATE_DROPPED] = "dropped"};
    return names[outcome];
}

static void kick(struct gate *gate) {
    if (gate->ops->kick) gate->ops->kick(gate->ctx);
}

static void tell(struct gate *gate, uint32_t id, uint64_t count, enum gate_outcome outcome) {
    if (gate->ops->outcome) gate->ops->outcome(gate->ctx, id, count, outcome);
}

static void forget_schedule(struct gate *gate) {
    gate->schedule_id = gate->entry = 0;
    gate->schedule_at = PAGE_STEP_NEVER;
}

/* ---- seat */

static void go_nowhere(struct gate *gate, uint64_t count) {
    atomic_store(&gate->nowhere.look, PAGE_REST);
    atomic_store(&gate->nowhere.step, count);
    atomic_store(&gate->slot, &gate->nowhere);
    atomic_store(&gate->has_seat, false);
}

void gate_init(struct gate *gate, const struct gate_ops *ops, void *ctx, uint64_t count) {
    gate->ops = ops;
    gate->ctx = ctx;
    gate->page = NULL;
    gate->group = NULL;
    gate->seat = (struct page_seat){0};
    gate->in_force = 0;
    forget_schedule(gate);
    atomic_store(&gate->decided, 0);
    gate->mail_id = gate->vote_id = 0;
    gate->mail_is_waiting = false;
    gate->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    go_nowhere(gate, count);
}

void gate_abandon(struct gate *gate) {
    forget_schedule(gate);
    go_nowhere(gate, gate_count(gate));
}

void gate_leave(struct gate *gate) {
    bool had_seat = atomic_load(&gate->has_seat);
    go_nowhere(gate, gate_count(gate));
    if (had_seat) page_leave_seat(gate->page, &gate->seat);
}

/* A commit of people who are all gone is nobody's: somebody who took part in `id` must be there. */
static bool has_witness(struct gate *gate, uint32_t id) {
    for (unsigned i = 0; i < PAGE_SLOTS; i++) {
        struct page_slot *other = &gate->group->slot[i];
        uint32_t pid = page_seat_pid(atomic_load(&other->seat));
        page_word look = atomic_load(&other->look);
        bool took_part = atomic_load(&other->voted) == id || atomic_load(&other->force) == id ||
                         (page_low(look) == LOOK_SWITCH && page_id(look) == id);
        if (i != gate->seat.slot && pid && took_part && page_is_alive(pid)) return true;
    }
    return false;
}

/* Seen first (the seat), then the step, then the word; an engine opens first and then looks for us.
 * So at most one more commit can happen without us: of what was open before. */
static void be_born(struct gate *gate) {
    struct page_slot *slot = gate_slot(gate);
    struct page_group *group = gate->group;
    page_word last = atomic_load(&group->last);
    bool comes_along = gate->ops->first_step != NULL;
    uint64_t step = comes_along ? gate->ops->first_step(gate->ctx) : gate_count(gate);
    atomic_store(&slot->step, step);
    page_word word = atomic_load(&group->word);
    if (page_low(word) == PAGE_OPEN) word = page_abort(group, page_id(word));
    if (page_low(word) != PAGE_COMMITTED) word = atomic_load(&group->last);
    if (page_step(word) <= step)
        last = word;
    else if (comes_along)
        atomic_store(&slot->look, page_pack(page_step(word), page_id(word), LOOK_SWITCH));
    if (comes_along)
        gate->in_force = page_id(last);
    else if (page_id(word) && has_witness(gate, page_id(word)))
        gate->in_force = page_id(word);
    if (comes_along) atomic_store(&slot->force, page_id(last));
}

int gate_join(struct gate *gate, struct page *page, const char *key, uint32_t rank, uint32_t world,
              struct err *err) {
    if (atomic_load(&gate->has_seat))
        return err_set(err, ERR_BUSY, "this process has a seat in group '%s' already", key);
    struct page_seat seat;
    int rc = page_take_seat(page, key, rank, world, &seat, err);
    if (rc < 0) return rc;
    uint64_t count = gate_count(gate);
    gate->page = page;
    gate->seat = seat;
    gate->group = &page->group[seat.group];
    struct page_slot *slot = &gate->group->slot[seat.slot];
    atomic_store(&slot->voted, 0);
    atomic_store(&slot->force, 0);
    atomic_store(&slot->look, PAGE_REST);
    atomic_store(&slot->step, count);
    atomic_store(&gate->slot, slot);
    be_born(gate);
    atomic_store(&gate->has_seat, true);
    return 0;
}

/* ---- sender thread */

void gate_refuse(struct gate *gate, uint32_t id, const char *reason) {
    pthread_mutex_lock(&gate->lock);
    gate->vote_id = id;
    gate->vote_is_ready = false;
    snprintf(gate->vote_reason, sizeof gate->vote_reason, "%s", reason);
    pthread_mutex_unlock(&gate->lock);
}

void gate_offer(struct gate *gate, uint32_t id, const uint8_t *payload, size_t size) {
    if (id == 0 || id > PAGE_ID_MAX) return;
    if (size > GATE_PAYLOAD_MAX) {
        gate_refuse(gate, id, "the proposal is longer than 64 KiB");
        return;
    }
    if (!atomic_load(&gate->has_seat)) {
        gate_refuse(gate, id, "this process has no seat on the decision page");
        return;
    }
    pthread_mutex_lock(&gate->lock);
    gate->mail_id = id;
    gate->mail_size = size;
    gate->mail_is_waiting = true;
    memcpy(gate->mail, payload, size);
    pthread_mutex_unlock(&gate->lock);
    gate_hand_over(gate);
}

void gate_withdraw(struct gate *gate, uint32_t id) {
    pthread_mutex_lock(&gate->lock);
    if (id == 0 || gate->mail_id == id) gate->mail_id = 0, gate->mail_is_waiting = false;
    if (id == 0 || gate->vote_id == id) gate->vote_id = 0;
    pthread_mutex_unlock(&gate->lock);
    page_word look = atomic_load(&gate_slot(gate)->look);
    if (page_low(look) == LOOK_PREPARE && (id == 0 || page_id(look) == id))
        atomic_compare_exchange_strong(&gate_slot(gate)->look, &look, PAGE_REST);
}

/* A gate whose proposal was aborted before the gate was met may be forgotten early. */
static page_word forget_dead_gate(struct gate *gate, page_word look) {
    uint32_t id = page_id(look);
    bool dead = atomic_load(&gate->group->word) == page_pack(0, id, PAGE_ABORTED) ||
                atomic_load(&gate_slot(gate)->voted) != id;
    if (dead && atomic_compare_exchange_strong(&gate_slot(gate)->look, &look, PAGE_REST))
        return PAGE_REST;
    return look;
}

void gate_hand_over(struct gate *gate) {
    pthread_mutex_lock(&gate->lock);
    uint32_t id = gate->mail_is_waiting ? gate->mail_id : 0;
    pthread_mutex_unlock(&gate->lock);
    if (!id || !atomic_load(&gate->has_seat)) return;
    page_word look = atomic_load(&gate_slot(gate)->look);
    if (page_low(look) == LOOK_GATE) look = forget_dead_gate(gate, look);
    bool is_free = page_low(look) == LOOK_IDLE || page_low(look) == LOOK_PREPARE;
    if (!is_free && page_has_rule("settle")) return;
    if (!atomic_compare_exchange_strong(&gate_slot(gate)->look, &look,
                                        page_pack(0, id, LOOK_PREPARE)))
        return;
    pthread_mutex_lock(&gate->lock);
    gate->mail_is_waiting = false;
    pthread_mutex_unlock(&gate->lock);
}

bool gate_take_vote(struct gate *gate, struct gate_vote *ret_vote) {
    pthread_mutex_lock(&gate->lock);
    bool has = gate->vote_id != 0;
    if (has) {
        ret_vote->id = gate->vote_id;
        ret_vote->is_ready = gate->vote_is_ready;
        memcpy(ret_vote->reason, gate->vote_reason, sizeof ret_vote->reason);
        gate->vote_id = 0;
    }
    pthread_mutex_unlock(&gate->lock);
    return has;
}

/* ---- training thread */

/* Nothing of `id` is pending any more. The sender may have been quicker. */
static void settle(struct gate *gate, uint32_t id) {
    page_word look = atomic_load(&gate_slot(gate)->look);
    while (page_id(look) == id && page_low(look) != LOOK_IDLE)
        if (atomic_compare_exchange_weak(&gate_slot(gate)->look, &look, PAGE_REST)) break;
    kick(gate);
}

static bool open_mail(struct gate *gate, uint32_t id, size_t *ret_size) {
    pthread_mutex_lock(&gate->lock);
    bool is_there = gate->mail_id == id;
    if (is_there) {
        *ret_size = gate->mail_size;
        memcpy(gate->opened, gate->mail, gate->mail_size);
        gate->mail_id = 0;
        gate->mail_is_waiting = false;
    }
    pthread_mutex_unlock(&gate->lock);
    return is_there;
}

static void vote(struct gate *gate, uint32_t id, bool is_ready, const char *reason) {
    pthread_mutex_lock(&gate->lock);
    gate->vote_id = id;
    gate->vote_is_ready = is_ready;
    snprintf(gate->vote_reason, sizeof gate->vote_reason, "%s", reason);
    pthread_mutex_unlock(&gate->lock);
    kick(gate);
}

static void prepare(struct gate *gate, page_word look) {
    uint32_t id = page_id(look);
    char reason[GATE_REASON_ROOM] = "";
    size_t size = 0;
    if (!open_mail(gate, id, &size)) { /* withdrawn */
        atomic_compare_exchange_strong(&gate_slot(gate)->look, &look, PAGE_REST);
        return;
    }
    bool is_ready = gate->ops->prepare(gate->ctx, id, gate->opened, size, reason);
    /* Before look is at rest, so before anybody can arm it. When the swap fails, it was withdrawn
     * or another came. */
    atomic_store(&gate_slot(gate)->voted, id);
    if (atomic_compare_exchange_strong(&gate_slot(gate)->look, &look, PAGE_REST))
        vote(gate, id, is_ready, reason);
}

/* The word, as soon as `id` is not open any more. A waker killed between its swap and its wake
 * costs the rest of the wait. */
static page_word await(struct gate *gate, uint32_t id) {
    const page_word open = page_pack(0, id, PAGE_OPEN);
    page_word word = atomic_load(&gate->group->word);
    if (word != open) return word;
    uint64_t from = clock_now_ns();
    void *state = gate->ops->unlock ? gate->ops->unlock(gate->ctx) : NULL;
    while ((word = atomic_load(&gate->group->word)) == open) {
        if (page_wait(gate->group, open, from + GATE_WAIT_NS) == 0) continue;
        /* Time, a signal, or no futex here at all. */
        if (page_has_rule("abort")) word = page_abort(gate->group, id);
        break;
    }
    if (gate->ops->relock) gate->ops->relock(gate->ctx, state);
    if (gate->ops->waited) gate->ops->waited(gate->ctx, id, from, clock_now_ns());
    return word;
}

/* Entry `gate->entry` of `id` now. What is left of a schedule is this rank's own business, the same on every rank; so nothing of
 * it is pending on the page, and the next proposal can be voted for while it runs. */
static void run_entry(struct gate *gate, uint32_t id, uint64_t count) {
    uint64_t next = gate->ops->apply(gate->ctx, id, count, gate->entry);
    if (next <= count || next >= PAGE_STEP_NEVER - 1) {
        forget_schedule(gate);
        return;
    }
    gate->entry++;
    gate->schedule_id = id;
    gate->schedule_at = next;
}

static void apply(struct gate *gate, uint32_t id, uint64_t count) {
    gate_drop_schedule(gate, count);
    run_entry(gate, id, count);
    atomic_store(&gate_slot(gate)->force, id);
    atomic_store(&gate->decided, id);
    settle(gate, id);
}

void gate_continue(struct gate *gate, uint64_t count) {
    run_entry(gate, gate->schedule_id, count);
}

static void meet_gate(struct gate *gate, uint64_t count, page_word look) {
    uint32_t id = page_id(look);
    if (id != atomic_load(&gate_slot(gate)->voted)) { /* set by somebody out of date */
        settle(gate, id);
        return;
    }
    if (count > page_step(look))
        return; /* set behind our back; page_arm() sees our count and raises it */
    page_word word = await(gate, id);
    if (page_id(word) != id || page_low(word) == PAGE_OPEN) {
        settle(gate, id);
        tell(gate, id, count, GATE_MISSED);
    } else if (page_low(word) == PAGE_ABORTED) {
        settle(gate, id);
        tell(gate, id, count, GATE_ABORTED);
    } else if (page_step(word) <= count) {
        apply(gate, id, count);
    } else { /* all gates are set, so nobody else writes look now */
        atomic_store(&gate_slot(gate)->look, page_pack(page_step(word), id, LOOK_SWITCH));
    }
}

void gate_look(struct gate *gate, uint64_t count, page_word look) {
    switch (page_low(look)) {
    case LOOK_PREPARE: prepare(gate, look); return;
    case LOOK_GATE: meet_gate(gate, count, look); return;
    case LOOK_SWITCH: apply(gate, page_id(look), count); return;
    default: return;
    }
}

uint32_t gate_drop_schedule(struct gate *gate, uint64_t count) {
    uint32_t id = gate->schedule_id;
    if (!id) return 0;
    forget_schedule(gate);
    tell(gate, id, count, GATE_DROPPED);
    return id;
}
