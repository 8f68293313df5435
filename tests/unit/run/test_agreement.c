/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/run/agreement.h"
#include "engine/wire/frame.h"
#include "engine/wire/record.h"
#include "engine/base/banned.h"

enum { RANKS = 3 };

static char dir[64], path[96];
static struct page *page;
static struct page_group *group;
static struct page_seat seats[RANKS];
static struct agreement_member members[RANKS];
static struct agreement agreement;

static struct {
    int prepares, abandons;
    uint32_t id, unreachable; /* slot, PAGE_SLOTS: none */
    char payload[32];
} sent;

static bool send_frame(void *ctx, uint32_t slot, uint8_t type, const void *bytes, size_t size) {
    assert_ptr_equal(ctx, &sent);
    if (slot == sent.unreachable) return false;
    struct prepare_record record;
    memcpy(&record, bytes, sizeof record);
    sent.id = record.id;
    if (type == FRAME_PREPARE) {
        sent.prepares++;
        snprintf(sent.payload, sizeof sent.payload, "%.*s", (int)(size - sizeof record),
                 (const char *)bytes + sizeof record);
    } else {
        assert_int_equal(type, FRAME_ABANDON);
        sent.abandons++;
    }
    return true;
}

static struct agreement_question question;

static int set_up(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/inductop-test-XXXXXX");
    if (!mkdtemp(dir)) return -1;
    snprintf(path, sizeof path, "%s/page", dir);
    if (page_open(path, &page, NULL) < 0) return -1;
    for (uint32_t i = 0; i < RANKS; i++) {
        if (page_take_seat(page, "run/0/x", i, RANKS, &seats[i], NULL) < 0) return -1;
        struct page_slot *slot = &page->group[seats[i].group].slot[i];
        atomic_store(&slot->look, PAGE_REST);
        atomic_store(&slot->step, 10 + i);
        members[i] = (struct agreement_member){.slot = i, .gen = seats[i].gen};
    }
    group = &page->group[seats[0].group];
    memset(&sent, 0, sizeof sent);
    sent.unreachable = PAGE_SLOTS;
    question = (struct agreement_question){
        .page = page,
        .group = seats[0].group,
        .members = members,
        .count = RANKS,
        .payload = "{}",
        .payload_size = 2,
        .deadline_ns = 1000,
        .send = send_frame,
        .ctx = &sent,
    };
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    page_close(page);
    unlink(path);
    return rmdir(dir);
}

static enum agreement_result begin(void) {
    return agreement_begin(&agreement, &question);
}

/* As the rank in `slot` would. */
static enum agreement_result vote(uint32_t slot) {
    atomic_store(&group->slot[slot].voted, agreement.id);
    return agreement_vote(&agreement, slot, members[slot].gen, agreement.id, true, NULL);
}

static enum agreement_result vote_all(void) {
    enum agreement_result result = AGREEMENT_VOTING;
    for (uint32_t i = 0; i < RANKS; i++) result = vote(i);
    return result;
}

static void test_all_votes_commit_at_the_highest_gate(void **state) {
    (void)state;
    assert_int_equal(begin(), AGREEMENT_VOTING);
    assert_int_equal(sent.prepares, RANKS);
    assert_string_equal(sent.payload, "{}");
    assert_int_equal(sent.id, agreement.id);
    assert_true(atomic_load(&group->word) == 0);
    assert_int_equal(vote(2), AGREEMENT_VOTING);
    assert_int_equal(vote(2), AGREEMENT_VOTING); /* counted once */
    assert_int_equal(vote(0), AGREEMENT_VOTING);
    assert_true(atomic_load(&group->word) == 0);
    assert_int_equal(vote(1), AGREEMENT_DONE);
    assert_true(agreement.step == 14);
    assert_string_equal(agreement.reason, "agreed: at step 14");
    assert_true(atomic_load(&group->word) == page_pack(14, agreement.id, PAGE_COMMITTED));
    for (uint32_t i = 0; i < RANKS; i++)
        assert_true(atomic_load(&group->slot[i].look) ==
                    page_pack(12 + i, agreement.id, LOOK_GATE));
    assert_int_equal(sent.abandons, 0);
    assert_int_equal(agreement_turn(&agreement, 99999), AGREEMENT_DONE);
}

