/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/rank/gate.h"
#include "engine/base/banned.h"

static char dir[64], path[96];
static struct page *page;
static struct page_group *group;
static struct page_slot *slot;
static struct gate gate;
static _Atomic bool unlocked;

/* What the gate asked of the agent. */
static struct {
    int prepared, applied, waits, unlocks, kicks;
    uint32_t id, index;
    uint64_t count, waited_ns;
    char payload[64], outcome[64];
    const char *refusal;
    uint64_t next[4]; /* answers of apply */
} seen;

static bool prepare(void *ctx, uint32_t id, const uint8_t *payload, size_t size,
                    char ret_reason[GATE_REASON_ROOM]) {
    assert_ptr_equal(ctx, &seen);
    seen.prepared++;
    seen.id = id;
    snprintf(seen.payload, sizeof seen.payload, "%.*s", (int)size, (const char *)payload);
    if (seen.refusal) snprintf(ret_reason, GATE_REASON_ROOM, "%s", seen.refusal);
    return !seen.refusal;
}

static uint64_t apply(void *ctx, uint32_t id, uint64_t count, uint32_t index) {
    (void)ctx;
    seen.applied++;
    seen.id = id;
    seen.count = count;
    seen.index = index;
    return seen.next[index];
}

static void outcome(void *ctx, uint32_t id, uint64_t count, enum gate_outcome what) {
    (void)ctx;
    snprintf(seen.outcome, sizeof seen.outcome, "%u %s at %d", id, gate_outcome_name(what),
             (int)count);
}

static void waited(void *ctx, uint32_t id, uint64_t from_ns, uint64_t to_ns) {
    (void)ctx, (void)id;
    seen.waits++;
    seen.waited_ns = to_ns - from_ns;
}

static void *unlock(void *ctx) {
    (void)ctx;
    seen.unlocks++;
    atomic_store(&unlocked, true);
    return &seen;
}

static void relock(void *ctx, void *state) {
    (void)ctx;
    assert_ptr_equal(state, &seen);
    seen.unlocks--;
}

static void kick(void *ctx) {
    (void)ctx;
    seen.kicks++;
}

static const struct gate_ops ops = {
    .prepare = prepare,
    .apply = apply,
    .outcome = outcome,
    .waited = waited,
    .unlock = unlock,
    .relock = relock,
    .kick = kick,
};

static int set_up(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/inductop-test-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    snprintf(path, sizeof path, "%s/page", dir);
    memset(&seen, 0, sizeof seen);
    atomic_store(&unlocked, false);
    if (page_open(path, &page, NULL) < 0) return -1;
    gate_init(&gate, &ops, &seen, 0);
    if (gate_join(&gate, page, "run/0/x", 0, 1, NULL) < 0) return -1;
    group = gate.group;
    slot = &group->slot[0];
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    gate_leave(&gate);
    page_close(page);
    unlink(path);
    return rmdir(dir);
}

static void offer(uint32_t id, const char *text) {
    gate_offer(&gate, id, (const uint8_t *)text, strlen(text));
}

/* Brings the gate to the point where it has voted for `id` and the word is open. */
static void open_proposal(uint32_t id) {
    struct gate_vote vote;
    offer(id, "{}");
    gate_boundary(&gate);
    assert_true(gate_take_vote(&gate, &vote) && vote.is_ready && vote.id == id);
    atomic_store(&group->word, page_pack(0, id, PAGE_OPEN));
}

static void commit(uint32_t id, uint64_t step) {
    assert_true(page_decide(group, id, page_pack(step, id, PAGE_COMMITTED)) ==
                page_pack(step, id, PAGE_COMMITTED));
}

static void test_nothing_pending_only_counts(void **state) {
    (void)state;
    for (uint64_t i = 1; i <= 1000; i++) assert_true(gate_boundary(&gate) == i);
    assert_true(gate_count(&gate) == 1000);
    assert_true(atomic_load(&slot->step) == 1000);
    assert_int_equal(seen.kicks, 0);
}

static void test_proposal_is_prepared_at_the_next_boundary_and_voted_for(void **state) {
    (void)state;
    struct gate_vote vote;
    offer(5, "settings");
    assert_int_equal(seen.prepared, 0);
    assert_false(gate_take_vote(&gate, &vote));
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 1);
    assert_string_equal(seen.payload, "settings");
    assert_true(seen.kicks > 0);
    assert_true(gate_take_vote(&gate, &vote));
    assert_int_equal(vote.id, 5);
    assert_true(vote.is_ready);
    assert_false(gate_take_vote(&gate, &vote));
    assert_int_equal(atomic_load(&slot->voted), 5);
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 1);
}

