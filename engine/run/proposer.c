/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/run/proposer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/run/agreement.h"
#include "engine/base/banned.h"

enum { BACK_OFF_MS = 10 }; /* times 4 after each try: 5 tries in 14 s at the most */

enum result { RESULT_NONE = 0, RESULT_APPLIED, RESULT_FAILED, RESULT_MISSED, RESULT_GONE };

struct member {
    struct proposer_rank rank;
    struct member *next;
    bool is_over;
};

enum phase { PHASE_QUEUED, PHASE_VOTING, PHASE_COMMITTED };

struct ticket {
    struct proposer *proposer;
    struct proposal told;
    struct ticket *next;
    enum phase phase;
    char reason[512];
    char *payload; /* of PREPARE */
    int tries;
    uint64_t next_try_ns;
    enum result results[PAGE_SLOTS]; /* by slot */
    struct agreement agreement;
};

struct proposer {
    struct page *page;
    struct proposer_ops ops;
    struct member *members;
    struct ticket *tickets; /* in the order in which they came */
};

struct proposer *proposer_new(struct page *page, const struct proposer_ops *ops) {
    struct proposer *proposer = mem_new(sizeof *proposer);
    proposer->page = page;
    proposer->ops = *ops;
    for (int i = 0; i < PAGE_GROUPS; i++) page_settle_open(&page->group[i]);
    return proposer;
}

static void free_ticket(struct ticket *ticket) {
    json_decref(ticket->told.from);
    json_decref(ticket->told.schedule);
    json_decref(ticket->told.tag);
    json_decref(ticket->told.forget);
    json_decref(ticket->told.freed);
    free(ticket->payload);
    free(ticket);
}

void proposer_free(struct proposer *proposer) {
    if (!proposer) return;
    for (struct member *member = proposer->members, *next; member; member = next) {
        next = member->next;
        free(member);
    }
    for (struct ticket *ticket = proposer->tickets, *next; ticket; ticket = next) {
        next = ticket->next;
        free_ticket(ticket);
    }
    free(proposer);
}

/* ---- members */

static struct member *member_of(const struct proposer *proposer, const struct peer *peer) {
    for (struct member *member = proposer->members; member; member = member->next)
        if (member->rank.peer == peer) return member;
    return NULL;
}

static struct member *member_at(const struct proposer *proposer, uint32_t group, uint32_t slot) {
    for (struct member *member = proposer->members; member; member = member->next)
        if (member->rank.group == group && member->rank.slot == slot) return member;
    return NULL;
}

static struct ticket *voting(const struct proposer *proposer, uint32_t group) {
    for (struct ticket *ticket = proposer->tickets; ticket; ticket = ticket->next)
        if (ticket->told.group == group && ticket->phase == PHASE_VOTING) return ticket;
    return NULL;
}

void proposer_join(struct proposer *proposer, const struct proposer_rank *rank) {
    if (rank->group >= PAGE_GROUPS || rank->slot >= PAGE_SLOTS) return;
    struct member *member = member_at(proposer, rank->group, rank->slot);
    if (!member) {
        member = mem_new(sizeof *member);
        member->next = proposer->members;
        proposer->members = member;
    }
    if (member->rank.gen != rank->gen) member->is_over = false; /* not the same process connected again */
    member->rank = *rank;
}

static struct page_slot *slot_of(const struct proposer *proposer, const struct member *member) {
    return &proposer->page->group[member->rank.group].slot[member->rank.slot];
}

/* Not connected is not dead: it leaves the group only when its process is gone. */
static bool is_gone(const struct proposer *proposer, const struct member *member) {
    uint64_t seat = atomic_load(&slot_of(proposer, member)->seat);
    return member->is_over || page_seat_gen(seat) != member->rank.gen || !page_seat_pid(seat) ||
           (!member->rank.peer && !page_is_alive(page_seat_pid(seat)));
}

void proposer_rank_is(struct proposer *proposer, const struct peer *peer, const char *state) {
    struct member *member = member_of(proposer, peer);
    if (member && (strcmp(state, "finished") == 0 || strcmp(state, "exited") == 0)) member->is_over = true;
}

/* ---- telling */