static void test_each_attempt_has_a_new_id(void **state) {
    (void)state;
    begin();
    uint32_t first = agreement.id;
    begin();
    assert_true(agreement.id > first);
    assert_int_equal(agreement_vote(&agreement, 0, members[0].gen, first, true, NULL),
                     AGREEMENT_VOTING);
    assert_int_equal(agreement.votes, 0);
}

static void test_last_commit_is_kept_when_the_next_opens(void **state) {
    (void)state;
    begin();
    vote_all();
    page_word first = atomic_load(&group->word);
    for (uint32_t i = 0; i < RANKS; i++) {
        atomic_store(&group->slot[i].look, PAGE_REST);
        atomic_store(&group->slot[i].step, 20);
    }
    begin();
    vote(0);
    vote(1);
    assert_true(atomic_load(&group->last) == 0);
    vote(2);
    assert_true(atomic_load(&group->last) == first);
    assert_true(agreement.step == 22);
}

static void test_refusal_ends_it_with_the_reason(void **state) {
    (void)state;
    begin();
    vote(0);
    assert_int_equal(
        agreement_vote(&agreement, 1, members[1].gen, agreement.id, false, "no backend 'x'"),
        AGREEMENT_REFUSED);
    assert_string_equal(agreement.reason, "a rank refused: rank 1: no backend 'x'");
    assert_int_equal(sent.abandons, RANKS);
    assert_int_equal(vote(2), AGREEMENT_REFUSED);
    assert_true(atomic_load(&group->word) == 0);
    assert_false(agreement_may_retry(agreement.result));
}

static void test_deadline_names_who_did_not_answer(void **state) {
    (void)state;
    begin();
    vote(0);
    assert_int_equal(agreement_turn(&agreement, 999), AGREEMENT_VOTING);
    assert_int_equal(agreement_turn(&agreement, 1000), AGREEMENT_NO_VOTE);
    assert_string_equal(agreement.reason, "not all ranks answered in time: rank 1");
    assert_int_equal(sent.abandons, RANKS);
    assert_true(agreement_may_retry(agreement.result));
}

static void test_lost_or_unreachable_rank_ends_it(void **state) {
    (void)state;
    begin();
    assert_int_equal(agreement_lost(&agreement, 1, members[1].gen - 1), AGREEMENT_VOTING);
    assert_int_equal(agreement_lost(&agreement, 1, members[1].gen), AGREEMENT_NOT_ALL);
    sent.unreachable = 2;
    assert_int_equal(begin(), AGREEMENT_NOT_ALL);
    assert_string_equal(agreement.reason,
                        "not all ranks of the group are connected: rank 2 cannot be reached");
}

static void test_living_rank_that_is_not_connected_stops_it(void **state) {
    (void)state;
    question.count = RANKS - 1;
    assert_int_equal(begin(), AGREEMENT_NOT_ALL);
    assert_int_equal(agreement.id, 0);
    assert_int_equal(sent.prepares + sent.abandons, 0);
    question.count = RANKS;
    members[1].gen++; /* of another life */
    assert_int_equal(begin(), AGREEMENT_NOT_ALL);
    assert_int_equal(agreement.slot, 1);
}

static void test_dead_rank_is_not_waited_for_but_the_world_is_not_whole(void **state) {
    (void)state;
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    waitpid(dead, NULL, 0);
    atomic_store(&group->slot[2].seat, (uint64_t)seats[2].gen << 32 | (uint32_t)dead);
    question.count = 2;
    assert_int_equal(begin(), AGREEMENT_NOT_ALL);
    assert_string_equal(agreement.reason, "not all ranks of the group are connected: 2 of 3");
    assert_true(atomic_load(&group->slot[2].seat) == (uint64_t)seats[2].gen << 32);
    atomic_store(&group->world, 2);
    assert_int_equal(begin(), AGREEMENT_VOTING);
}

static void test_ranks_far_apart_are_refused(void **state) {
    (void)state;
    atomic_store(&group->slot[1].step, 10 + AGREEMENT_APART_MAX + 1);
    assert_int_equal(begin(), AGREEMENT_APART);
    atomic_store(&group->slot[1].step, 10);
    begin();
    vote(0);
    vote(1);
    atomic_store(&group->slot[1].step, 12 + AGREEMENT_APART_MAX);
    assert_int_equal(vote(2), AGREEMENT_APART);
    assert_int_equal(sent.abandons, RANKS);
}

