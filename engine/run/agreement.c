/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/agreement.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/attr.h"
#include "engine/base/mem.h"
#include "engine/wire/frame.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

static const struct {
    bool again;
    const char *text;
} results[AGREEMENT_RESULT_COUNT] = {
#define AGREEMENT_RESULT(symbol, again, text) [AGREEMENT_##symbol] = {again, text},
    AGREEMENT_RESULTS(AGREEMENT_RESULT)
#undef AGREEMENT_RESULT
};

const char *agreement_text(enum agreement_result result) {
    return results[result].text;
}

bool agreement_may_retry(enum agreement_result result) {
    return results[result].again;
}

static void point(const struct agreement *a, const char *where) {
    if (a->question.point) a->question.point(where);
}

/* ---- the end */

/* `detail` may be NULL. The decision stands in the page by now, if there is one; the frames only
 * let ranks forget sooner what they have prepared. */
static void ATTR_PRINTF(4, 5) finish(struct agreement *a, enum agreement_result result,
                                     uint32_t slot, const char *detail, ...) {
    if (a->result != AGREEMENT_VOTING)
        return; /* a lost connection may have been told of while we were sending */
    a->result = result;
    a->slot = slot;
    int used =
        snprintf(a->reason, sizeof a->reason, detail ? "%s: " : "%s", agreement_text(result));
    va_list args;
    va_start(args, detail);
    if (detail) vsnprintf(a->reason + used, sizeof a->reason - (size_t)used, detail, args);
    va_end(args);
    if (result == AGREEMENT_DONE || !a->id) return;
    const struct prepare_record record = {.id = a->id};
    for (uint32_t i = 0; i < PAGE_SLOTS; i++)
        if (a->seat[i]) a->question.send(a->question.ctx, i, FRAME_ABANDON, &record, sizeof record);
}

static uint32_t rank_at(const struct agreement *a, uint32_t slot) {
    return atomic_load(&a->group->slot[slot].rank);
}

/* ---- asking */

/* A seat whose process is gone is freed; one whose process lives and is not connected stops the
 * proposal. */
static bool write_roster(struct agreement *a, const struct agreement_member *members,
                         size_t count) {
    uint32_t gen[PAGE_SLOTS] = {0}; /* 0 is nobody's */
    for (size_t i = 0; i < count; i++)
        if (members[i].slot < PAGE_SLOTS) gen[members[i].slot] = members[i].gen;
    for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
        uint64_t seat = atomic_load(&a->group->slot[i].seat);
        uint32_t pid = page_seat_pid(seat);
        if (!pid) continue;
        if (gen[i] == page_seat_gen(seat)) {
            a->seat[i] = seat;
            a->asked++;
        } else if (page_is_alive(pid) || !atomic_compare_exchange_strong(&a->group->slot[i].seat,
                                                                         &seat, seat >> 32 << 32)) {
            finish(a, AGREEMENT_NOT_ALL, i, "rank %u, process %u", rank_at(a, i), pid);
            return false;
        }
    }
    uint32_t world = atomic_load(&a->group->world);
    if (a->asked && a->asked >= world) return true;
    finish(a, AGREEMENT_NOT_ALL, 0, "%u of %u", a->asked, world);
    return false;
}

static bool are_together(struct agreement *a) {
    uint64_t low = UINT64_MAX, high = 0;
    for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
        if (!a->seat[i]) continue;
        uint64_t step = atomic_load(&a->group->slot[i].step);
        if (step < low) low = step;
        if (step > high) high = step;
    }
    if (high - low <= AGREEMENT_APART_MAX) return true;
    finish(a, AGREEMENT_APART, 0, "one is at step %llu, another at %llu", (unsigned long long)low,
           (unsigned long long)high);
    return false;
}

static void ask(struct agreement *a, const struct agreement_question *question) {
    size_t size = sizeof(struct prepare_record) + question->payload_size;
    CLEANUP(cleanup_free) uint8_t *bytes = mem_new(size);
    const struct prepare_record record = {.id = a->id};
    memcpy(bytes, &record, sizeof record);
    if (question->payload_size)
        memcpy(bytes + sizeof record, question->payload, question->payload_size);
    for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
        if (!a->seat[i]) continue;
        if (!question->send(question->ctx, i, FRAME_PREPARE, bytes, size))
            finish(a, AGREEMENT_NOT_ALL, i, "rank %u cannot be reached", rank_at(a, i));
        if (a->result != AGREEMENT_VOTING) return;
        point(a, "asked");
    }
}

enum agreement_result agreement_begin(struct agreement *a,
                                      const struct agreement_question *question) {
    *a = (struct agreement){.result = AGREEMENT_VOTING,
                            .question = *question,
                            .group = &question->page->group[question->group]};
    a->question.members = NULL; /* lent for this call only, as is the payload */
    a->question.payload = NULL;
    if (!a->question.ahead) a->question.ahead = AGREEMENT_AHEAD;

    /* The word as it is before anyone is asked. What an engine before us left open ends here. */
    a->before = atomic_load(&a->group->word);
    if (page_low(a->before) == PAGE_OPEN) a->before = page_abort(a->group, page_id(a->before));
    if (!write_roster(a, question->members, question->count) || !are_together(a)) return a->result;
    a->id = page_has_rule("ids") ? page_new_id(question->page) : page_id(a->before) + 1;
    if (a->id)
        ask(a, question);
    else
        finish(a, AGREEMENT_NO_ID, 0, NULL);
    return a->result;
}