static void tell(struct proposer *proposer, struct ticket *ticket, const char *status, const char *reason) {
    ticket->told.status = status;
    if (reason != ticket->reason) snprintf(ticket->reason, sizeof ticket->reason, "%s", reason ? reason : "");
    ticket->told.reason = ticket->reason[0] ? ticket->reason : NULL;
    proposer->ops.told(proposer->ops.ctx, &ticket->told);
}

static void finish(struct proposer *proposer, struct ticket *ticket, const char *status, const char *reason) {
    ticket->told.is_over = true;
    ticket->told.again = false;
    for (struct ticket **at = &proposer->tickets; *at; at = &(*at)->next)
        if (*at == ticket) {
            *at = ticket->next;
            break;
        }
    tell(proposer, ticket, status, reason);
    free_ticket(ticket);
}

/* ---- an attempt */

static bool send_to(void *ctx, uint32_t slot, uint8_t type, const void *bytes, size_t size) {
    struct ticket *ticket = ctx;
    struct member *member = member_at(ticket->proposer, ticket->told.group, slot);
    return member && member->rank.peer && peer_send(member->rank.peer, type, bytes, size);
}

static size_t roster(const struct proposer *proposer, uint32_t group, struct agreement_member *ret) {
    size_t count = 0;
    for (const struct member *member = proposer->members; member; member = member->next)
        if (member->rank.group == group && member->rank.peer && !is_gone(proposer, member) && count < PAGE_SLOTS)
            ret[count++] = (struct agreement_member){.slot = member->rank.slot, .gen = member->rank.gen};
    return count;
}

static bool has_finished_rank(const struct proposer *proposer, uint32_t group) {
    for (const struct member *member = proposer->members; member; member = member->next)
        if (member->rank.group == group && is_gone(proposer, member)) return true;
    return false;
}

/* The attempt has ended without a decision. */
static void end_attempt(struct ticket *ticket, uint64_t now_ns) {
    const struct agreement *agreement = &ticket->agreement;
    struct proposer *proposer = ticket->proposer;
    ticket->told.id = agreement->id ? agreement->id : ticket->told.id;
    bool is_final = !agreement_may_retry(agreement->result) || ticket->tries >= PROPOSER_TRIES;
    bool is_refusal = agreement->result == AGREEMENT_REFUSED || agreement->result == AGREEMENT_APART ||
                      agreement->result == AGREEMENT_NOT_ALL;
    ticket->phase = PHASE_QUEUED;
    ticket->next_try_ns = now_ns + ((uint64_t)BACK_OFF_MS << 2 * ticket->tries) * 1000000;
    if (agreement->result == AGREEMENT_NOT_ALL && has_finished_rank(proposer, ticket->told.group))
        finish(proposer, ticket, "not reached", "a rank has left its loop");
    else if (is_final)
        finish(proposer, ticket, is_refusal ? "refused" : "aborted", agreement->reason);
    else {
        ticket->told.again = true;
        tell(proposer, ticket, "aborted", agreement->reason);
        ticket->told.again = false;
    }
}

/* A schedule that runs ends where the new switch acts. */
static void supersede(struct ticket *ticket) {
    for (struct ticket *old = ticket->proposer->tickets, *next; old && old != ticket; old = next) {
        next = old->next;
        if (old->told.group == ticket->told.group && old->phase == PHASE_COMMITTED)
            finish(ticket->proposer, old, "aborted", "another switch came in between");
    }
}

static void commit(struct ticket *ticket) {
    supersede(ticket);
    size_t entries = json_array_size(ticket->told.schedule);
    json_t *last = json_array_get(ticket->told.schedule, entries - 1);
    ticket->phase = PHASE_COMMITTED;
    ticket->told.at = ticket->agreement.step;
    ticket->told.ends = ticket->told.at + (uint64_t)json_integer_value(json_array_get(last, 0)) + 1;
    tell(ticket->proposer, ticket, "committed", NULL);
}

static void follow(struct ticket *ticket, enum agreement_result result, uint64_t now_ns) {
    if (ticket->phase != PHASE_VOTING || result == AGREEMENT_VOTING) return;
    if (result == AGREEMENT_DONE) commit(ticket);
    else end_attempt(ticket, now_ns);
}