static void test_open_that_is_found_is_aborted(void **state) {
    (void)state;
    atomic_store(&group->word, page_pack(0, 77, PAGE_OPEN));
    begin();
    assert_true(atomic_load(&group->word) == page_pack(0, 77, PAGE_ABORTED));
    assert_int_equal(vote_all(), AGREEMENT_DONE);
}

/* What others do in the middle of it. */
static void (*trouble)(void);
static const char *trouble_at;

static void on_point(const char *where) {
    if (strcmp(where, trouble_at) == 0) trouble();
}

static void with_trouble(const char *where, void (*what)(void), enum agreement_result expected) {
    trouble_at = where;
    trouble = what;
    question.point = on_point;
    begin();
    assert_int_equal(vote_all(), expected);
    assert_int_equal(sent.abandons, RANKS);
    assert_int_not_equal(page_low(atomic_load(&group->word)), PAGE_OPEN);
    assert_true(agreement_may_retry(agreement.result));
}

static void overtake(void) {
    atomic_store(&group->word, page_pack(0, 500, PAGE_ABORTED));
}

static void test_word_that_changed_since_is_not_opened(void **state) {
    (void)state;
    with_trouble("voted", overtake, AGREEMENT_OVERTAKEN);
    assert_true(atomic_load(&group->word) == page_pack(0, 500, PAGE_ABORTED));
}

static void newcomer(void) {
    struct page_seat seat;
    page_take_seat(page, "run/0/x", 9, RANKS + 1, &seat, NULL);
}

static void test_newcomer_behind_the_opening_ends_it(void **state) {
    (void)state;
    with_trouble("opened", newcomer, AGREEMENT_JOINED);
    assert_true(atomic_load(&group->word) == page_pack(0, agreement.id, PAGE_ABORTED));
    for (uint32_t i = 0; i < RANKS; i++)
        assert_true(atomic_load(&group->slot[i].look) == PAGE_REST);
}

static void be_busy(void) {
    atomic_store(&group->slot[1].look, page_pack(90, 3, LOOK_SWITCH));
}

static void test_rank_with_something_pending_ends_it(void **state) {
    (void)state;
    with_trouble("opened", be_busy, AGREEMENT_STALE);
    assert_string_equal(agreement.reason, "a rank was busy with an older proposal: rank 1");
    assert_true(atomic_load(&group->word) == page_pack(0, agreement.id, PAGE_ABORTED));
}

static void lose_patience(void) {
    page_abort(group, agreement.id);
}

static void test_rank_that_lost_patience_ends_it(void **state) {
    (void)state;
    with_trouble("deciding", lose_patience, AGREEMENT_RANK_ABORTED);
}

static void run_ahead(void) {
    atomic_store(&group->slot[0].step, 30);
}

static void test_gate_follows_the_step_that_is_read_at_arming(void **state) {
    (void)state;
    trouble_at = "opened";
    trouble = run_ahead;
    question.point = on_point;
    begin();
    assert_int_equal(vote_all(), AGREEMENT_DONE);
    assert_true(agreement.step == 32);
}

static void test_used_up_ids_end_it(void **state) {
    (void)state;
    atomic_store(&page->ids, PAGE_ID_MAX);
    assert_int_equal(begin(), AGREEMENT_NO_ID);
    assert_int_equal(sent.prepares + sent.abandons, 0);
    assert_string_equal(agreement.reason, "the session has used up its proposals");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_all_votes_commit_at_the_highest_gate),
        TEST(test_each_attempt_has_a_new_id),
        TEST(test_last_commit_is_kept_when_the_next_opens),
        TEST(test_refusal_ends_it_with_the_reason),
        TEST(test_deadline_names_who_did_not_answer),
        TEST(test_lost_or_unreachable_rank_ends_it),
        TEST(test_living_rank_that_is_not_connected_stops_it),
        TEST(test_dead_rank_is_not_waited_for_but_the_world_is_not_whole),
        TEST(test_ranks_far_apart_are_refused),
        TEST(test_open_that_is_found_is_aborted),
        TEST(test_word_that_changed_since_is_not_opened),
        TEST(test_newcomer_behind_the_opening_ends_it),
        TEST(test_rank_with_something_pending_ends_it),
        TEST(test_rank_that_lost_patience_ends_it),
        TEST(test_gate_follows_the_step_that_is_read_at_arming),
        TEST(test_used_up_ids_end_it),
    };
    return cmocka_run_group_tests_name("agreement", tests, NULL, NULL);
}