/* ---- deciding */

/* `last` only ever rises: steps lead in a word. */
static void keep_last(struct agreement *a) {
    page_word last = atomic_load(&a->group->last);
    while (page_low(a->before) == PAGE_COMMITTED && last < a->before)
        if (atomic_compare_exchange_weak(&a->group->last, &last, a->before)) return;
}

static bool swap_open(struct agreement *a) {
    page_word before = a->before, open = page_pack(0, a->id, PAGE_OPEN);
    if (!page_has_rule("swap")) {
        atomic_store(&a->group->word, open);
        return true;
    }
    if (atomic_compare_exchange_strong(&a->group->word, &before, open)) return true;
    finish(a, AGREEMENT_OVERTAKEN, 0, "proposal %u", page_id(before));
    return false;
}

/* Those who come are seen first and then look at the word; we have opened it first and look for
 * them now. */
static int find_newcomer(const struct agreement *a) {
    for (uint32_t i = 0; i < PAGE_SLOTS && page_has_rule("join"); i++) {
        uint64_t seat = atomic_load(&a->group->slot[i].seat);
        if (page_seat_pid(seat) && seat != a->seat[i]) return (int)i;
    }
    return -1;
}

/* The highest gate, 0: a rank could not be armed, `ret_slot` says which. */
static uint64_t arm_all(struct agreement *a, uint32_t *ret_slot) {
    uint64_t highest = 0;
    for (uint32_t i = 0; i < PAGE_SLOTS; i++) {
        if (!a->seat[i]) continue;
        uint64_t gate = page_arm(a->group, &a->group->slot[i], a->id, a->question.ahead);
        *ret_slot = i;
        if (!gate) return 0;
        if (gate > highest) highest = gate;
        point(a, "armed");
    }
    return highest;
}

static void give_up(struct agreement *a, enum agreement_result result, uint32_t slot) {
    page_abort(a->group, a->id);
    finish(a, result, slot, "rank %u", rank_at(a, slot));
}

static void decide(struct agreement *a) {
    point(a, "voted");
    if (!are_together(a)) return;
    keep_last(a);
    if (!swap_open(a)) return;
    point(a, "opened");
    int newcomer = find_newcomer(a);
    if (newcomer >= 0) {
        give_up(a, AGREEMENT_JOINED, (uint32_t)newcomer);
        return;
    }
    uint32_t slot = 0;
    uint64_t step = arm_all(a, &slot);
    if (!step) {
        give_up(a, AGREEMENT_STALE, slot);
        return;
    }
    point(a, "deciding");
    page_word commit = page_pack(step, a->id, PAGE_COMMITTED),
              open = page_pack(0, a->id, PAGE_OPEN);
    if (!atomic_compare_exchange_strong(&a->group->word, &open, commit)) {
        finish(a, AGREEMENT_RANK_ABORTED, 0, NULL);
        return;
    }
    point(a, "decided"); /* killed here, the waiting wake up by their own deadline */
    page_wake(a->group);
    a->step = step;
    finish(a, AGREEMENT_DONE, 0, "at step %llu", (unsigned long long)step);
}

/* ---- what comes in */

static bool is_asked(const struct agreement *a, uint32_t slot, uint32_t gen) {
    return a->result == AGREEMENT_VOTING && slot < PAGE_SLOTS && a->seat[slot] &&
           page_seat_gen(a->seat[slot]) == gen;
}

enum agreement_result agreement_vote(struct agreement *a, uint32_t slot, uint32_t gen, uint32_t id,
                                     bool is_ready, const char *reason) {
    if (!is_asked(a, slot, gen) || id != a->id || a->has_voted[slot]) return a->result;
    if (!is_ready) {
        finish(a, AGREEMENT_REFUSED, slot, "rank %u: %s", rank_at(a, slot),
               reason ? reason : "no reason given");
        return a->result;
    }
    a->has_voted[slot] = true;
    if (++a->votes == a->asked || !page_has_rule("votes")) decide(a);
    return a->result;
}

enum agreement_result agreement_lost(struct agreement *a, uint32_t slot, uint32_t gen) {
    if (is_asked(a, slot, gen))
        finish(a, AGREEMENT_NOT_ALL, slot, "lost rank %u", rank_at(a, slot));
    return a->result;
}

enum agreement_result agreement_turn(struct agreement *a, uint64_t now_ns) {
    if (a->result != AGREEMENT_VOTING || now_ns < a->question.deadline_ns) return a->result;
    for (uint32_t i = 0; i < PAGE_SLOTS; i++)
        if (a->seat[i] && !a->has_voted[i]) {
            finish(a, AGREEMENT_NO_VOTE, i, "rank %u", rank_at(a, i));
            break;
        }
    return a->result;
}