static void test_refusal_carries_its_reason(void **state) {
    (void)state;
    struct gate_vote vote;
    seen.refusal = "no such backend";
    offer(5, "{}");
    gate_boundary(&gate);
    assert_true(gate_take_vote(&gate, &vote));
    assert_false(vote.is_ready);
    assert_string_equal(vote.reason, "no such backend");
}

static void test_withdrawn_proposal_is_not_prepared(void **state) {
    (void)state;
    struct gate_vote vote;
    offer(5, "{}");
    gate_withdraw(&gate, 4);
    gate_withdraw(&gate, 5);
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 0);
    assert_true(atomic_load(&slot->look) == PAGE_REST);
    offer(6, "{}");
    gate_withdraw(&gate, 0);
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 0);
    assert_false(gate_take_vote(&gate, &vote));
}

static void test_newer_proposal_takes_the_place_of_an_older(void **state) {
    (void)state;
    offer(5, "five");
    offer(6, "six");
    gate_boundary(&gate);
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 1);
    assert_int_equal(seen.id, 6);
    assert_string_equal(seen.payload, "six");
}

static void test_too_long_a_proposal_is_refused_by_a_vote(void **state) {
    (void)state;
    static uint8_t big[GATE_PAYLOAD_MAX + 1];
    struct gate_vote vote;
    gate_offer(&gate, 5, big, sizeof big);
    assert_true(gate_take_vote(&gate, &vote) && !vote.is_ready && vote.id == 5);
    gate_offer(&gate, 6, big, GATE_PAYLOAD_MAX);
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 1);
}

static void test_commit_ahead_is_applied_at_its_step(void **state) {
    (void)state;
    open_proposal(5); /* count 1 */
    assert_true(page_arm(group, slot, 5, 2) == 3);
    commit(5, 6);
    for (uint64_t count = 2; count < 6; count++) {
        assert_true(gate_boundary(&gate) == count);
        assert_int_equal(seen.applied, 0);
    }
    gate_boundary(&gate);
    assert_int_equal(seen.applied, 1);
    assert_true(seen.count == 6);
    assert_int_equal(seen.waits, 0);
    assert_int_equal(atomic_load(&slot->force), 5);
    assert_int_equal(atomic_load(&gate.decided), 5);
    assert_true(atomic_load(&slot->look) == PAGE_REST);
}

static void test_commit_at_the_gate_itself_is_applied_there(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 2);
    commit(5, 3);
    gate_boundary(&gate);
    gate_boundary(&gate);
    assert_int_equal(seen.applied, 1);
    assert_true(seen.count == 3);
}

static void test_rank_at_an_open_gate_gives_up_after_its_time(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 1);
    gate_boundary(&gate);
    assert_int_equal(seen.applied, 0);
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.unlocks, 0);
    assert_true(seen.waited_ns >= GATE_WAIT_NS);
    assert_true(atomic_load(&group->word) == page_pack(0, 5, PAGE_ABORTED));
    assert_string_equal(seen.outcome, "5 aborted at 2");
    assert_true(atomic_load(&slot->look) == PAGE_REST);
}

static void *decide_when_waited_for(void *arg) {
    (void)arg;
    while (!atomic_load(&unlocked)) {
    }
    commit(5, 3);
    return NULL;
}

static void test_decision_ends_the_wait(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 2);
    gate_boundary(&gate);
    pthread_t thread;
    pthread_create(&thread, NULL, decide_when_waited_for, NULL);
    gate_boundary(&gate);
    pthread_join(thread, NULL);
    assert_int_equal(seen.waits, 1);
    assert_int_equal(seen.applied, 1);
    assert_true(seen.count == 3);
}

static void nothing(int number) {
    (void)number;
}

static void *interrupt(void *arg) {
    pthread_t *waiter = arg;
    while (atomic_load(&group->word) == page_pack(0, 5, PAGE_OPEN)) pthread_kill(*waiter, SIGUSR1);
    return NULL;
}

static void test_signal_ends_the_wait_with_an_abort(void **state) {
    (void)state;
    struct sigaction action = {.sa_handler = nothing};
    sigaction(SIGUSR1, &action, NULL);
    open_proposal(5);
    page_arm(group, slot, 5, 1);
    pthread_t thread, self = pthread_self();
    pthread_create(&thread, NULL, interrupt, &self);
    gate_boundary(&gate);
    pthread_join(thread, NULL);
    assert_true(atomic_load(&group->word) == page_pack(0, 5, PAGE_ABORTED));
    assert_string_equal(seen.outcome, "5 aborted at 2");
}

static void test_gate_for_another_vote_is_dropped_unread(void **state) {
    (void)state;
    open_proposal(5);
    atomic_store(&slot->look, page_pack(2, 4, LOOK_GATE));
    gate_boundary(&gate);
    assert_int_equal(seen.waits, 0);
    assert_true(atomic_load(&slot->look) == PAGE_REST);
    assert_true(atomic_load(&group->word) == page_pack(0, 5, PAGE_OPEN));
}