static void start(struct ticket *ticket, uint64_t now_ns) {
    struct proposer *proposer = ticket->proposer;
    struct agreement_member members[PAGE_SLOTS];
    memset(ticket->results, 0, sizeof ticket->results);
    struct agreement_question question = {
        .page = proposer->page, .group = ticket->told.group, .members = members,
        .count = roster(proposer, ticket->told.group, members), .payload = ticket->payload,
        .payload_size = strlen(ticket->payload), .deadline_ns = now_ns + PROPOSER_VOTE_MS * UINT64_C(1000000),
        .send = send_to, .ctx = ticket};
    ticket->tries++;
    ticket->phase = PHASE_VOTING;
    enum agreement_result result = agreement_begin(&ticket->agreement, &question);
    ticket->told.id = ticket->agreement.id;
    if (result == AGREEMENT_VOTING || result == AGREEMENT_DONE) tell(proposer, ticket, "proposed", NULL);
    follow(ticket, result, now_ns);
}

/* ---- after the decision */

static void note_result(struct ticket *ticket, const struct member *member, const struct event *event) {
    const char *reason = event_text(event, "reason"), *file = event_text(event, "file");
    int64_t line = 0;
    enum result result = ticket->results[member->rank.slot];
    if (result != RESULT_FAILED && result != RESULT_MISSED) return;
    snprintf(ticket->reason, sizeof ticket->reason, "rank %d: %.300s", event->rank, reason ? reason : "no reason told");
    size_t used = strlen(ticket->reason);
    if (file && event_int(event, "line", &line))
        snprintf(ticket->reason + used, sizeof ticket->reason - used, " (%s:%lld)", file, (long long)line);
}

static bool is_later(const struct proposer *proposer, const struct member *member, uint64_t step) {
    return atomic_load(&slot_of(proposer, member)->step) >= step;
}

/* Looks whether every rank is through with it, and what came of it. */
static void settle(struct ticket *ticket) {
    const struct proposer *proposer = ticket->proposer;
    unsigned applied = 0, failed = 0, missed = 0, gone = 0;
    for (struct member *member = proposer->members; member; member = member->next) {
        if (member->rank.group != ticket->told.group) continue;
        enum result result = ticket->results[member->rank.slot];
        bool is_over = is_gone(proposer, member);
        if (is_over && result == RESULT_NONE) gone++;
        else if (result == RESULT_NONE) return;
        else if (result == RESULT_APPLIED) {
            if (!is_over && !is_later(proposer, member, ticket->told.ends)) return;
            applied++;
        } else if (result == RESULT_FAILED) failed++;
        else missed++;
    }
    if (failed) finish(ticket->proposer, ticket, "failed", ticket->reason);
    else if (missed) finish(ticket->proposer, ticket, "missed", ticket->reason);
    else if (gone || !applied) finish(ticket->proposer, ticket, "not reached", "a rank left its loop before the step");
    else finish(ticket->proposer, ticket, "applied", NULL);
}

/* May it be asked? What was committed before it must have begun on every rank: a schedule that runs may be ended. */
static bool is_next(const struct ticket *ticket) {
    const struct proposer *proposer = ticket->proposer;
    for (const struct ticket *old = proposer->tickets; old != ticket; old = old->next) {
        if (old->told.group != ticket->told.group) continue;
        if (old->phase != PHASE_COMMITTED || old->told.ends == old->told.at + 1) return false;
        if (strcmp(ticket->told.by, old->told.by) == 0) return false;
        for (const struct member *member = proposer->members; member; member = member->next)
            if (member->rank.group == old->told.group && !is_gone(proposer, member) &&
                old->results[member->rank.slot] == RESULT_NONE)
                return false;
    }
    return true;
}

/* ---- the door */

void proposer_vote(struct proposer *proposer, const struct peer *peer, uint32_t id, bool ready, const char *reason) {
    struct member *member = member_of(proposer, peer);
    struct ticket *ticket = member ? voting(proposer, member->rank.group) : NULL;
    if (!ticket) return;
    if (ready && id == ticket->agreement.id && proposer->ops.ready)
        proposer->ops.ready(proposer->ops.ctx, &ticket->told, peer);
    follow(ticket, agreement_vote(&ticket->agreement, member->rank.slot, member->rank.gen, id, ready, reason), clock_now_ns());
}

void proposer_leave(struct proposer *proposer, const struct peer *peer) {
    struct member *member = member_of(proposer, peer);
    if (!member) return;
    member->rank.peer = NULL;
    struct ticket *ticket = voting(proposer, member->rank.group);
    if (!ticket) return;
    follow(ticket, agreement_lost(&ticket->agreement, member->rank.slot, member->rank.gen), clock_now_ns());
}