static void test_gate_behind_is_left_for_who_set_it_to_raise(void **state) {
    (void)state;
    open_proposal(5);
    for (int i = 0; i < 9; i++) gate_boundary(&gate);
    atomic_store(&slot->look, page_pack(5, 5, LOOK_GATE));
    gate_boundary(&gate);
    assert_int_equal(seen.waits, 0);
    assert_true(atomic_load(&slot->look) == page_pack(5, 5, LOOK_GATE));
}

static void test_no_vote_before_older_things_are_settled(void **state) {
    (void)state;
    struct gate_vote vote;
    open_proposal(5);
    page_arm(group, slot, 5, 3);
    commit(5, 6);
    offer(6, "{}");
    while (gate_count(&gate) < 6) {
        gate_boundary(&gate);
        gate_hand_over(&gate);
        assert_false(gate_take_vote(&gate, &vote));
    }
    assert_int_equal(seen.applied, 1);
    gate_boundary(&gate);
    assert_true(gate_take_vote(&gate, &vote));
    assert_int_equal(vote.id, 6);
}

static void test_aborted_gate_may_be_forgotten_before_it_is_met(void **state) {
    (void)state;
    struct gate_vote vote;
    open_proposal(5);
    page_arm(group, slot, 5, 100);
    page_abort(group, 5);
    offer(6, "{}");
    gate_boundary(&gate);
    assert_true(gate_take_vote(&gate, &vote));
    assert_int_equal(vote.id, 6);
}

static void test_word_that_moved_on_is_told_as_missed(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 1);
    atomic_store(&group->word, page_pack(0, 9, PAGE_OPEN));
    gate_boundary(&gate);
    assert_string_equal(seen.outcome, "5 missed at 2");
    assert_int_equal(seen.applied, 0);
}

static void test_vote_is_given_while_a_schedule_runs(void **state) {
    (void)state;
    struct gate_vote vote;
    open_proposal(5);
    page_arm(group, slot, 5, 2);
    commit(5, 3);
    seen.next[0] = 5;
    seen.next[1] = 9;
    offer(6, "{}");
    while (gate_count(&gate) < 3) {
        assert_false(gate_take_vote(&gate, &vote)); /* not before it has begun */
        gate_boundary(&gate);
        gate_hand_over(&gate);
    }
    assert_int_equal(seen.applied, 1);
    gate_boundary(&gate);
    assert_true(gate_take_vote(&gate, &vote));
    assert_int_equal(vote.id, 6);
    gate_boundary(&gate);
    assert_int_equal(seen.applied, 2); /* and it goes on */
    assert_int_equal(seen.index, 1);
    assert_int_equal(seen.id, 5);
}

static void test_next_switch_ends_a_schedule_that_runs(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 2);
    commit(5, 3);
    seen.next[0] = 9;
    while (gate_count(&gate) < 4) gate_boundary(&gate);
    open_proposal(6);
    page_arm(group, slot, 6, 2);
    seen.next[0] = 0;
    commit(6, 9); /* at the very step at which the schedule would go on */
    while (gate_count(&gate) < 12) gate_boundary(&gate);
    assert_string_equal(seen.outcome, "5 dropped at 9");
    assert_int_equal(seen.applied, 2);
    assert_int_equal(seen.id, 6);
    assert_int_equal(seen.index, 0);
    assert_true(seen.count == 9);
}

static void test_answer_of_apply_that_lies_behind_ends_the_schedule(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 2);
    commit(5, 3);
    seen.next[0] = 3;
    for (int i = 0; i < 5; i++) gate_boundary(&gate);
    assert_int_equal(seen.applied, 1);
    assert_true(atomic_load(&slot->look) == PAGE_REST);
}

static void test_schedule_can_be_dropped_once_begun(void **state) {
    (void)state;
    open_proposal(5);
    page_arm(group, slot, 5, 2);
    commit(5, 4);
    seen.next[0] = 8;
    gate_boundary(&gate);
    gate_boundary(&gate);
    assert_int_equal(gate_drop_schedule(&gate, 3),
                     0); /* a switch to come is no schedule that runs */
    gate_boundary(&gate);
    assert_int_equal(seen.applied, 1);
    assert_int_equal(gate_drop_schedule(&gate, 4), 5);
    assert_string_equal(seen.outcome, "5 dropped at 4");
    while (gate_count(&gate) < 10) gate_boundary(&gate);
    assert_int_equal(seen.applied, 1);
}

/* A second rank of the same group, in this process. */
static struct gate second;

static void join_second(const struct gate_ops *second_ops) {
    gate_init(&second, second_ops, &seen, 0);
    assert_int_equal(gate_join(&second, page, "run/0/x", 1, 2, NULL), 0);
}

static void test_newcomer_aborts_what_is_open(void **state) {
    (void)state;
    atomic_store(&group->word, page_pack(0, 5, PAGE_OPEN));
    join_second(&ops);
    assert_true(atomic_load(&group->word) == page_pack(0, 5, PAGE_ABORTED));
    gate_leave(&second);
}

static uint64_t first_step(void *ctx) {
    (void)ctx;
    return 10;
}

static void test_newcomer_that_can_comes_along(void **state) {
    (void)state;
    struct gate_ops with = ops;
    with.first_step = first_step;
    atomic_store(&group->last, page_pack(7, 4, PAGE_COMMITTED));
    atomic_store(&group->word, page_pack(12, 5, PAGE_COMMITTED));
    join_second(&with);
    assert_int_equal(second.in_force, 4);
    gate_boundary(&second);
    assert_int_equal(seen.applied, 0);
    gate_boundary(&second);
    assert_int_equal(seen.applied, 1);
    assert_true(seen.id == 5 && seen.count == 12);
    gate_leave(&second);
}

static void test_newcomer_without_a_past_takes_no_part_in_it(void **state) {
    (void)state;
    atomic_store(&group->word, page_pack(12, 5, PAGE_COMMITTED));
    join_second(&ops);
    assert_int_equal(second.in_force, 0); /* nobody here had a part in 5 */
    gate_leave(&second);
    atomic_store(&slot->force, 5);
    join_second(&ops);
    assert_int_equal(second.in_force, 5);
    for (int i = 0; i < 20; i++) gate_boundary(&second);
    assert_int_equal(seen.applied, 0);
    assert_true(gate_count(&second) == 20);
    gate_leave(&second);
}

static void test_left_or_abandoned_gate_writes_to_nobodys_slot(void **state) {
    (void)state;
    struct gate_vote vote;
    gate_boundary(&gate);
    gate_abandon(&gate);
    for (int i = 0; i < 5; i++) gate_boundary(&gate);
    assert_true(gate_count(&gate) == 6);
    assert_true(atomic_load(&slot->step) == 1);
    assert_int_equal(page_seat_pid(atomic_load(&slot->seat)),
                     getpid()); /* the seat is the parent's */
    offer(5, "{}");
    assert_true(gate_take_vote(&gate, &vote) && !vote.is_ready);
    gate_boundary(&gate);
    assert_int_equal(seen.prepared, 0);
}

static void test_second_seat_of_one_gate_is_refused(void **state) {
    (void)state;
    struct err err;
    assert_true(gate_join(&gate, page, "run/0/y", 0, 1, &err) < 0);
    assert_int_equal(err.code, ERR_BUSY);
    gate_leave(&gate);
    assert_int_equal(gate_join(&gate, page, "run/0/x", 0, 1, &err), 0);
    assert_int_equal(gate.seat.gen, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_pending_only_counts),
        TEST(test_proposal_is_prepared_at_the_next_boundary_and_voted_for),
        TEST(test_refusal_carries_its_reason),
        TEST(test_withdrawn_proposal_is_not_prepared),
        TEST(test_newer_proposal_takes_the_place_of_an_older),
        TEST(test_too_long_a_proposal_is_refused_by_a_vote),
        TEST(test_commit_ahead_is_applied_at_its_step),
        TEST(test_commit_at_the_gate_itself_is_applied_there),
        TEST(test_rank_at_an_open_gate_gives_up_after_its_time),
        TEST(test_decision_ends_the_wait),
        TEST(test_signal_ends_the_wait_with_an_abort),
        TEST(test_gate_for_another_vote_is_dropped_unread),
        TEST(test_gate_behind_is_left_for_who_set_it_to_raise),
        TEST(test_no_vote_before_older_things_are_settled),
        TEST(test_aborted_gate_may_be_forgotten_before_it_is_met),
        TEST(test_word_that_moved_on_is_told_as_missed),
        TEST(test_vote_is_given_while_a_schedule_runs),
        TEST(test_next_switch_ends_a_schedule_that_runs),
        TEST(test_answer_of_apply_that_lies_behind_ends_the_schedule),
        TEST(test_schedule_can_be_dropped_once_begun),
        TEST(test_newcomer_aborts_what_is_open),
        TEST(test_newcomer_that_can_comes_along),
        TEST(test_newcomer_without_a_past_takes_no_part_in_it),
        TEST(test_left_or_abandoned_gate_writes_to_nobodys_slot),
        TEST(test_second_seat_of_one_gate_is_refused),
    };
    return cmocka_run_group_tests_name("gate", tests, NULL, NULL);
}