void proposer_result(struct proposer *proposer, const struct peer *peer, const struct event *event) {
    static const struct {
        const char *status;
        enum result result;
    } results[] = {{"applied", RESULT_APPLIED}, {"failed", RESULT_FAILED}, {"missed", RESULT_MISSED},
                   {"not reached", RESULT_GONE}};
    struct member *member = member_of(proposer, peer);
    struct ticket *ticket = proposer->tickets;
    int64_t id = 0;
    const char *by = event_text(event, "by"), *status = event_text(event, "status");
    if (!member || !event_int(event, "id", &id)) return;
    while (ticket && (ticket->phase != PHASE_COMMITTED || ticket->told.id != id || strcmp(by, ticket->told.by)))
        ticket = ticket->next;
    if (!ticket || ticket->results[member->rank.slot] >= RESULT_FAILED) return;
    for (size_t i = 0; i < ARRAY_SIZE(results); i++)
        if (strcmp(status, results[i].status) == 0) ticket->results[member->rank.slot] = results[i].result;
    json_t *freed = json_object_get(event->body, "freed");
    if (freed && !ticket->told.freed) ticket->told.freed = json_incref(freed);
    note_result(ticket, member, event);
}

/* Offsets, each with the place of its settings among those in `sets`: a comparison has hundreds of entries of two. */
static json_t *indexed(const json_t *schedule, json_t *sets) {
    json_t *list = json_array(), *entry;
    size_t i;
    json_array_foreach(schedule, i, entry) {
        json_t *settings = json_array_get(entry, 1);
        size_t place = 0;
        while (place < json_array_size(sets) && !json_equal(json_array_get(sets, place), settings)) place++;
        if (place == json_array_size(sets)) json_array_append(sets, settings);
        json_array_append_new(list, json_pack("[O,I]", json_array_get(entry, 0), (json_int_t)place));
    }
    return list;
}

void proposer_propose(struct proposer *proposer, const struct proposal *what) {
    struct ticket *ticket = mem_new(sizeof *ticket), **at = &proposer->tickets;
    ticket->proposer = proposer;
    ticket->told = *what;
    json_t *sets = json_array(), *schedule = indexed(what->schedule, sets);
    json_t *payload = json_pack("{ss so so sO*}", "by", what->by, "sets", sets, "schedule", schedule, "forget", what->forget);
    if (what->device_bytes) json_object_set_new(payload, "device_bytes", json_integer((json_int_t)what->device_bytes));
    ticket->payload = json_dumps(payload, JSON_COMPACT);
    json_decref(payload);
    while (*at) at = &(*at)->next;
    *at = ticket;
}

bool proposer_is_busy(const struct proposer *proposer, uint32_t group) {
    for (const struct ticket *ticket = proposer->tickets; ticket; ticket = ticket->next)
        if (ticket->told.group == group) return true;
    return false;
}

const json_t *proposer_pending(const struct proposer *proposer, uint32_t group) {
    const json_t *found = NULL;
    for (struct ticket *ticket = proposer->tickets; ticket; ticket = ticket->next) {
        const json_t *schedule = ticket->told.schedule;
        if (ticket->told.group == group) found = json_array_get(json_array_get(schedule, json_array_size(schedule) - 1), 1);
    }
    return found;
}

void proposer_turn(struct proposer *proposer, uint64_t now_ns) {
    for (struct ticket *ticket = proposer->tickets, *next; ticket; ticket = next) {
        next = ticket->next;
        if (ticket->phase == PHASE_QUEUED && now_ns >= ticket->next_try_ns && is_next(ticket)) start(ticket, now_ns);
        else if (ticket->phase == PHASE_VOTING) follow(ticket, agreement_turn(&ticket->agreement, now_ns), now_ns);
        else if (ticket->phase == PHASE_COMMITTED) settle(ticket);
    }
}

void proposer_end(struct proposer *proposer, const char *reason) {
    while (proposer->tickets) {
        struct ticket *ticket = proposer->tickets;
        if (ticket->phase == PHASE_COMMITTED) settle(ticket);
        if (proposer->tickets == ticket) finish(proposer, ticket, "not reached", reason);
    }
}
